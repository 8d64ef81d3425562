"""Hostile servers for clients, by seed: a real broker's octets up to a moment, then wrong ones.

A `HostileServer` is pure: it takes a client's octets and says what the other end of the transport does, act by act.
The broker behind it is honest, so that a script gets as deep into a conversation as its seed wants.
"""

# pyright: reportPrivateUsage=false
import random
from collections.abc import Callable
from functools import cache
from struct import Struct
from typing import Any, Final, NamedTuple, TypeAlias

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, CodecError, Limits, Version
from amqp_sansio._classic.codec.dialect import default_dialect
from amqp_sansio._classic.codec.table import RABBIT
from amqp_sansio.amqp_0_9_1 import Table
from amqp_sansio.amqp_0_9_1.spec import Method
from amqp_sansio.amqp_0_10.codec.frames import encode_assembly
from amqp_sansio.amqp_0_10.codec.record import COMMANDS, CONTROLS, Command
from amqp_sansio.amqp_1_0 import Accepted, Error, Source, Symbol, Target
from amqp_sansio.amqp_1_0.codec import performatives as performatives
from amqp_sansio.broker import Hub, Settings
from amqp_sansio.endpoint import CloseHint
from tests.kit import octets_0_10, octets_1_0, octets_classic

VERSIONS: Final = (AMQP_0_9_1, AMQP_1_0, AMQP_0_10, AMQP_0_8)


# What a server does.


class Send(NamedTuple):
    """Write octets."""

    octets: bytes


class Wait(NamedTuple):
    """Do nothing for some seconds."""

    seconds: float


class End(NamedTuple):
    """End the transport: in order, or with a reset."""

    reset: bool


class Deafen(NamedTuple):
    """Read no more."""


Act: TypeAlias = "Send | Wait | End | Deafen"

MOST_WAITS: Final = 12
"""So many pauses a script has at most."""


@cache
def settings_of(heartbeat: float, scram: bool) -> Settings:
    """The honest part's settings. Few scripts have SCRAM, which costs more than all the rest."""
    mechanisms = ("SCRAM-SHA-256",) if scram else ("PLAIN",)
    return Settings(heartbeat=heartbeat, mechanisms=mechanisms, seed=b"the same again", auto_create=True)


