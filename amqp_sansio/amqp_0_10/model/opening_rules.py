"""Rules for the sides' properties and agreements before a connection is open (class 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..codec.frames import MIN_MAX_FRAME_SIZE
from ..codec.violation import SILENT, Violation

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ..codec.records import ConnectionStartOk, ConnectionTune, ConnectionTuneOk


def check_mechanism(start_ok: ConnectionStartOk, offered: Collection[Any]) -> Violation | None:
    """The client chooses one of the mechanisms that the server offers."""
    name = start_ok.mechanism or ""
    if name in offered:
        return None
    return Violation(
        SILENT,
        f"mechanism {name!r} was not offered ({' '.join(map(str, offered))})",
        rule="connection.start-ok/validity",
    )


def check_locale(start_ok: ConnectionStartOk, offered: Collection[Any]) -> Violation | None:
    """It chooses one of the locales, too; a server that gets another one speaks its own."""
    locale = start_ok.locale
    if not locale or locale in offered:
        return None
    return Violation(
        SILENT,
        f"the locale {locale} was not offered ({' '.join(map(str, offered))})",
        rule="connection.start-ok/locale-offered",
        harmless=True,
    )


def check_tune(tune: ConnectionTune) -> Violation | None:
    """The server offers frames that are large enough."""
    size = tune.max_frame_size
    if size is None or size >= MIN_MAX_FRAME_SIZE:
        return None
    return Violation(
        SILENT,
        f"the server offers max-frame-size {size}, below {MIN_MAX_FRAME_SIZE}",
        rule="connection.tune/minimum",
    )


def check_heartbeats(tune: ConnectionTune) -> Violation | None:
    """The server's heartbeats make a range; a client that gets none takes what there is."""
    least, longest = tune.heartbeat_min, tune.heartbeat_max
    if longest is None:
        return None
    if least is None:
        return Violation(
            SILENT,
            f"heartbeat-max {longest} without a heartbeat-min",
            rule="connection.tune/no-heartbeat-min",
        )
    if longest < least:
        return Violation(
            SILENT,
            f"heartbeats between {least} and {longest} seconds",
            rule="connection.tune/permitted-range",
        )
    return None


def check_tune_ok(tune_ok: ConnectionTuneOk, offered: ConnectionTune) -> Iterator[Violation]:
    """The client asks for no more than the server offers; 0 channels and octets stand for no limit."""
    channels, size, beat = tune_ok.channel_max, tune_ok.max_frame_size, tune_ok.heartbeat
    most = offered.channel_max
    if channels is not None and most and channels > most:
        text, rule = f"channel-max {channels}, offered was {most}", "channel-upper-limit"
        yield Violation(SILENT, text, rule=f"connection.tune-ok/{rule}")
    most = offered.max_frame_size
    if size is not None and most and size > most:
        text, rule = f"max-frame-size {size}, offered was {most}", "frame-upper-limit"
        yield Violation(SILENT, text, rule=f"connection.tune-ok/{rule}")
    if size is not None and size < MIN_MAX_FRAME_SIZE:
        text = f"max-frame-size {size}, below {MIN_MAX_FRAME_SIZE}"
        yield Violation(SILENT, text, rule="connection.tune-ok/minimum")
    if not beat:
        return
    least, longest = offered.heartbeat_min, offered.heartbeat_max
    if least is None:
        text, rule = f"heartbeat {beat}, none was offered", "no-heartbeat-min"
        yield Violation(SILENT, text, rule=f"connection.tune-ok/{rule}")
    elif beat < least or (longest is not None and beat > longest):
        text, rule = f"heartbeat {beat}, offered were {least} to {longest}", "heartbeat-range"
        yield Violation(SILENT, text, rule=f"connection.tune-ok/{rule}")


def check_redirect(insists: bool) -> Violation | None:
    """A client that insists on the server isn't sent elsewhere."""
    if not insists:
        return None
    return Violation(SILENT, "connection.redirect to a client that insists", rule="connection.open/insist")
