"""A conversation with a server of 1.0."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Final, NamedTuple

from amqp_sansio import AMQP_1_0, AmqpError
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.amqp_1_0.codec.composite import decode_frame_body

from .conversation import Conversation, Login, Names, Patience, Reading
from .transport import Transport
from .verdicts import Seen, Surprise, Verdict, judged

HEADER: Final = AMQP_1_0.header
SASL_HEADER: Final = b"AMQP\x03\x01\x00\x00"
EMPTY: Final = b"\x00\x00\x00\x08\x02\x00\x00\x00"
"""A frame without a body."""
AMQP: Final = 0
SASL: Final = 1
SMALLEST: Final = 512
"""Octets that every peer takes in a frame."""
SPARE: Final = 9
"""A channel that no case uses: it tells whether a silent connection is still served."""
WINDOW: Final = 2_048
MANY: Final = 100
"""Credit that is more than a case needs."""
_HEAD: Final = struct.Struct(">IBBH")


def frame(
    body: spec.Composite | bytes = b"",
    channel: int = 0,
    payload: bytes = b"",
    *,
    kind: int = AMQP,
    doff: int = 2,
    size: int | None = None,
    extended: bytes = b"",
) -> bytes:
    """Return the octets of a frame, right or wrong."""
    octets = extended + (body if isinstance(body, bytes) else body.encode()) + payload
    return _HEAD.pack(8 + len(octets) if size is None else size, doff, kind, channel) + octets


class Told(NamedTuple):
    """A protocol header, or a frame with its performative (None: an empty frame) and payload.

    `channel` is the number that the client has for the session, where it has one.
    """

    event: str
    channel: int
    content: Any
    payload: bytes
    octets: int
    """The size of the whole frame."""


class Session:
    """The client's end of a session."""

    def __init__(self, begun: spec.Begin, answer: spec.Begin) -> None:
        self.answer = answer
        self.window = begun.incoming_window
        """Transfers that the client's flows allow."""
        self.next_incoming_id = answer.next_outgoing_id
        self.next_outgoing_id = begun.next_outgoing_id
        self.next_delivery_id = 0
        self.next_handle = 0


class Sessions(dict[int, Session]):
    """The sessions by the client's channels. One that isn't there any more can't go on with a case: Surprise."""

    def __missing__(self, channel: int) -> Session:
        raise Surprise(f"the session on channel {channel} has ended")


class Link:
    """The client's end of a link, with the server's attach."""

    def __init__(self, asked: spec.Attach, channel: int) -> None:
        self.asked = asked
        self.name = asked.name
        self.handle = asked.handle
        self.channel = channel
        self.answer = asked
        self.theirs = -1
        """The server's handle."""
        self.count = 0
        """The delivery-count, as the client knows it."""
        self.tags = 0

    @property
    def address(self) -> str:
        """The address of the node, as the server names it."""
        node = self.answer.source if self.asked.role else self.answer.target
        address = getattr(node, "address", None)
        return address if isinstance(address, str) else ""


class Arrived(NamedTuple):
    """A delivery of the server's: its transfers, and the octets of the whole message."""

    transfers: tuple[spec.Transfer, ...]
    payload: bytes

    @property
    def number(self) -> int:
        """The delivery-id."""
        number = self.transfers[0].delivery_id
        return -1 if number is None else number

    @property
    def message(self) -> amqp.Message:
        return amqp.Message.from_wire(self.payload)