class HostileServer:
    """The server of one connection, made by its seed.

    `version` is what the client has to speak, `attacks` the names of what was done to it; none is when it's `honest`.
    """

    def __init__(self, seed: int, *, honest: bool = False) -> None:
        self.choices = random.Random(seed)
        self.version: Version = VERSIONS[seed % len(VERSIONS)]
        self.attacks: list[str] = []
        self._hub = Hub(settings_of(self.choices.choice((0.0, 1.0, 60.0)), not self.choices.randrange(16)))
        self._client = self._hub.connect()
        self._left = self.choices.randrange(self.choices.choice((6, 24, 50)))
        """Units that are sent as they should be before the first attack."""
        self._again = self.choices.choice((0.0, 0.1, 0.5))
        """How probable an attack is at each unit after the first."""
        self._honest = honest
        self._sent: list[bytes] = []
        self._kept: list[bytes] = []
        self._silent = False
        self._dribbles = not self.choices.randrange(12)
        self._waits = 0

    def connected(self, now: float) -> list[Act]:
        if not (self._left or self._honest or self.choices.randrange(4)):
            return self._attack(b"")
        return self.received(b"", now)

    def received(self, octets: bytes, now: float) -> list[Act]:
        """What it does with a client's octets, or when time has passed."""
        client = self._client
        if self._silent:
            return []
        acts: list[Act] = []
        while True:
            taken = octets[: client.receive_budget]
            if taken:
                client.receive_data(taken, now)
                octets = octets[len(taken) :]
            if client.next_deadline is not None and client.next_deadline <= now:
                client.handle_timeout(now)
            for each in (client, *self._hub.take_dirty()):
                each.next_event()
            out = client.data_to_send(now)
            for unit in units(self.version, out):
                acts += self._say(unit)
            if self._silent:
                return acts
            if client.close_hint is not CloseHint.KEEP:
                self._silent = True
                return [*acts, End(False)]
            if not (out or (octets and taken)):
                return acts

    # Inside.

    def _say(self, unit: bytes) -> list[Act]:
        """An honest unit, or what is done instead."""
        if self._silent:
            return []
        if self._left > 0 or self._honest:
            self._left -= 1
        elif not self.attacks or self.choices.random() < self._again:
            return self._attack(unit)
        return self._send(unit)

    def _send(self, octets: bytes) -> list[Act]:
        self._sent.append(octets)
        if not self._dribbles or len(octets) > 200:
            return [Send(octets)]
        return [Send(octets[n : n + 1]) for n in range(len(octets))]

    def _attack(self, unit: bytes) -> list[Act]:
        attack = self.choices.choice(_ATTACKS)
        self.attacks.append(attack.__name__.strip("_"))
        made = attack(self, unit)
        if len(self.attacks) > 8:
            self._silent = True
        return [act for act in made if not isinstance(act, Wait) or self._may_wait()]

    def _may_wait(self) -> bool:
        self._waits += 1
        return self._waits <= MOST_WAITS

    # Attacks: a unit that was to be sent becomes acts.

    def _mutate(self, unit: bytes) -> list[Act]:
        return self._send(damaged(self.choices, unit))

    def _wrong_size(self, unit: bytes) -> list[Act]:
        at = {AMQP_1_0: 0, AMQP_0_10: 2}.get(self.version, 3)
        size = self.choices.choice((b"\0\0\0\0", b"\0\0\0\7", b"\xff\xff\xff\xff", b"\0\1\0\0", b"\x7f\xff"))
        return self._send(unit[:at] + size + unit[at + len(size) :])

    def _cut(self, unit: bytes) -> list[Act]:
        cut = self._send(unit[: self.choices.randrange(len(unit) + 1)])
        return cut + self.choices.choice((self._stop, self._end, self._replay))(unit)

    def _drop(self, unit: bytes) -> list[Act]:
        return []

    def _repeat(self, unit: bytes) -> list[Act]:
        return self._send(unit * self.choices.choice((2, 3, 300)))

    def _replay(self, unit: bytes) -> list[Act]:
        several = self._sent[-self.choices.randrange(1, 8) :] if self._sent else [unit]
        return self._send(b"".join(several) + unit)

    def _reorder(self, unit: bytes) -> list[Act]:
        self._kept.append(unit)
        self.choices.shuffle(self._kept)
        return self._send(self._kept.pop()) if len(self._kept) > self.choices.randrange(3) else []

    def _garbage(self, unit: bytes) -> list[Act]:
        return self._send(self.choices.randbytes(self.choices.choice((1, 8, 9, 100, 5000))) + unit)

    def _alien(self, unit: bytes) -> list[Act]:
        return self._send(self.choices.choice(ALIENS))

    def _made_up(self, unit: bytes) -> list[Act]:
        octets = b"".join([made_up(self.choices, self.version) for _ in range(self.choices.choice((1, 1, 3, 20)))])
        if not self.choices.randrange(4):
            octets = damaged(self.choices, octets)
        return self._send(octets + unit if self.choices.randrange(3) else unit + octets)

    def _close(self, unit: bytes) -> list[Act]:
        before = self._send(unit) if self.choices.randrange(2) else []
        after: list[Act] = self._end(unit) if not self.choices.randrange(4) else []
        return before + self._send(odd_close(self.choices, self.version)) + after

    def _huge(self, unit: bytes) -> list[Act]:
        return self._send(huge(self.choices, self.version) + unit)

    def _heartbeats(self, unit: bytes) -> list[Act]:
        self._silent = True
        beat: list[Act] = [Wait(0.9), Send(HEARTBEATS[self.version])]
        return beat * 10

    def _stop(self, unit: bytes) -> list[Act]:
        self._silent = True
        return []

    def _end(self, unit: bytes) -> list[Act]:
        self._silent = True
        return [End(self.choices.randrange(2) == 0)]

    def _pause(self, unit: bytes) -> list[Act]:
        return [Wait(self.choices.choice((0.01, 0.5, 3.0))), *self._send(unit)]

    def _ignore(self, unit: bytes) -> list[Act]:
        return [Deafen(), *self._send(unit)]

    def _challenge_without_end(self, unit: bytes) -> list[Act]:
        octets = CHALLENGES[self.version](self.choices.randbytes(self.choices.choice((0, 8, 900))))
        return self._send(octets * self.choices.choice((1, 3, 50)))


