"""BrokerLimits: all limits of the broker in one record, each with its consequence."""

from __future__ import annotations

from .._ground.record import record


@record
class BrokerLimits:
    """Limits of the model, and the consequence of reaching each.

    | field | at the limit |
    |---|---|
    | `exchanges`, `queues`, `bindings` | of one virtual host: the declaration is refused (LIMIT) |
    | `consumers` | of one queue: refused (LIMIT) |
    | `kept_links` | of 1.0, that may outlive their connections: an attach is refused (amqp:resource-limit-exceeded) |
    | `transactions` | open at the same time: refused (LIMIT) |
    | `transaction_octets` | of publishes in one transaction; in all together `memory_high`: refused (LIMIT) |
    | `memory_high`, `memory_low` | octets of messages and topology: above `high`, publishers wait until below `low` |
    | `topology` | octets of exchanges, queues, bindings and consumers, with their arguments: refused (LIMIT) |
    | `backlog_high`, `backlog_low` | unread octets of a client: above `high`, it gets no deliveries until below `low` |
    | `login` | octets that a client may send before it has logged in: its connection is cut |
    | `unopened` | connections that haven't logged in, at the same time: the oldest is cut off |
    | `selector` | characters of a selector of 1.0: an attach is refused (amqp:invalid-field) |
    | `turn` | steps of work in one turn of the hub: the rest waits for the next turns, in order |

    Above `backlog_high` of answers, returns and confirms that a client hasn't read, its octets are left unread too. So
    at most twice `backlog_high` waits for it, plus the last delivery and the last answer: a message, or the returns of
    a commit. Octets from it that aren't parsed yet are within its connection's `unparsed`.

    What `topology` counts is an estimate of what is kept. If it alone is above `memory_low`, publishers that are held
    wait until there is no message.

    A step of `turn` is a destination that a message is routed to, a pattern or binding tried, a selector read or judged
    (a long one counts for more), a message delivered, settled, returned, purged, expired or dead-lettered, a consumer
    looked at or ended, a binding removed. What a single command has too much of is carried out in pieces: until it is
    done, its client is answered nothing, the queues that messages return to deliver nothing, and who asks what such a
    queue has waits. A command lists and checks all that it names at once.
    """

    exchanges: int = 65_536
    queues: int = 65_536
    bindings: int = 1_048_576
    consumers: int = 65_536
    transactions: int = 65_536
    transaction_octets: int = 256 * 1024 * 1024
    memory_high: int = 512 * 1024 * 1024
    memory_low: int = 384 * 1024 * 1024
    topology: int = 256 * 1024 * 1024
    backlog_high: int = 1024 * 1024
    backlog_low: int = 256 * 1024
    kept_links: int = 65_536
    login: int = 64 * 1024
    unopened: int = 1024
    selector: int = 65_536
    turn: int = 10_000


__all__ = ["BrokerLimits"]
