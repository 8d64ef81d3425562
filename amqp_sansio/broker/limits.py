"""BrokerLimits: every bound of the broker in one record, each with what happens when it is reached."""

from __future__ import annotations

from .._core.record import record


@record
class BrokerLimits:
    """What the model holds at most, and what happens there.

    | field | at the limit |
    |---|---|
    | `exchanges`, `queues`, `bindings` | of one virtual host: the declaration is refused (LIMIT) |
    | `consumers` | of one queue: refused (LIMIT) |
    | `kept_links` | of 1.0, that may outlive their connections: an attach is refused (amqp:resource-limit-exceeded) |
    | `transactions` | open at the same time: refused (LIMIT) |
    | `transaction_octets` | what one transaction publishes, and all together `memory_high`: refused (LIMIT) |
    | `memory_high`, `memory_low` | octets of all messages held: publishers are held up, and let go again |
    | `backlog_high`, `backlog_low` | octets that one client hasn't read: it gets no more deliveries, and gets again |
    | `login` | octets that a client may send before it has logged in: its connection is cut |

    Above `backlog_high` of answers, returns and confirms that a client hasn't read, nothing more is read from it. So it
    has twice `backlog_high` waiting at most, with the last delivery and the last answer on top: a message, or what a
    commit returns. What it has sent and isn't read is within its connection's `unparsed`.
    """

    exchanges: int = 65_536
    queues: int = 65_536
    bindings: int = 1_048_576
    consumers: int = 65_536
    transactions: int = 65_536
    transaction_octets: int = 256 * 1024 * 1024
    memory_high: int = 512 * 1024 * 1024
    memory_low: int = 384 * 1024 * 1024
    backlog_high: int = 1024 * 1024
    backlog_low: int = 256 * 1024
    kept_links: int = 65_536
    login: int = 64 * 1024


__all__ = ["BrokerLimits"]