_ATTACKS: Final[tuple[Callable[[HostileServer, bytes], list[Act]], ...]] = (
    *([HostileServer._mutate] * 4),
    *([HostileServer._made_up] * 6),
    *([HostileServer._close] * 2),
    HostileServer._wrong_size,
    HostileServer._cut,
    HostileServer._drop,
    HostileServer._repeat,
    HostileServer._replay,
    HostileServer._reorder,
    HostileServer._garbage,
    HostileServer._alien,
    HostileServer._huge,
    HostileServer._heartbeats,
    HostileServer._stop,
    HostileServer._end,
    HostileServer._pause,
    HostileServer._ignore,
    HostileServer._challenge_without_end,
)


# Units.


def units(version: Version, octets: bytes) -> list[bytes]:
    """The headers and frames in a server's octets."""
    found: list[bytes] = []
    at = 0
    while at < len(octets):
        rest = octets[at : at + 8]
        if rest.startswith(b"AMQP"):
            size = 8
        elif version is AMQP_1_0:
            size = int.from_bytes(rest[:4])
        elif version is AMQP_0_10:
            size = int.from_bytes(rest[2:4])
        else:
            size = int.from_bytes(rest[3:7]) + 8
        found.append(octets[at : at + max(size, 1)])
        at += max(size, 1)
    return found


def damaged(choices: random.Random, octets: bytes) -> bytes:
    """Octets of which some are changed, cut out or put in."""
    made = bytearray(octets)
    for _ in range(choices.choice((1, 1, 2, 5))):
        at = choices.randrange(len(made) + 1)
        kind = choices.randrange(4)
        if kind == 0 and at < len(made):
            made[at] ^= 1 << choices.randrange(8)
        elif kind == 1 and at < len(made):
            made[at] = choices.choice((0, 1, 0x7F, 0x80, 0xFF))
        elif kind == 2:
            del made[at : at + choices.choice((1, 1, 4))]
        else:
            made[at:at] = choices.randbytes(choices.choice((1, 1, 4)))
    return bytes(made)


# Octets of attacks.

_NUMBERS: Final = (0, 0, 1, 1, 2, 3, 7, 60, 200, 255, 256, 404, 4096, 65_535, 65_536, (1 << 31) - 1, 1 << 31)
_LARGE: Final = ((1 << 32) - 1, 1 << 32, (1 << 63) - 1, (1 << 64) - 1)
_NAMES: Final = ("", "jobs", "jobs", "c", "s1", "amq.direct", "x" * 255, "\0", "\u202e\x1b[2J", "PLAIN", "en_US")
_OCTETS: Final = (b"", b"x", b"PLAIN AMQPLAIN", b"en_US", b"\xff\xfe", b"y" * 300, b"\0guest\0guest", b"\x10")
_CHANNELS: Final = (0, 0, 0, 1, 1, 1, 1, 2, 7, 65_535)
_MAPS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"product": "\x1b[31m", "capabilities": {"authentication_failure_close": True}},
    {"network-host": "127.0.0.1", "hostname": "elsewhere", "port": 1},
    {"n": 1, "t": True, "d": 1.5},
)
_CONDITIONS: Final = ("amqp:connection:redirect", "amqp:link:redirect", "amqp:not-found", "x", "", "amqp:link:stolen")
ALIENS: Final = (
    b"HTTP/1.1 400 Bad Request\r\nServer: x\r\n\r\n",
    b"\x15\x03\x01\x00\x02\x02\x46",
    b"AMQP\0\0\x09\x01",
    b"AMQP\1\1\0\x0a",
    b"AMQP\0\1\0\0",
    b"AMQP\3\1\0\0",
    b"AMQP\2\1\0\0",
    b"AMQP\1\1\x08\0",
    b"SSH-2.0-OpenSSH_9.0\r\n",
    b"\0" * 64,
    octets_classic.frame(octets_classic.METHOD, 0, b"\0\x0a\0\x0a"),
    octets_0_10.HEARTBEAT,
    octets_1_0.EMPTY,
)
HEARTBEATS: Final[dict[Version, bytes]] = {
    AMQP_0_8: octets_classic.frame(octets_classic.HEARTBEAT, 0),
    AMQP_0_9_1: octets_classic.frame(octets_classic.HEARTBEAT, 0),
    AMQP_0_10: octets_0_10.HEARTBEAT,
    AMQP_1_0: octets_1_0.EMPTY,
}


def _classic_challenge(octets: bytes) -> bytes:
    return octets_classic.frame(octets_classic.METHOD, 0, b"\0\x0a\0\x14" + Struct(">I").pack(len(octets)) + octets)


