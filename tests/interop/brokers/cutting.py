"""A relay between clients and a broker that cuts connections after seeded random numbers of octets."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress
from random import Random
from types import TracebackType

from tests.interop.brokers.process import HOST

_RESET = struct.pack("ii", 1, 0)


class CuttingRelay:
    """Relays to `port` of this machine; each of the first `cuts` connections is reset after at most `octets`.

    The octets count in both directions; what is in the relay by then is lost.
    """

    def __init__(self, port: int, seed: int, cuts: int, octets: int) -> None:
        self._target = port
        self._random = Random(seed)
        self._octets = octets
        self.cuts_left = cuts
        self._server = socket.create_server((HOST, 0))
        self.port: int = self._server.getsockname()[1]
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def __enter__(self) -> CuttingRelay:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for pair in self._pairs:
            _reset(pair)
        for thread in self._threads:
            thread.join(10)

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._server.accept()
            except OSError:
                return
            try:
                far = socket.create_connection((HOST, self._target))
            except OSError:
                _reset((near,))
                continue
            self._pairs.append((near, far))
            left = [self._random.randrange(1, self._octets)] if self.cuts_left > 0 else [1 << 62]
            self.cuts_left -= 1
            for source, sink in ((near, far), (far, near)):
                thread = threading.Thread(target=self._relay, args=(source, sink, left), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _relay(self, source: socket.socket, sink: socket.socket, left: list[int]) -> None:
        with suppress(OSError):
            while octets := source.recv(65_536):
                sink.sendall(octets[: max(0, left[0])])
                left[0] -= len(octets)
                if left[0] <= 0:
                    break
        _reset((source, sink))


def _reset(sockets: tuple[socket.socket, ...]) -> None:
    for each in sockets:
        with suppress(OSError):
            each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()
