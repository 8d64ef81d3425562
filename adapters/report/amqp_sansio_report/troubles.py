"""Troubles of one connection that no error tells of: links without credit, closed windows, drains that nobody answers,
channels that leak or come and go, polling, publishes behind a close.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, cast

from .scales import count, duration, share

Fields = Mapping[str, Any]

KINDS: Final = ("behind", "drain", "credit", "window", "leak", "channels", "polling", "aborted", "doubt")
"""The kinds of troubles, the worst first."""
WATCHED: Final = frozenset({"begin", "attach", "flow", "transfer", "basic.get"})
"""The units whose fields are needed here."""
_SECOND: Final = 1_000_000_000
_WHOLE: Final = 1 << 32
_MOST: Final = 256
"""Most links, sessions and channels that are followed at once."""
_LEAK: Final = 100
"""So many channels open at once are a leak."""
_CHURN: Final = 50
_SHORT_NS: Final = _SECOND
"""So many channels that live shorter on average come and go."""
_POLLS: Final = 50
"""So many requests without a message are polling."""
_HALF: Final = 0.5
_OTHER: Final = {"client": "server", "server": "client"}
_LOST: Final = frozenset({"transport", "heartbeat", "server-error"})
_OPENS: Final = frozenset({"channel.open", "begin", "session.attach"})
_ENDS: Final = frozenset({"channel.close-ok", "end", "session.detached"})
_ANSWERS: Final = ("-ok", ".get-empty")
_TRANSACTED: Final = ("confirm.select", "tx.select")


class Trouble(NamedTuple):
    """One trouble: how much of it, or how long (nanoseconds), and a sentence on it and on what to do."""

    kind: str
    amount: int
    ts_ns: int
    seq: int | None
    text: str


class _Link:
    """A link as its sender uses it."""

    def __init__(self, name: str, sender: str, address: str, ts_ns: int) -> None:
        self.name = name
        """The one that both sides know it by."""
        self.sender = sender
        """The side that sends messages on it."""
        self.address = address
        """Of its source or target."""
        self.begun_ns = ts_ns
        """When it was attached."""
        self.count = 0
        """Its delivery-count."""
        self.until = 0
        """The delivery-count at which its credit ends."""
        self.granted = 0
        """How much credit it got in all."""
        self.dry_since: int | None = ts_ns
        """Since when it has had none; None while it has."""
        self.dry_ns = 0
        """Such times that have ended, together."""
        self.drained_at: tuple[int, int] | None = None
        """When a drain began that the sender hasn't answered, and its unit."""

    @property
    def room(self) -> int:
        """Deliveries that its sender may still send."""
        left = (self.until - self.count) % _WHOLE
        return left if left < _WHOLE // 2 else 0

    def look(self, ts_ns: int) -> None:
        """Note since when it has no credit."""
        if self.room and self.dry_since is not None:
            self.dry_ns += ts_ns - self.dry_since
            self.dry_since = None
        elif not self.room and self.dry_since is None:
            self.dry_since = ts_ns
        if not self.room:
            self.drained_at = None