CHALLENGES: Final[dict[Version, Callable[[bytes], bytes]]] = {
    AMQP_0_8: _classic_challenge,
    AMQP_0_9_1: _classic_challenge,
    AMQP_0_10: lambda octets: octets_0_10.control(0x0103, octets_0_10.vbin32(octets)),
    AMQP_1_0: lambda octets: octets_1_0.sasl(performatives.SaslChallenge(octets)),
}


def _value(choices: random.Random, kind: str) -> Any:
    """A value of a field, of whatever type that is."""
    if kind in ("bit", "boolean", "bool"):
        return choices.randrange(2) == 0
    if kind in ("map", "table", "fields", "optional-table"):
        return choices.choice(_MAPS)
    if kind in ("shortstr", "str8", "str16", "string", "symbol", "*"):
        return choices.choice(_NAMES)
    if kind in ("longstr", "binary", "vbin16", "vbin32", "delivery-tag"):
        return choices.choice(_OCTETS)
    return choices.choice((*_NUMBERS, *_NUMBERS, *_LARGE, None, *_NAMES[:3], *_OCTETS[:2], *_MAPS[:2], True, False))


def made_up(choices: random.Random, version: Version) -> bytes:
    """A unit of a kind that there is, with values that there are, at any time."""
    for _ in range(20):
        try:
            return _MAKERS[version](choices)
        except (CodecError, TypeError, ValueError, AttributeError, OverflowError):
            continue  # The values don't fit their fields.
    return HEARTBEATS[version]


def _made_classic(version: Version) -> Callable[[random.Random], bytes]:
    dialect = default_dialect(version)
    kinds: list[type[Method]] = list(dialect.methods.values())

    def make(choices: random.Random) -> bytes:
        kind = choices.choice(kinds)
        values = {name: _table(_value(choices, of)) for name, of in kind.FIELDS}
        method = kind(**values)
        channel = 0 if method.CLASS_ID == 10 and choices.randrange(8) else choices.choice(_CHANNELS)
        octets = octets_classic.frame(octets_classic.METHOD, channel, method.encode(RABBIT))
        if method.HAS_CONTENT and choices.randrange(8):
            body = choices.choice(_OCTETS)
            octets += octets_classic.header(channel, method.CLASS_ID, len(body) + choices.choice((0, 0, 0, 1, 1 << 40)))
            octets += octets_classic.body(channel, body) if body or choices.randrange(2) else b""
        return octets

    return make


def _table(value: Any) -> Any:
    return Table(value) if isinstance(value, dict) else value  # pyright: ignore[reportUnknownArgumentType]


def _made_ten(choices: random.Random) -> bytes:
    kind: Any = choices.choice((*CONTROLS.values(), *COMMANDS.values()))
    record = kind(**{name: _value(choices, of) for name, of in kind.FIELDS})
    if not isinstance(record, Command):
        segments = [(0, record.encode_assembly())]
    else:
        segments = [(1, record.encode_segment(sync=choices.randrange(2) == 0))]
        if record.HAS_BODY and choices.randrange(8):
            segments += [(2, octets_0_10.routed()), (3, choices.choice(_OCTETS))]
    channel = 0 if kind.CODE >> 8 == 1 and choices.randrange(8) else choices.choice((0, 0, 0, 0, 1, 7))
    return encode_assembly(channel, segments, 65_535)


_FRAMES: Final[tuple[type[Any], ...]] = (
    *(performatives.Open, performatives.Begin, performatives.Attach, performatives.Flow),
    *(performatives.Transfer, performatives.Disposition, performatives.Detach, performatives.End),
    performatives.Close,
)
_SASL_FRAMES: Final[tuple[type[Any], ...]] = (
    *(performatives.SaslMechanisms, performatives.SaslChallenge, performatives.SaslOutcome, performatives.SaslInit),
)


def _made_one(choices: random.Random) -> bytes:
    kind = choices.choice(_FRAMES * 3 + _SASL_FRAMES)
    made: dict[str, Any] = {}
    for name, of in kind.FIELDS:
        if choices.randrange(3) or of in ("handle", "delivery-number"):
            made[name] = _terminus(choices, name, of)
    octets = kind(**made).encode()
    if kind in _SASL_FRAMES:
        return octets_1_0.octets_of(octets, kind=1)
    payload = choices.choice((b"", b"\0Su\xa0\1x", b"\0Sw\xa1\3abc", b"\xff"))
    if kind is not performatives.Transfer:
        payload = b""
    return octets_1_0.octets_of(octets, choices.choice((0, 0, 0, 0, 1, 7)), payload)


