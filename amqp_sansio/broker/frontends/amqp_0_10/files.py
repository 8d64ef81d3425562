"""Desk: what a session has begun with the file and stream classes (classes 9 and 10)."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from ...model.consumer import Window

if TYPE_CHECKING:
    from ....amqp_0_10.codec.records import FilePublish
    from ...model.entry import Entry
    from .content_classes import FileContent
    from .sessions import Subscription

FILE_OCTETS: Final = 512
"""What a file takes beside its content: an empty one takes room too."""


class Desk:
    """`opened` are the identifiers of files that the client is about to stage, `staged` those that are all there,
    `octets` of all of them, `awaiting` the publishes of files that aren't, with their command ids.

    `sending` are deliveries whose client was asked to take the file, `unacked` those that wait for their ack by their
    delivery tags. `window` is the prefetch of all its file consumers.
    """

    __slots__ = (
        "awaiting", "octets", "opened", "sending", "staged", "tags", "unacked", "window",
    )  # fmt: skip

    def __init__(self) -> None:
        self.opened: deque[str] = deque()
        self.staged: dict[str, FileContent] = {}
        self.octets = 0
        self.awaiting: dict[str, list[tuple[FilePublish, int]]] = {}
        self.sending: deque[tuple[Subscription, Entry]] = deque()
        self.unacked: dict[int, Entry] = {}
        self.tags = 0
        self.window = Window(refills=True)

    def new_tag(self) -> int:
        """A delivery tag; never 0 (file.deliver, non-zero)."""
        self.tags += 1
        return self.tags

    def put(self, identifier: str, content: FileContent) -> None:
        """A file is all there."""
        self.drop(identifier)
        self.staged[identifier] = content
        self.octets += content.octets + FILE_OCTETS

    def drop(self, identifier: str) -> FileContent | None:
        """Take a file away; None if there's none of that name."""
        content = self.staged.pop(identifier, None)
        if content is not None:
            self.octets -= content.octets + FILE_OCTETS
        return content