class _Way:
    """What one side of a session may send."""

    def __init__(self, next_id: int) -> None:
        self.next_id = next_id
        """The transfer-id of its next transfer."""
        self.until: int | None = None
        """The first one that the other side doesn't take; None: not known."""
        self.window = 0
        """The last one that was granted, in transfers."""
        self.shut_since: int | None = None
        """Since when it may send nothing; None while it may."""
        self.shut_ns = 0
        """Such times that have ended, together."""

    def look(self, ts_ns: int) -> None:
        """Note since when it is shut."""
        left = None if self.until is None else (self.until - self.next_id) % _WHOLE
        is_shut = left is not None and (left == 0 or left > _WHOLE // 2)
        if is_shut and self.shut_since is None:
            self.shut_since = ts_ns
        elif not is_shut and self.shut_since is not None:
            self.shut_ns += ts_ns - self.shut_since
            self.shut_since = None


class Troubles:
    """Finds the troubles of one connection, from its units in order."""

    def __init__(self) -> None:
        self._open: dict[int, int] = {}
        """Open channels: when each was opened."""
        self._most_open = 0
        """The most at one time."""
        self._most_at = 0
        """When that was."""
        self._closed = 0
        """How many were closed."""
        self._lived_ns = 0
        """For how long these lived, together."""
        self._dead: dict[int, int] = {}
        """Channels that the server has closed: when."""
        self._is_closed = False
        """Whether the server has closed the connection."""
        self._behind = 0
        """Publishes behind such a close: they are lost."""
        self._behind_at: tuple[int, int] | None = None
        """The first one: when, and its unit."""
        self._gets = 0
        """How many basic.get there were."""
        self._empty = 0
        """How many of them found nothing."""
        self._polled = ""
        """The queue of the last one."""
        self._poll_at = 0
        """When the first one was."""
        self._aborted = 0
        """Deliveries that their sender gave up in the middle."""
        self._aborted_at: tuple[int, int] | None = None
        """The first one: when, and its unit."""
        self._sure: set[int] = set()
        """Channels that confirm or commit: what became of their publishes is known."""
        self._unsure: dict[int, int] = {}
        """Publishes of a channel behind the last answer there: what came before that has arrived."""
        self._published_at: tuple[int, int] | None = None
        """The last publish on another channel: when, and its unit."""
        self._links: dict[tuple[str, int, int], _Link] = {}
        """By side, channel and handle."""
        self._names: dict[str, _Link] = {}
        """The same by name: a link has two handles."""
        self._ways: dict[tuple[str, int], _Way] = {}
        """By the side that sends, and its channel."""
        self._peers: dict[tuple[str, int], int] = {}
        """The other side's number for a session of a side."""
        self._granted: dict[tuple[str, int], tuple[int | None, int | None]] = {}
        """The windows of sessions whose other number isn't known yet."""

    def unit(self, seq: int, ts_ns: int, sender: str, channel: int, event: str) -> None:
        """Take any unit."""
        if event == "basic.publish":
            self._publish(seq, ts_ns, sender, channel)
        elif event in _OPENS:
            if sender == "client":
                self._open[channel] = ts_ns
                self._dead.pop(channel, None)
                self._sure.discard(channel)
                if len(self._open) > self._most_open:
                    self._most_open = len(self._open)
                    self._most_at = ts_ns
        elif event in _ENDS:
            begun_ns = self._open.pop(channel, None)
            if begun_ns is not None:
                self._closed += 1
                self._lived_ns += ts_ns - begun_ns
        elif event in _TRANSACTED and sender == "client":
            self._sure.add(channel)
        if sender == "server" and channel in self._unsure and event.endswith(_ANSWERS):
            del self._unsure[channel]
        if event == "basic.get-empty":
            self._empty += 1
        elif event == "channel.close" and sender == "server":
            self._dead[channel] = ts_ns
        elif event == "connection.close" and sender == "server":
            self._is_closed = True

    def fields(self, event: str, sender: str, channel: int, ts_ns: int, seq: int, fields: Fields) -> None:
        """Take the fields of a unit of `WATCHED`."""
        if event == "basic.get":
            self._gets += 1
            self._polled = str(fields.get("queue", ""))
            self._poll_at = self._poll_at or ts_ns
        elif event == "begin":
            self._begin(sender, channel, ts_ns, fields)
        elif event == "attach":
            self._attach(sender, channel, ts_ns, fields)
        elif event == "flow":
            self._flow(sender, channel, ts_ns, seq, fields)
        elif event == "transfer":
            self._transfer(sender, channel, ts_ns, seq, fields)

    def place_of(self, sender: str, channel: int, handle: object) -> tuple[str, str] | None:
        """Return the name and the address of a link, by its sender's handle; None: it isn't known."""
        number = _number(handle)
        link = None if number is None else self._links.get((sender, channel, number))
        return None if link is None else (link.name, link.address)

    def finish(self, end_ns: int, cause: str, channel_max: int | None, *, is_whole: bool) -> Iterator[Trouble]:
        """Yield the troubles of the connection, which ended at `end_ns`, or the capture did.

        Unless it `is_whole`, there is none: what was granted, answered, opened or closed may be missing.
        """
        if not is_whole:
            return
        yield from self._of_publishes(cause)
        yield from self._of_links(end_ns)
        yield from self._of_sessions(end_ns)
        yield from self._of_channels(channel_max)
        if self._empty >= _POLLS:
            yield Trouble(
                "polling",
                self._empty,
                self._poll_at,
                None,
                f"queue {self._polled}: {count(self._empty)} of {count(self._gets)} basic.get found no message; "
                "consume with basic.consume, and the server sends what comes",
            )
        if self._aborted_at is not None:
            yield Trouble(
                "aborted",
                self._aborted,
                *self._aborted_at,
                "a transfer with aborted: its sender gave it up, and the receiver drops it",
            )

    def _publish(self, seq: int, ts_ns: int, sender: str, channel: int) -> None:
        if sender != "client":
            return
        if channel in self._dead or self._is_closed:
            self._behind += 1
            self._behind_at = self._behind_at or (ts_ns, seq)
        elif channel not in self._sure:
            self._unsure[channel] = self._unsure.get(channel, 0) + 1
            self._published_at = ts_ns, seq

    def _of_publishes(self, cause: str) -> Iterator[Trouble]:
        if self._behind_at is not None:
            yield Trouble(
                "behind",
                self._behind,
                *self._behind_at,
                "the server had closed their channel or connection, so they are lost; use publisher confirms, and "
                "publish again what wasn't confirmed",
            )
        unsure = sum(self._unsure.values())
        if self._published_at is not None and unsure and cause in _LOST:
            yield Trouble(
                "doubt",
                unsure,
                *self._published_at,
                "their connection was lost, and without publisher confirms nobody knows which of the last ones arrived",
            )

    def _of_channels(self, channel_max: int | None) -> Iterator[Trouble]:
        most = self._most_open
        is_all = bool(channel_max) and most >= (channel_max or 0)
        if most >= _LEAK or is_all:
            much = f"all {count(most)} that were agreed (channel-max)" if is_all else f"{count(most)} at once"
            yield Trouble(
                "leak",
                most,
                self._most_at,
                None,
                f"{much}, {count(len(self._open))} of them open at the end; a program that opens a channel for each "
                "message or thread has to close it, or to use one again",
            )
        if self._closed >= _CHURN and self._lived_ns // self._closed < _SHORT_NS:
            yield Trouble(
                "channels",
                self._closed,
                self._most_at,
                None,
                f"each lived for {duration(self._lived_ns // self._closed)} on average; open a channel once, and keep "
                "it",
            )

    # 1.0 (part 2 sections 2.5.6 and 2.6.7).

    def _begin(self, sender: str, channel: int, ts_ns: int, fields: Fields) -> None:
        if len(self._ways) >= _MOST:
            return
        self._ways[sender, channel] = _Way(_number(fields.get("next_outgoing_id")) or 0)
        remote = _number(fields.get("remote_channel"))
        if remote is not None:
            other = _OTHER[sender]
            self._peers[sender, channel] = remote
            self._peers[other, remote] = channel
            next_id, window = self._granted.pop((other, remote), (None, None))
            self._grant(other, remote, ts_ns, next_id, window)
        self._grant(sender, channel, ts_ns, None, _number(fields.get("incoming_window")))

    def _grant(self, sender: str, channel: int, ts_ns: int, next_id: int | None, window: int | None) -> None:
        """A side says how many transfers it takes, from an id on; each side has its own number for a session."""
        if window is None:
            return
        theirs = self._peers.get((sender, channel))
        if theirs is None:
            self._granted[sender, channel] = next_id, window
            return
        way = self._ways.get((_OTHER[sender], theirs))
        if way is not None:
            way.until = ((way.next_id if next_id is None else next_id) + window) % _WHOLE
            way.window = window
            way.look(ts_ns)

    def _attach(self, sender: str, channel: int, ts_ns: int, fields: Fields) -> None:
        handle = _number(fields.get("handle"))
        if handle is None or len(self._links) >= _MOST:
            return
        name = str(fields.get("name", ""))
        sends = sender if fields.get("role") is False else _OTHER[sender]
        link = self._names.get(name)
        if link is None or link.sender != sends:
            link = self._names[name] = _Link(name, sends, "", ts_ns)
        place = fields.get("target" if sends == "client" else "source")
        if isinstance(place, Mapping):
            link.address = str(cast("Fields", place).get("address") or link.address)
        if sends == sender:
            # Credit may have been granted before the sender told where its count begins.
            room, link.count = link.room, _number(fields.get("initial_delivery_count")) or 0
            link.until = (link.count + room) % _WHOLE
        self._links[sender, channel, handle] = link

    def _flow(self, sender: str, channel: int, ts_ns: int, seq: int, fields: Fields) -> None:
        self._grant(
            sender, channel, ts_ns, _number(fields.get("next_incoming_id")), _number(fields.get("incoming_window"))
        )
        handle, credit = _number(fields.get("handle")), _number(fields.get("link_credit"))
        link = None if handle is None else self._links.get((sender, channel, handle))
        if link is None or credit is None:
            return
        told = _number(fields.get("delivery_count"))
        if link.sender == sender:
            if told is not None:
                link.count = told
            link.drained_at = None
        else:
            link.until = ((link.count if told is None else told) + credit) % _WHOLE
            link.granted += credit > 0
            if fields.get("drain") is True and link.room and link.drained_at is None:
                link.drained_at = ts_ns, seq
        link.look(ts_ns)

    def _transfer(self, sender: str, channel: int, ts_ns: int, seq: int, fields: Fields) -> None:
        way = self._ways.get((sender, channel))
        if way is not None:
            way.next_id = (way.next_id + 1) % _WHOLE
            way.look(ts_ns)
        if fields.get("aborted") is True:
            self._aborted += 1
            self._aborted_at = self._aborted_at or (ts_ns, seq)
        handle = _number(fields.get("handle"))
        link = None if handle is None else self._links.get((sender, channel, handle))
        if link is not None and fields.get("more") is not True:
            link.count = (link.count + 1) % _WHOLE
            link.look(ts_ns)

    def _of_links(self, end_ns: int) -> Iterator[Trouble]:
        for link in self._names.values():
            if link.drained_at is not None and end_ns - link.drained_at[0] >= _SECOND:
                begun_ns, seq = link.drained_at
                yield Trouble(
                    "drain",
                    end_ns - begun_ns,
                    begun_ns,
                    seq,
                    f"link {link.name} of {link.address}: the {link.sender} neither used up the credit nor told by a "
                    "flow that it has nothing more, so the receiver waits; its sender has to answer drain",
                )
            dry_ns = link.dry_ns + (0 if link.dry_since is None else end_ns - link.dry_since)
            lived = end_ns - link.begun_ns
            if link.sender == "client" and dry_ns >= _SECOND and dry_ns / lived >= _HALF:
                what = "its credit was used up" if link.granted else "the server never granted any"
                yield Trouble(
                    "credit",
                    dry_ns,
                    link.begun_ns,
                    None,
                    f"link {link.name} to {link.address}, {share(dry_ns, lived)} of its time: {what}; see whether the "
                    "queue is full, or nobody takes from it",
                )

    def _of_sessions(self, end_ns: int) -> Iterator[Trouble]:
        for (side, channel), way in self._ways.items():
            shut_ns = way.shut_ns + (0 if way.shut_since is None else end_ns - way.shut_since)
            if shut_ns >= _SECOND:
                other = _OTHER[side]
                yield Trouble(
                    "window",
                    shut_ns,
                    end_ns - shut_ns if way.shut_since is None else way.shut_since,
                    None,
                    f"channel {channel}: the {other}'s incoming-window of {count(way.window)} was used up by the "
                    f"{side}'s transfers; the {other} reads too slowly, or its window is too small",
                )


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


__all__ = ["KINDS", "WATCHED", "Trouble", "Troubles"]
