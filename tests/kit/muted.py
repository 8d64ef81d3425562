"""A server that opens and closes what it is asked to, and does nothing else: a hub whose other frames are dropped.

Neither does it refuse anything: its errors are dropped, and it never hangs up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from amqp_sansio import amqp_0_9_1, amqp_0_10, amqp_1_0
from amqp_sansio.broker import Settings
from amqp_sansio_probe import Transport
from amqp_sansio_probe.talk import method_frame
from amqp_sansio_probe.talk_0_10 import frame as frame_0_10
from amqp_sansio_probe.talk_1_0 import frame as frame_1_0
from tests.kit.probing import HubServer

Cut = Callable[[bytes], tuple[int, bool]]
"""The size of the first frame in octets (0: it isn't whole), and whether it is kept."""


def cut_classic(octets: bytes) -> tuple[int, bool]:
    """Keeps the methods of the classes connection, channel and access that open, and answer a close."""
    if len(octets) < 7:
        return 0, False
    size = 8 + int.from_bytes(octets[3:7])
    method = (int.from_bytes(octets[7:9]), int.from_bytes(octets[9:11]))
    # connection.close is (10, 60) in 0-8, where 0-9-1 has (10, 50), and its answer one more.
    kept = method in {(10, 10), (10, 30), (10, 41), (10, 51), (10, 61), (20, 11), (20, 41), (30, 11)}
    return (size, octets[0] == 1 and kept) if len(octets) >= size else (0, False)


def cut_0_10(octets: bytes) -> tuple[int, bool]:
    """Keeps the controls that open the connection, attach a session, and answer the end of either."""
    if len(octets) < 12:
        return 0, False
    size = int.from_bytes(octets[2:4])
    code = int.from_bytes(octets[12:14])
    wanted = (0x0101, 0x0105, 0x0108, 0x010C, 0x0202)
    # session.detached has its code, 0 for one that was asked for, in its last octet.
    kept = octets[1] == 0 and (code in wanted or (code == 0x0204 and octets[size - 1] == 0))
    return (size, kept) if len(octets) >= size else (0, False)


def cut_1_0(octets: bytes) -> tuple[int, bool]:
    """Keeps what logs in, and open, begin, end and close."""
    size = int.from_bytes(octets[:4])
    # An end or close without an error has an empty list, or one of a null.
    quiet = size <= 15
    kept = len(octets) > 10 and (octets[5] == 1 or octets[10] in (0x10, 0x11) or (octets[10] in (0x17, 0x18) and quiet))
    return (size, kept) if len(octets) >= size else (0, False)


CUTS: Final[Mapping[str, Cut]] = {"0-8": cut_classic, "0-9-1": cut_classic, "0-10": cut_0_10, "1.0": cut_1_0}


def end_classic(octets: bytes) -> bytes:
    """channel.close on the channel of a frame."""
    close = amqp_0_9_1.spec.ChannelClose(404, "no", 0, 0)
    return method_frame(int.from_bytes(octets[1:3]), close)


def end_0_10(octets: bytes) -> bytes:
    """session.detached on the channel of a frame."""
    return frame_0_10(amqp_0_10.spec.SessionDetached(b"", 3).encode_assembly(), channel=int.from_bytes(octets[6:8]))


def end_1_0(octets: bytes) -> bytes:
    """End with an error on the channel of a frame."""
    return frame_1_0(amqp_1_0.spec.End(amqp_1_0.Error("amqp:internal-error")), int.from_bytes(octets[6:8]))


ENDS: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "0-8": end_classic,
    "0-9-1": end_classic,
    "0-10": end_0_10,
    "1.0": end_1_0,
}
"""What ends the channel or session of a frame."""


class Muted:
    """A connection to a hub, of which the client gets only what `cut` keeps, and `instead` of what it doesn't.

    The first frames that it doesn't keep come all the same, `after` of them.
    """

    def __init__(
        self, whole: Transport, cut: Cut, instead: Callable[[bytes], bytes] = lambda octets: b"", after: int = 0
    ) -> None:
        self._whole = whole
        self._cut = cut
        self._instead = instead
        self._left = after
        self._octets = b""
        self.local = whole.local
        self.remote = whole.remote

    def send(self, octets: bytes) -> None:
        self._whole.send(octets)

    def receive(self, seconds: float) -> bytes | None:
        until = self.now() + seconds
        while True:
            octets = self._whole.receive(max(until - self.now(), 0.0))
            if not octets:
                return None
            self._octets += octets
            kept = b""
            while len(self._octets) >= 8:
                size, is_kept = (8, True) if self._octets.startswith(b"AMQP") else self._cut(self._octets)
                if not size:
                    break
                whole = self._octets[:size]
                kept += whole if is_kept or self._left else self._instead(whole)
                self._left -= int(self._left > 0 and not is_kept)
                self._octets = self._octets[size:]
            if kept:
                return kept

    def now(self) -> float:
        return self._whole.now()

    def wall(self) -> int:
        return self._whole.wall()

    @property
    def how_it_ended(self) -> str:
        return self._whole.how_it_ended

    def close(self) -> None:
        self._whole.close()


def moody(version: str, after: int) -> Callable[[], Transport]:
    """Opens connections to a hub that ends the channel or session instead of each answer, `after` some."""
    server = HubServer(Settings())
    return lambda: Muted(server(), CUTS[version], ENDS[version], after)


def muted(version: str) -> Callable[[], Transport]:
    """Opens connections to a hub that is mute in this version."""
    server = HubServer(Settings())
    return lambda: Muted(server(), CUTS[version])
