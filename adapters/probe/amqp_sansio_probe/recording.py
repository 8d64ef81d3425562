"""The octets of a case as a pcapng file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal

from amqp_sansio.capture import PcapngWriter

from .running import Connection, Result

_UNFIT: Final = re.compile(r"[^A-Za-z0-9._-]")
"""What a file's name can't have on every system, or a folder would be."""


def file_name(result: Result) -> str:
    """Return the name of the recording of a case."""
    return f"{_UNFIT.sub('_', result.case.name)}.pcapng"


def recording_of(connections: Sequence[Connection]) -> bytes:
    """Return the pcapng file of the connections of a case."""
    writer = PcapngWriter(application="amqp-sansio probe")
    parts = [writer.header()]
    for each in connections:
        if not each.pieces:
            continue
        number, octets = writer.open(each.local, each.remote, each.pieces[0].at_ns)
        parts.append(octets)
        for piece in each.pieces:
            parts.append(writer.data(number, piece.sender, piece.octets, piece.at_ns))
        other: Literal["client", "server"] = "server" if each.peer == "client" else "client"
        by = each.peer if each.how_it_ended else other
        parts.append(writer.close(number, by, each.pieces[-1].at_ns, reset=each.how_it_ended == "reset"))
    return b"".join(parts)
