"""The rules of the opening that a method alone, or with the one it answers, can break (0-9-1 section 1.4)."""

from __future__ import annotations

from collections.abc import Mapping

from ..._checking import TYPE_CHECKING
from ...errors import CodecError
from ...versions import AMQP_0_8
from ..codec.dialect import get_dialect
from ..codec.table import Table
from ..codec.violation import SILENT, Violation
from .connection import CHANNEL_MAX, MIN_FRAME_MAX

if TYPE_CHECKING:
    from ..codec.dialect import Dialect
    from ..codec.methods import ConnectionStart, ConnectionStartOk, ConnectionTune, ConnectionTuneOk
    from ..codec.table import FieldValue


def dialect_of(start: ConnectionStart, asked: Dialect) -> Dialect:
    """The dialect that a server speaks, by the version and product in its connection.start."""
    version = "0-8" if start.version_major == 8 else "0-9-1"
    if (start.version_major, start.version_minor) not in ((8, 0), (0, 9), (0, 91)):
        version = "0-8" if asked.version is AMQP_0_8 else "0-9-1"
    return get_dialect(f"{version}-qpid" if is_of_qpid(start.server_properties) else f"{version}-rabbit")


def is_of_qpid(properties: Mapping[str, FieldValue]) -> bool:
    """Whether the properties of a server or client say that it is one of Qpid's.

    Damaged ones don't; their damage is reported where the method is read.
    """
    try:
        # A table's entries are read anew and dropped: asked as a mapping, it would keep them as long as it lives.
        pairs = (
            [(name, value) for name, _, value in properties.entries()]
            if isinstance(properties, Table)
            else properties.items()
        )
        return any(
            [name.startswith("qpid.") or (name == "product" and "qpid" in str(value).lower()) for name, value in pairs]
        )
    except CodecError:
        return False


def check_start_ok(start: ConnectionStart, start_ok: ConnectionStartOk) -> list[Violation]:
    """List the rules that connection.start-ok breaks, given the start that it answers."""
    if start_ok.mechanism.encode("utf-8", "surrogateescape") in start.mechanisms.split():
        return []
    offered = start.mechanisms.decode("utf-8", "backslashreplace")
    text = f"mechanism {start_ok.mechanism!r} was not offered ({offered})"
    return [Violation(SILENT, text, rule="connection.start-ok/mechanism-not-offered")]


def check_tune(tune: ConnectionTune) -> list[Violation]:
    """List the rules that connection.tune breaks."""
    if 0 < tune.frame_max < MIN_FRAME_MAX:
        text = f"the server offers frame-max {tune.frame_max}, below {MIN_FRAME_MAX}"
        return [Violation(SILENT, text, rule="connection.tune/frame-min")]
    return []


def check_tune_ok(tune: ConnectionTune, tune_ok: ConnectionTuneOk) -> list[Violation]:
    """List the rules that connection.tune-ok breaks, given the tune that it answers; 0 is no limit."""
    broken: list[Violation] = []
    channel_max = tune.channel_max or CHANNEL_MAX
    if (tune_ok.channel_max or CHANNEL_MAX) > channel_max:
        text = f"channel-max {tune_ok.channel_max or 'without limit'}, offered was {channel_max}"
        broken.append(Violation(SILENT, text, rule="connection.tune-ok/channel-max-limit"))
    if tune.frame_max and not 0 < tune_ok.frame_max <= tune.frame_max:
        text = f"frame-max {tune_ok.frame_max or 'without limit'}, offered was {tune.frame_max}"
        broken.append(Violation(SILENT, text, rule="connection.tune-ok/frame-max-limit"))
    if 0 < tune_ok.frame_max < MIN_FRAME_MAX:
        text = f"frame-max {tune_ok.frame_max}, below {MIN_FRAME_MAX}"
        broken.append(Violation(SILENT, text, rule="connection.tune-ok/frame-min"))
    return broken
