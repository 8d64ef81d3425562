"""BrokerLimits: all limits of the broker in one record, each with its consequence."""

from __future__ import annotations

from .._core.record import record


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
    | `memory_high`, `memory_low` | octets of all messages: above `high`, publishers are held until below `low` |
    | `backlog_high`, `backlog_low` | unread octets of a client: above `high`, it gets no deliveries until below `low` |
    | `login` | octets that a client may send before it has logged in: its connection is cut |

    Above `backlog_high` of answers, returns and confirms that a client hasn't read, its octets are left unread too. So
    at most twice `backlog_high` waits for it, plus the last delivery and the last answer: a message, or the returns of
    a commit. Octets from it that aren't parsed yet are within its connection's `unparsed`.
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
