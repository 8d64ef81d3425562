"""The books of an observed session of 0-10: its open messages, and what will settle them (part 1 sections 3 and 10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..lifecycle import MessageRecord


class Transaction:
    """What one transaction holds back, by command ids: messages of the client, and deliveries that it accepts."""

    __slots__ = ("accepted", "published")

    def __init__(self) -> None:
        self.published: dict[int, MessageRecord] = {}
        self.accepted: dict[int, MessageRecord] = {}

    def open_messages(self) -> list[MessageRecord]:
        """All its messages."""
        return [*self.published.values(), *self.accepted.values()]


class SessionBooks:
    """The open messages of one session, all by their command ids.

    `publishes` are the client's that aren't completed and in no transaction, `deliveries` the server's that wait for a
    message.accept, `given` those that wait for nothing. `subscriptions` are queue and accept-mode by destination.
    `transacted` says that tx.select came; `ending` are the transactions whose tx.commit (True) or tx.rollback isn't
    completed.
    """

    __slots__ = (
        "deliveries", "ending", "given", "name", "publishes", "subscriptions", "transacted", "transaction",
    )  # fmt: skip

    def __init__(self, name: bytes | None) -> None:
        self.name = name
        self.publishes: dict[int, MessageRecord] = {}
        self.deliveries: dict[int, MessageRecord] = {}
        self.given: dict[int, MessageRecord] = {}
        self.subscriptions: dict[str, tuple[str | None, int]] = {}
        self.transacted = False
        self.transaction = Transaction()
        self.ending: dict[int, tuple[bool, Transaction]] = {}

    @property
    def label(self) -> str | None:
        """The session's name as text."""
        return None if self.name is None else self.name.decode("utf-8", "surrogateescape")

    def end_transactions(self) -> list[MessageRecord]:
        """Nobody will say how the transactions end; their messages."""
        done = self.transaction.open_messages()
        for _, transaction in self.ending.values():
            done += transaction.open_messages()
        self.transaction = Transaction()
        self.ending = {}
        return done

    def published(self) -> list[dict[int, MessageRecord]]:
        """The client's open messages, wherever they wait."""
        ending = [transaction.published for _, transaction in self.ending.values()]
        return [self.publishes, *ending, self.transaction.published]

    def flush(self) -> list[MessageRecord]:
        """Nothing settles the session's messages any more."""
        done = self.end_transactions()
        for message in self.given.values():
            message.settle("settled")
        done += [*self.publishes.values(), *self.deliveries.values(), *self.given.values()]
        self.publishes, self.deliveries, self.given = {}, {}, {}
        done.sort(key=_order)
        return done


def _order(message: MessageRecord) -> int:
    return message.seq


__all__ = ["SessionBooks", "Transaction"]