class Talk10(Reading[Told]):
    """One connection to a server of 1.0. The session on channel 0 is the one that most cases use."""

    VERSION: ClassVar[str] = "1.0"

    def __init__(
        self,
        transport: Transport,
        login: Login,
        names: Names,
        patience: Patience,
        opened: Callable[[], Conversation] | None = None,
    ) -> None:
        super().__init__(transport, login, names, patience, opened)
        self.mechanisms: tuple[str, ...] = ()
        self.peer: spec.Open = spec.Open("")
        self.container = names.name()
        self.sessions = Sessions()
        self._octets = b""
        self._channels: dict[int, int] = {}
        """The client's channel for each of the server's."""

    # Octets.

    def say(self, *bodies: spec.Composite, channel: int = 0, payload: bytes = b"") -> None:
        """Send performatives, each in a frame."""
        self.send(b"".join([frame(each, channel, payload) for each in bodies]))

    def read(self, octets: bytes, at_ns: int) -> Iterable[Told]:
        self._octets += octets
        found: list[Told] = []
        while len(self._octets) >= 8:
            head = self._octets[:8]
            if head.startswith(b"AMQP"):
                found.append(Told("header", 0, head, b"", 8))
                self._octets = self._octets[8:]
                continue
            size, doff, _, channel = _HEAD.unpack(head)
            if size < 8 or not 8 <= 4 * doff <= size:
                self.garbled = f"a frame of {size} octets whose body begins at octet {4 * doff}"
                self._octets = b""
                break
            if len(self._octets) < size:
                break
            whole, self._octets = self._octets[:size], self._octets[size:]
            found += self._told(whole, 4 * doff, channel)
        return found

    def _told(self, whole: bytes, begin: int, channel: int) -> Sequence[Told]:
        if begin == len(whole):
            return (Told("empty", channel, None, b"", len(whole)),)
        try:
            content, at = decode_frame_body(whole, begin)
        except AmqpError as error:
            self.garbled = f"a frame that can't be decoded: {error}"
            return ()
        if isinstance(content, spec.Begin) and content.remote_channel is not None:
            self._channels[channel] = content.remote_channel
        ours = self._channels.get(channel, channel)
        if isinstance(content, spec.Transfer) and ours in self.sessions:
            self.sessions[ours].next_incoming_id = (self.sessions[ours].next_incoming_id + 1) & 0xFFFFFFFF
        return (Told(content.NAME, ours, content, whole[at:], len(whole)),)

    def wait(
        self,
        names: Iterable[str],
        channel: int | None = None,
        seconds: float | None = None,
        fits: Callable[[Told], bool] = lambda unit: True,
    ) -> Told | None:
        """Take the first unit with one of the names, and that fits; a close, or an end of that session, is one, too."""
        known = {*names}

        def wanted(unit: Told) -> bool:
            if unit.event == "close" or (unit.event == "end" and unit.channel == channel):
                return True
            return unit.event in known and (channel is None or unit.channel == channel) and fits(unit)

        unit = self.until(wanted, seconds)
        if unit is not None and unit.event == "close" and not self.is_over:
            self.is_over = True
            self.say(spec.Close())
        elif unit is not None and unit.event == "end" and unit.channel in self.sessions:
            del self.sessions[unit.channel]
            self.say(spec.End(), channel=unit.channel)
        return unit

    def of(self, link: Link, *names: str, seconds: float | None = None) -> Told | None:
        """Take the first unit of a link with one of the names; a detach, an end or a close is one, too."""
        known = ("detach", *names)
        return self.wait(known, link.channel, seconds, lambda unit: unit.content.handle == link.theirs)

    # Steps that only prepare a case.

    def take(self, name: str, channel: int | None = None) -> Told:
        """Take a unit that the case can't go on without. Raises Surprise."""
        unit = self.wait((name,), channel)
        if unit is None or unit.event != name:
            raise Surprise(f"no {name}: {self.described(unit)}")
        return unit

    def greet(self) -> None:
        """Exchange the headers of SASL, and take the mechanisms. Raises Surprise."""
        self.send(SASL_HEADER)
        header = self.take("header").content
        if header != SASL_HEADER:
            raise Surprise(f"the header {header.hex()}")
        self.mechanisms = tuple([str(each) for each in self.take("sasl-mechanisms").content.sasl_server_mechanisms])

    def authenticate(self) -> None:
        """Log in by SASL, and exchange the headers of AMQP. Raises Surprise."""
        self.greet()
        self.send(frame(spec.SaslInit("PLAIN", self.login_as.plain), kind=SASL))
        code = self.take("sasl-outcome").content.code
        if code:
            raise Surprise(f"the outcome of the login is {code}")
        self.send(HEADER)
        self.take("header")

    def opening(self, **fields: Any) -> spec.Open:
        """Return the client's open."""
        vhost = self.login_as.vhost
        values: dict[str, Any] = {
            "container_id": self.container,
            "hostname": None if vhost in ("", "/") else vhost,
            "max_frame_size": 65_536,
            **fields,
        }
        return spec.Open(**values)

    def login(self, **fields: Any) -> None:
        """Log in, and open the connection with these fields. Raises Surprise."""
        self.authenticate()
        self.say(self.opening(**fields))
        self.peer = self.take("open").content
        self.open_at = self.transport.now()

    def session(self, channel: int = 0, **fields: Any) -> Session:
        """Begin a session. Raises Surprise."""
        values: dict[str, Any] = {"next_outgoing_id": 0, "incoming_window": WINDOW, "outgoing_window": WINDOW, **fields}
        begun = spec.Begin(**values)
        self.say(begun, channel=channel)
        self.sessions[channel] = Session(begun, self.take("begin", channel).content)
        return self.sessions[channel]

    def begin(self) -> None:
        self.login()
        self.session()

    def asking(self, role: bool, channel: int = 0, **fields: Any) -> Link:
        """Return a link that is yet to be attached, with the next handle."""
        session = self.sessions[channel]
        values: dict[str, Any] = {"name": self.names.name(), "handle": session.next_handle, "role": role, **fields}
        if not role:
            values.setdefault("initial_delivery_count", 0)
        session.next_handle = max(session.next_handle, int(values["handle"]) + 1)
        return Link(spec.Attach(**values), channel)

    def attach(self, link: Link) -> Told | None:
        """Send a link's attach, and take the answer, with what it says; or what comes instead."""
        self.say(link.asked, channel=link.channel)
        unit = self.wait(("attach",), link.channel, None, lambda unit: unit.content.name == link.name)
        if unit is not None and unit.event == "attach":
            link.answer, link.theirs = unit.content, unit.content.handle
            link.count = link.answer.initial_delivery_count or 0
        return unit

    def attached(self, link: Link) -> Link:
        """Attach a link. Raises Surprise if the server refuses it."""
        unit = self.attach(link)
        if unit is None or unit.event != "attach":
            raise Surprise(f"no attach: {self.described(unit)}")
        node = link.answer.source if link.asked.role else link.answer.target
        if node is None:
            raise Surprise(f"the link is refused: {self.described(self.of(link))}")
        return link

    def receiver(self, address: str, channel: int = 0, *, credit: int = 0, **fields: Any) -> Link:
        """Attach a receiver, and grant it credit. Raises Surprise."""
        fields.setdefault("source", amqp.Source(address))
        fields.setdefault("target", amqp.Target())
        link = self.attached(self.asking(spec.RECEIVER, channel, **fields))
        if credit:
            self.grant(link, credit)
        return link

    def sender(self, address: str, channel: int = 0, *, credit: bool = True, **fields: Any) -> Link:
        """Attach a sender, and wait for credit. Raises Surprise."""
        fields.setdefault("source", amqp.Source())
        fields.setdefault("target", amqp.Target(address))
        link = self.attached(self.asking(spec.SENDER, channel, **fields))
        link.count = 0
        if credit:
            unit = self.wait(("flow",), channel, None, lambda each: bool(_gives(link, each)))
            if unit is None or unit.event != "flow":
                raise Surprise(f"no credit: {self.described(unit)}")
        return link

    def node(self) -> str:
        """Make a queue, one that goes with the connection if the server has such, and return its address.

        Raises Surprise.
        """
        if self.names.address:
            return self.names.address.format(self.names.queue())
        source = amqp.Source(dynamic=True)
        link = self.attached(self.asking(spec.RECEIVER, source=source, target=amqp.Target()))
        if not link.address:
            raise Surprise("the dynamic node has no address")
        return link.address

    def filled(self, *bodies: bytes) -> str:
        """Make a queue with these messages, and return its address. Raises Surprise."""
        address = self.node()
        link = self.sender(address)
        for each in bodies:
            self.store(link, each)
        return address

    def flow(self, channel: int = 0, **fields: Any) -> spec.Flow:
        """Return a flow of a session, with these fields of a link."""
        session = self.sessions[channel]
        values: dict[str, Any] = {
            "next_incoming_id": session.next_incoming_id,
            "incoming_window": session.window,
            "next_outgoing_id": session.next_outgoing_id,
            "outgoing_window": WINDOW,
            **fields,
        }
        return spec.Flow(**values)

    def grant(self, link: Link, credit: int, **fields: Any) -> None:
        """Grant a link of the server's sender credit."""
        values: dict[str, Any] = {"handle": link.handle, "delivery_count": link.count, "link_credit": credit, **fields}
        self.say(self.flow(link.channel, **values), channel=link.channel)

    def transferring(self, link: Link, *, begins: bool = True, **fields: Any) -> spec.Transfer:
        """Return the next transfer of a link: with an id, a tag and a format, or (`begins` is False) without."""
        session = self.sessions[link.channel]
        values: dict[str, Any] = {"handle": link.handle}
        if begins:
            link.tags += 1
            values |= {
                "delivery_id": session.next_delivery_id,
                "delivery_tag": b"%d" % link.tags,
                "message_format": 0,
                "settled": False,
            }
            session.next_delivery_id += 1
            link.count += 1
        session.next_outgoing_id += 1
        return spec.Transfer(**{**values, **fields})

    def put(self, link: Link, message: amqp.Message | bytes = b"hello", **fields: Any) -> int:
        """Send a message in as many transfers as the server's frames ask for; return its delivery-id."""
        payload = message.encode() if isinstance(message, amqp.Message) else amqp.Message(message).encode()
        largest = min(self.peer.max_frame_size, 65_536) - SMALLEST // 2
        parts = [payload[at : at + largest] for at in range(0, len(payload), largest)]
        number = self.sessions[link.channel].next_delivery_id
        for place, part in enumerate(parts):
            given = {"more": place < len(parts) - 1, **(fields if not place else {})}
            self.say(self.transferring(link, begins=not place, **given), channel=link.channel, payload=part)
        return number

    def outcome(self, number: int, channel: int = 0, seconds: float | None = None) -> Told | None:
        """Take the server's disposition of a delivery of the client's; or what comes instead."""
        return self.wait(("disposition", "detach"), channel, seconds, lambda unit: _covers(unit, number))

    def store(self, link: Link, message: amqp.Message | bytes = b"hello", **fields: Any) -> None:
        """Send a message, and have it accepted. Raises Surprise."""
        unit = self.outcome(self.put(link, message, **fields), link.channel)
        if unit is None or unit.event != "disposition" or not isinstance(unit.content.state, amqp.Accepted):
            raise Surprise(f"a message isn't accepted: {self.described(unit)}")

    def next(self, link: Link, seconds: float | None = None) -> Arrived | None:
        """Take the server's next whole delivery on a link; None if none comes."""
        transfers: list[spec.Transfer] = []
        payload = b""
        while True:
            unit = self.of(link, "transfer", seconds=seconds)
            if unit is None or unit.event != "transfer":
                return None
            transfers.append(unit.content)
            payload += unit.payload
            if unit.content.aborted:
                transfers, payload = [], b""
            elif not unit.content.more:
                link.count = (link.count + 1) & 0xFFFFFFFF
                return Arrived(tuple(transfers), payload)

    def arrives(self, link: Link) -> Arrived:
        """Take the server's next delivery on a link. Raises Surprise."""
        found = self.next(link)
        if found is None:
            raise Surprise(f"no delivery: {self.ending()}")
        return found

    def count(self, link: Link, wanted: int) -> list[Arrived]:
        """Take the deliveries on a link until there are as many as wanted, and those that still come then."""
        found: list[Arrived] = []
        while (each := self.next(link, None if len(found) < wanted else self.patience.quiet)) is not None:
            found.append(each)
        return found

    def settle(self, *arrived: Arrived, channel: int = 0, state: amqp.DeliveryState | None = None) -> None:
        """Settle deliveries of the server's, as accepted if nothing else is given."""
        for each in arrived:
            self.say(
                spec.Disposition(spec.RECEIVER, each.number, settled=True, state=state or amqp.Accepted()),
                channel=channel,
            )

    def leave(self, link: Link, *, closed: bool = True) -> Told | None:
        """Detach a link, and take the server's answer; or what comes instead."""
        self.say(spec.Detach(link.handle, closed), channel=link.channel)
        return self.of(link)

    def resumed(self, link: Link, *unsettled: Arrived, **fields: Any) -> Link:
        """Attach a link again that was detached, with what is unsettled on it. Raises Surprise."""
        tags = {each.transfers[0].delivery_tag: None for each in unsettled}
        asked = link.asked.replace(unsettled=tags, **fields)
        return self.attached(Link(asked, link.channel))

    def controller(self) -> Link:
        """Attach a link to the coordinator of transactions, and wait for credit. Raises Surprise."""
        outcomes = [amqp.Symbol("amqp:accepted:list"), amqp.Symbol("amqp:rejected:list")]
        return self.sender("", source=amqp.Source(outcomes=outcomes), target=spec.Coordinator())

    # Judgements.

    def answers_still(self) -> bool:
        """Whether the connection is served: a session can be begun and ended on it."""
        if self.is_over or self.has_ended:
            return False
        channel = min(SPARE, self.peer.channel_max)
        if channel in self.sessions:
            self.say(self.flow(channel, echo=True), channel=channel)
            return self.until(lambda each: each.event == "flow" and each.content.handle is None) is not None
        self.say(spec.Begin(None, 0, WINDOW, WINDOW), channel=channel)
        if self.until(lambda each: each.event == "begin" and each.channel == channel) is None:
            return False
        self.say(spec.End(), channel=channel)
        return self.until(lambda each: each.event == "end" and each.channel == channel) is not None

    def described(self, unit: Told | None) -> str:
        """Say what the peer did instead."""
        if unit is None:
            return self.ending()
        error = getattr(unit.content, "error", None)
        if isinstance(error, amqp.Error):
            return f"{unit.event} {error.condition} {error.description or ''}".strip()
        if unit.event == "header":
            return f"the header {unit.content.hex()}"
        if unit.event == "disposition":
            state = unit.content.state
            return f"disposition {'nothing' if state is None else getattr(state, 'NAME', 'unknown')}"
        return f"{unit.event} without an error" if unit.event in ("close", "end", "detach") else unit.event

    def fails(
        self,
        by: str,
        *conditions: str,
        channel: int = 0,
        silent: bool = False,
        lenient: bool = False,
        also: tuple[str, ...] = (),
    ) -> Seen:
        """Judge whether the server ends something with an error of one of the conditions.

        `by` is "close", "end" or "detach"; `also` has those that are right, too. `silent`: it may end the connection
        without a close. `lenient`: the specification says only what is valid, so passing over it isn't strict.
        """
        unit = self.reaction(lambda seconds: self.wait(("detach",), channel, seconds))
        if unit is None:
            if not self.has_ended and lenient and self.answers_still():
                return Seen(Verdict.NON_STRICT, "it isn't refused, and the connection is served as before")
            if not self.has_ended:
                seen = self.silence()
                if not silent or not self.has_ended:
                    return seen
            text = f"the connection is {self.transport.how_it_ended} without a close"
            return Seen(Verdict.CONFORMS if silent else Verdict.UNCLEAN, text)
        return self.ended_by(unit, by, *conditions, also=also)

    def ended_by(self, unit: Told, by: str, *conditions: str, also: tuple[str, ...] = ()) -> Seen:
        """Judge a unit of the server, which is to end something with an error of one of the conditions."""
        text = self.described(unit)
        error = getattr(unit.content, "error", None)
        if error is None:
            return Seen(Verdict.BREAKS, text)
        if unit.event != by and unit.event not in also:
            return Seen(Verdict.OTHER_CODE, f"{text}: by {unit.event}, not {by}")
        fine = not conditions or str(error.condition) in conditions
        return Seen(Verdict.CONFORMS if fine else Verdict.OTHER_CODE, text)

    def accepts(self, number: int, link: Link) -> Seen:
        """Judge whether the server accepts a delivery."""
        unit = self.reaction(lambda seconds: self.outcome(number, link.channel, seconds))
        if unit is None:
            return self.silence()
        fine = unit.event == "disposition" and isinstance(unit.content.state, amqp.Accepted)
        return judged(fine, self.described(unit))

    def quiet(self, link: Link) -> Told | None:
        """Return a transfer on a link that comes though none should, or what ends the link.

        Asks a question on another session first: what comes before its answer was caused by what was sent before it.
        """
        if self.answers_still():
            return self.of(link, "transfer", seconds=self.patience.quiet)
        return self.of(link, "transfer", seconds=0)

    def no_more(self, link: Link, text: str) -> Seen:
        """Judge whether nothing more comes on a link."""
        unit = self.quiet(link)
        if unit is None and not self.has_ended:
            return Seen(Verdict.CONFORMS, text)
        return Seen(Verdict.BREAKS, f"{text}, and {self.described(unit)}")

    def holds(self, address: str, *bodies: bytes, credit: int = MANY) -> Seen:
        """Judge whether a queue has these messages, and no others; they are taken from it."""
        link = self.receiver(address, credit=credit)
        found = self.count(link, len(bodies))
        self.settle(*found)
        got = [each.message.body for each in found]
        text = f"messages: {', '.join([repr(each) for each in got]) or 'none'}"
        return judged(got == [*bodies], text)

    # The end.

    def _part(self) -> str:
        self.say(spec.Close())
        unit = self.until(lambda each: each.event == "close")
        if unit is None:
            return "the end: no close" if not self.has_ended else ""
        if unit.content.error is not None:
            return f"the end: {self.described(unit)}"
        self.said_goodbye = True
        return ""

    def sweep(self, names: Names) -> None:
        # What a case makes goes with its connection; what has names of its own, 1.0 can't delete.
        self.begin()
        self.finish()


def _gives(link: Link, unit: Told) -> int:
    """Return the credit that a flow gives a link."""
    mine = unit.content.handle == link.theirs
    return int(unit.content.link_credit or 0) if mine else 0


def _covers(unit: Told, number: int) -> bool:
    if unit.event == "detach":
        return True
    about = unit.content
    last = about.first if about.last is None else about.last
    return bool(about.role) and (number - about.first) & 0xFFFFFFFF <= (last - about.first) & 0xFFFFFFFF
