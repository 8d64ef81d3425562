"""Limits: every bound of the core in one record, each with its consequence."""

from __future__ import annotations

from ._ground.record import record


@record
class Limits:
    """Limits of an endpoint or observer. All sizes are octets; every check comes before the octets are stored.

    A peer that doesn't answer a close is read for `message` octets at most. An observer's `bodies` has room for what
    else it keeps of messages under way: their properties, and methods that it can't read.

    | field | at the limit |
    |---|---|
    | `unparsed` | `receive_budget` is 0: the adapter stops reading, and TCP holds the peer |
    | `message` | a body announced larger ends its channel with 311, or is streamed if that is enabled |
    | `bodies` | the sum of bodies being assembled; the next one to announce more ends its channel with 311 |
    | `header` | a method, content header or properties frame above it: 501 |
    | `channels` | a higher channel-max is never offered or accepted |
    | `nesting` | a table nested deeper is a syntax error (502) |
    | `entries` | a table or array with more entries is a syntax error (502) |
    | `requests` | unanswered requests of the peer on one channel: parsing stops (`PAUSED`) |
    | `calls` | own unanswered calls on one channel: `LimitExceeded` |
    | `unsettled` | unsettled deliveries on one channel: the channel ends with 506 |
    | `unconfirmed` | own unconfirmed publishes on one channel: `LimitExceeded` |
    | `consumers` | consumers on one channel: 506 |
    | `backlog_high`, `backlog_low` | `SendPaused` and `SendResumed` |
    | `backlog_hard` | commands raise `LimitExceeded`; output that the peer causes ends the connection (506) |
    | `replay` | 0-10: own commands on one session that the peer hasn't confirmed: `LimitExceeded` |
    | `replay_octets` | 0-10: their octets: `LimitExceeded` |
    | `sasl_rounds` | challenge rounds in one authentication: the connection ends |
    """

    unparsed: int = 8 * 1024 * 1024
    message: int = 128 * 1024 * 1024
    bodies: int = 256 * 1024 * 1024
    header: int = 1024 * 1024
    channels: int = 2047
    nesting: int = 32
    entries: int = 65_536
    requests: int = 1024
    calls: int = 65_536
    unsettled: int = 1_048_576
    unconfirmed: int = 1_048_576
    consumers: int = 65_536
    backlog_high: int = 1024 * 1024
    backlog_low: int = 256 * 1024
    backlog_hard: int = 256 * 1024 * 1024
    sasl_rounds: int = 16
    replay: int = 65_536
    replay_octets: int = 64 * 1024 * 1024


__all__ = ["Limits"]