def _terminus(choices: random.Random, name: str, of: str) -> Any:
    if name == "source":
        return Source(choices.choice(_NAMES), dynamic=choices.randrange(8) == 0)
    if name == "target":
        return Target(choices.choice(_NAMES))
    if name == "error":
        return _error(choices)
    if name == "state":
        return choices.choice((None, Accepted(), Source("x")))
    if name in ("handle", "next_outgoing_id", "delivery_id", "first", "last", "role", "incoming_window"):
        return choices.choice((0, 0, 1, 2, (1 << 32) - 1)) if name != "role" else choices.randrange(2) == 0
    return _value(choices, of)


def _error(choices: random.Random) -> Error | None:
    condition = choices.choice(_CONDITIONS)
    return Error(Symbol(condition), choices.choice(_NAMES), choices.choice(_MAPS)) if condition else None


_MAKERS: Final[dict[Version, Callable[[random.Random], bytes]]] = {
    AMQP_0_8: _made_classic(AMQP_0_8),
    AMQP_0_9_1: _made_classic(AMQP_0_9_1),
    AMQP_0_10: _made_ten,
    AMQP_1_0: _made_one,
}


def odd_close(choices: random.Random, version: Version) -> bytes:
    """A close of a connection, or of something on it, with a code that may not exist, and any text."""
    code = choices.choice((0, 1, 200, 302, 311, 320, 402, 404, 501, 541, 65_535))
    text = choices.choice(_OCTETS)
    if version is AMQP_1_0:
        kind: Any = choices.choice((performatives.Close, performatives.End, performatives.Detach))
        if kind is performatives.Detach:
            made = kind(choices.randrange(2), choices.randrange(2) == 0, _error(choices))
        else:
            made = kind(_error(choices))
        return octets_1_0.octets_of(made, 0)
    if version is AMQP_0_10:
        words = choices.choice(_NAMES)
        return choices.choice(
            (
                octets_0_10.close(code, words),
                octets_0_10.detached(b"s", code & 0xFF),
                octets_0_10.detach(b"s"),
                # connection.redirect, to a host that there isn't, with hosts of the same kind.
                octets_0_10.control(0x0108, octets_0_10.str16("127.0.0.1:1"), octets_0_10.strings("amqp:tcp:h:1")),
                octets_0_10.exception(code, text=words),
            )
        )
    short = bytes((len(text[:255]),)) + text[:255]
    close = Struct(">HHH").pack(*choices.choice(((10, 50, code), (10, 60, code), (20, 40, code)))) + short + bytes(4)
    redirect = b"\0\x0a\0\x32\x0b127.0.0.1:1\0"
    number = 0 if close[1] == 10 else 1
    if version is AMQP_0_8 and not choices.randrange(3):
        return octets_classic.frame(octets_classic.METHOD, 0, redirect)
    return octets_classic.frame(octets_classic.METHOD, number, close)


def huge(choices: random.Random, version: Version) -> bytes:
    """A unit with a huge or deep table, of a size that limits allow, or one octet more than they do."""
    size = choices.choice((1000, 60_000, 131_000, Limits().message + 1))
    deep = choices.randrange(2) == 0
    if version is AMQP_1_0:
        value = b"\xd0\0\0\0\5\0\0\0\1" * (min(size, 60_000) // 9) if deep else b"\xb0" + Struct(">I").pack(size)
        opened = b"\0S\x10\xd0" + Struct(">II").pack(size, 10) + b"\xa1\1x" + value
        return octets_1_0.octets_of(opened + bytes(min(size, 200_000)))
    if version is AMQP_0_10:
        inner = b"\1a\xa8\0\0\0\5\0\0\0\1" * 5000 if deep else b"\1a\x05x" * 15_000
        count = Struct(">II").pack(4 + len(inner), 15_000)
        return octets_0_10.control(0x0101, count + inner)[:size]
    inner = b"\1aF\xff\xff\xff\xff" * 5000 if deep else b"\1at\1" * (min(size, 120_000) // 4)
    table = Struct(">I").pack(len(inner)) + inner
    return octets_classic.frame(octets_classic.METHOD, 0, b"\0\x0a\0\x0a\0\x09" + table + bytes(8))
