"""The server's side of a connection to a client under test: what every version shares."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, ClassVar, Final

from amqp_sansio import NEED_DATA, Observed
from amqp_sansio.endpoint import Side
from amqp_sansio.observer import Observer, Violation

from .listening import Accepted
from .programs import MOST_LINES, Order, Program
from .talk import Patience as Patience
from .talk import Piece
from .verdicts import Seen, Surprise, Verdict, judged

_STEP: Final = 0.02
"""Seconds between two looks at the program."""
_LEAST: Final = 0.001
MOST: Final = 64 * 1024 * 1024
"""Octets that a client may send in a case: no case asks for a thousandth of it."""
LESSER: Final = ("channel.close", "end", "detach")
"""Units that end a part of a connection."""


class Host(ABC):
    """A server that answers as the specification asks, but for what a case tells it.

    `held` names the units of the client that aren't answered by themselves. An observer reads both sides: what the
    client breaks besides the rule of the case counts, too.
    """

    PUBLISH: ClassVar[str]
    """The unit that has a message of the client."""

    def __init__(self, transport: Accepted, program: Program, patience: Patience) -> None:
        self.transport = transport
        self.program = program
        self.patience = patience
        self.pieces: list[Piece] = []
        self.held: set[str] = set()
        self.seen: list[Observed] = []
        """All units of the client, in order."""
        self.told: list[Mapping[str, Any]] = []
        """All that the program printed, in order."""
        self.broken: list[Violation] = []
        """Rules that the client broke."""
        self.has_ended = False
        """Whether the client ended the connection."""
        self.asked_for_the_end = False
        """Whether the case ended the connection, or made the client end it."""
        self.is_judged = True
        """Whether the end of the connection and the observer's findings count."""
        self.last_at = transport.now()
        """When the client's last octets came."""
        self.over_at: float | None = None
        """When both sides had said their close."""
        self.gaps: list[float] = []
        """Seconds between the client's octets."""
        self.overslept = 0.0
        """The most seconds by which a wait for the client was longer than it was to be: so late was the machine."""
        self.relies_on_silence = False
        """Whether the case served the client for a while, to see what doesn't come. Set by that."""
        self._inbox: list[Observed] = []
        self._events: list[Mapping[str, Any]] = []
        self._observer = Observer(client="client")
        self._is_taking = False
        self._heard = 0

    # Octets.

    def send(self, octets: bytes, *, watched: bool = True) -> None:
        """Send octets; those that the client isn't to be judged by are kept from the observer."""
        at = self.transport.wall()
        self.pieces.append(Piece("server", octets, at))
        if watched:
            self._observer.receive_data(octets, "server", at)
        self.transport.send(octets)
        self._take()

    def _take(self) -> None:
        if self._is_taking:
            # What an answer causes is taken by whoever takes the unit that is answered.
            return
        self._is_taking = True
        try:
            while (event := self._observer.next_event()) is not NEED_DATA:
                self._judge(event)
        finally:
            self._is_taking = False

    def _judge(self, event: object) -> None:
        if isinstance(event, Violation):
            if event.sender is Side.CLIENT and event.severity == "error":
                self.broken.append(event)
        elif isinstance(event, Observed) and event.sender is Side.CLIENT:
            self.seen.append(event)
            self._inbox.append(event)
            if event.event not in self.held:
                self.answer(event)

    def step(self, seconds: float) -> None:
        """Read once, from the client and from what its program prints, for at most so long."""
        self._late()
        if self.has_ended:
            # A program may go on, and even print more, when its connection is gone.
            self.program.wait(min(seconds, _STEP))
            return
        if self.over_at is None and self.is_over():
            self.over_at = self.transport.now()
        elif self.over_at is not None and self.transport.now() - self.over_at > self.patience.quiet:
            # Some clients leave the end of the connection to the server, and may.
            self.transport.shut()
        turn = min(seconds, _STEP)
        before = self.transport.now()
        octets = self.transport.receive(turn)
        if octets is None:
            self.overslept = max(self.overslept, self.transport.now() - before - turn)
            return
        if not octets:
            self.has_ended = True
            # A program may wait for the server's end before its own.
            self.transport.shut()
            return
        now = self.transport.now()
        self.gaps.append(now - self.last_at)
        self.last_at = now
        at = self.transport.wall()
        self._heard += len(octets)
        if self._heard > MOST:
            raise Surprise(f"the client sends more than {MOST:,} octets")
        self.pieces.append(Piece("client", octets, at))
        self._observer.receive_data(octets, "client", at)
        self._take()

    @property
    def said(self) -> bytes:
        """All octets of the client."""
        return b"".join([each.octets for each in self.pieces if each.sender == "client"])

    @abstractmethod
    def answer(self, unit: Observed) -> None:
        """Answer a unit of the client as the specification asks."""

    # Waiting.

    def until(self, done: Callable[[], bool], seconds: float | None = None) -> bool:
        """Serve the client until something is so; whether it came to be in time."""
        deadline = self.transport.now() + (self.patience.answer if seconds is None else seconds)
        while not done():
            left = deadline - self.transport.now()
            if left <= 0:
                return False
            self.step(max(left, _LEAST))
        return True

    def wait(self, *names: str, seconds: float | None = None) -> Observed | None:
        """Take the client's first unit with one of the names; None at the end of the time or of the connection."""
        found: list[Observed] = []

        def done() -> bool:
            for place, each in enumerate(self._inbox):
                if each.event in names:
                    found.append(self._inbox.pop(place))
                    return True
            return self.has_ended

        self.until(done, seconds)
        return found[0] if found else None

    def forget(self, *names: str) -> None:
        """Pass over units that came already: `wait` and `take` have those alone that come from now on."""
        self._inbox = [each for each in self._inbox if each.event not in names]

    def let_go(self) -> None:
        """Answer the units that are held, in their order, and hold nothing more."""
        held = [each for each in self.seen if each.event in self.held]
        self.held.clear()
        for each in held:
            self.answer(each)

    def take(self, *names: str) -> Observed:
        """Take a unit that the case can't go on without. Raises Surprise."""
        unit = self.wait(*names)
        if unit is None:
            raise Surprise(f"no {' or '.join(names)}: {self.described()}")
        return unit

    def hears(self, *events: str, seconds: float | None = None) -> Mapping[str, Any] | None:
        """Take the first line of the program with one of these events; None if none comes."""
        found: list[Mapping[str, Any]] = []

        def done() -> bool:
            for place, each in enumerate(self._events):
                if each.get("event") in events:
                    found.append(self._events.pop(place))
                    return True
            return self.program.status() is not None and not self._late()

        self.until(done, seconds)
        return found[0] if found else None

    def _late(self) -> bool:
        """Take what the program has printed, which may be after its end; whether there was any."""
        new = self.program.events()[: MOST_LINES - len(self.told)]
        self.told += new
        self._events += new
        return bool(new)

    def serve(self, seconds: float) -> None:
        """Serve the client for a while."""
        self.relies_on_silence = True
        self.until(lambda: self.has_ended, seconds)

    def quiet(self, name: str, least: int = 1) -> int:
        """Serve until at least so many units of a name came and no more come; return how many there are."""

        def count() -> int:
            return sum(each.event == name for each in self.seen)

        self.until(lambda: count() >= least or self.has_ended)
        before = -1
        while count() != before:
            before = count()
            self.serve(self.patience.quiet)
        return before

    def ends(self, seconds: float | None = None) -> bool:
        """Serve until the client ends the connection; whether it does so in time."""
        return self.until(lambda: self.has_ended, seconds)

    def exits(self, seconds: float | None = None) -> int | None:
        """Serve until the program ends; return its exit status, None if it goes on."""
        self.until(lambda: self.program.status() is not None, seconds)
        while self._late():
            continue
        return self.program.status()

    def plain(self, order: Order) -> None:
        """Let the program do what it is told, with nothing odd. Raises Surprise."""
        if order.skill == "open":
            self.opened()
            self.hears("opened")
            self.end_in_order()
        elif order.skill.startswith("consume"):
            self.deliver_one()
        elif order.skill == "rpc":
            self.answer_request()
        else:
            self.take(self.PUBLISH)

    @abstractmethod
    def opened(self) -> None:
        """Serve the client until its connection is open. Raises Surprise."""

    @abstractmethod
    def end_in_order(self) -> None:
        """Close the connection if the client doesn't end it, so that a program that keeps it open ends."""

    @abstractmethod
    def deliver_one(self) -> None:
        """Serve the client until it consumes, and send it a message. Raises Surprise."""

    @abstractmethod
    def answer_request(self) -> str:
        """Answer the client's request; return the address for the answer. Raises Surprise."""

    @abstractmethod
    def product(self) -> tuple[str, str]:
        """Return the client's name and version, as it says them."""

    # Judgements.

    def described(self) -> str:
        """Say what the client did instead."""
        how = self.transport.how_it_ended
        last = f"last: {self.seen[-1].event}" if self.seen else "nothing came"
        status = self.program.status()
        parts = [last]
        if how:
            parts.append(f"the connection is {how}")
        if status is not None:
            complaint = self.program.complaint()
            parts.append(f"the program ended with {status}{': ' if complaint else ''}{complaint}")
        return ", ".join(parts)

    def outcomes(self) -> list[str]:
        """Return the outcomes of the published messages, by their numbers, as the program told them."""
        told = [each for each in self.told if each.get("event") == "published"]
        # A program may number its messages by anything.
        found = {str(each.get("number")): str(each.get("outcome")) for each in told}
        return [found[each] for each in sorted(found)]

    def judge_outcomes(self, *wanted: str) -> Seen:
        """Judge what the program says of its messages, once it ended: `wanted` has the outcome of each."""
        status = self.exits()
        got = self.outcomes()
        text = f"told: {', '.join(got) or 'nothing'}; exit status {status}"
        return judged(got == list(wanted), text)

    def loses(self) -> Seen:
        """Reset the connection, and judge what the program says of its message: it is in doubt."""
        self.is_judged = False
        self.transport.reset()
        self.has_ended = True
        status = self.exits()
        got = self.outcomes()
        text = f"told: {', '.join(got) or 'nothing'}; exit status {status}"
        fine = got == ["unknown"] or (not got and bool(status))
        return judged(fine, text)

    def learns(self, *words: str) -> Seen:
        """Judge whether the program learns of an error: it tells so, with one of the words, or fails."""
        line = self.hears("closed")
        if line is not None:
            text = f"told: {line.get('scope', '')} closed, {line.get('code', '')} {line.get('text', '')}".rstrip()
            named = any(word in text for word in words)
            return Seen(Verdict.CONFORMS if named else Verdict.OTHER_CODE, text)
        status = self.exits()
        if status:
            return Seen(Verdict.CONFORMS, f"the program fails: {self.program.complaint() or f'exit status {status}'}")
        text = "the program goes on" if status is None else "the program ends as if nothing had happened"
        return Seen(Verdict.BREAKS, f"{text}; it told nothing of the error")

    def gives_up(self) -> Seen:
        """Judge whether the client ends the connection after octets that it can't take."""
        if self.closes() is not None:
            return Seen(Verdict.CONFORMS, f"{self.seen[-1].event}, then the end")
        if self.has_ended:
            return Seen(Verdict.CONFORMS, f"the connection is {self.transport.how_it_ended}")
        lesser = [each.event for each in self.seen if each.event in LESSER]
        if lesser:
            return Seen(Verdict.OTHER_CODE, f"{lesser[0]}: a part of the connection, not the connection")
        return Seen(Verdict.BREAKS, f"the client goes on; {self.described()}")

    @abstractmethod
    def closes(self, seconds: float | None = None) -> Observed | None:
        """Return the client's close of the connection, None if none comes in time."""

    @abstractmethod
    def is_over(self) -> bool:
        """Whether both sides said their close, and the server may end the connection."""

    @abstractmethod
    def wrong_end(self) -> str:
        """Say what is wrong with the client's end of the connection; "" if nothing is."""

    def finish(self) -> str:
        """Serve the client to its end; return what is wrong with that."""
        if not self.is_judged:
            return ""
        gone = self.until(lambda: self.has_ended)
        if self.exits() is None:
            return "the end: the program goes on"
        return self.wrong_end() if gone else "the end: the client leaves the connection half open"

    def close(self) -> None:
        """Drop the connection."""
        with suppress(OSError):
            self.transport.close()


class MethodHost(Host):
    """A server of the versions before 1.0, in which connection.close is answered with connection.close-ok."""

    OVER: ClassVar[str] = "the case is over"
    """The text of the close at the end of a case."""

    @abstractmethod
    def say_close(self, code: int, text: str) -> None:
        """Send connection.close."""

    def opened(self) -> None:
        self.take("connection.open")

    def hang_up(self, code: int, text: str) -> Observed | None:
        """Close the connection; return the client's connection.close-ok, None if it doesn't come."""
        self.asked_for_the_end = True
        self.say_close(code, text)
        return self.wait("connection.close-ok")

    def end_in_order(self) -> None:
        if not self.has_ended and not any(each.event == "connection.close" for each in self.seen):
            self.hang_up(320, self.OVER)

    def closes(self, seconds: float | None = None) -> Observed | None:
        return self.wait("connection.close", seconds=seconds)

    def is_over(self) -> bool:
        return any(each.event in ("connection.close", "connection.close-ok") for each in self.seen)

    def wrong_end(self) -> str:
        names = [each.event for each in self.seen]
        for last in ("connection.close-ok", "connection.close"):
            if last in names:
                late = names[names.index(last) + 1 :]
                return f"the end: {late[0]} behind {last}" if late else ""
        if self.asked_for_the_end:
            return "the end: no connection.close-ok"
        return "the end: the client drops the connection without connection.close"
