"""Rules for the sides' properties and agreements before a connection is open (class 1)."""

from __future__ import annotations

from ..._checking import TYPE_CHECKING
from ..codec.frames import MIN_MAX_FRAME_SIZE
from ..codec.violation import SILENT, Violation

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ..codec.records import ConnectionStartOk, ConnectionTune, ConnectionTuneOk


def check_mechanism(start_ok: ConnectionStartOk, offered: Collection[object]) -> Violation | None:
    """The client chooses one of the mechanisms that the server offers."""
    name = start_ok.mechanism or ""
    if name in offered:
        return None
    return _broken("connection.start-ok/validity", f"mechanism {name!r} was not offered ({_listed(offered)})")


def check_locale(start_ok: ConnectionStartOk, offered: Collection[object]) -> Violation | None:
    """It chooses one of the locales, too; a server that gets another one speaks its own."""
    locale = start_ok.locale
    if not locale or locale in offered:
        return None
    text = f"the locale {locale} was not offered ({_listed(offered)})"
    return _broken("connection.start-ok/locale-offered", text, harmless=True)


def check_tune(tune: ConnectionTune) -> Violation | None:
    """The server offers frames that are large enough."""
    size = tune.max_frame_size
    if size is None or size >= MIN_MAX_FRAME_SIZE:
        return None
    return _broken("connection.tune/minimum", f"the server offers max-frame-size {size}, below {MIN_MAX_FRAME_SIZE}")


def check_heartbeats(tune: ConnectionTune) -> Violation | None:
    """The server's heartbeats make a range; a client that gets none takes what there is."""
    least, longest = tune.heartbeat_min, tune.heartbeat_max
    if longest is None:
        return None
    if least is None:
        return _broken("connection.tune/no-heartbeat-min", f"heartbeat-max {longest} without a heartbeat-min")
    if longest < least:
        return _broken("connection.tune/permitted-range", f"heartbeats between {least} and {longest} seconds")
    return None


def check_tune_ok(tune_ok: ConnectionTuneOk, offered: ConnectionTune) -> Iterator[Violation]:
    """The client asks for no more than the server offers; 0 channels and octets stand for no limit."""
    channels, size, beat = tune_ok.channel_max, tune_ok.max_frame_size, tune_ok.heartbeat
    most = offered.channel_max
    if channels is not None and most and channels > most:
        yield _broken("connection.tune-ok/channel-upper-limit", f"channel-max {channels}, offered was {most}")
    most = offered.max_frame_size
    if size is not None and most and size > most:
        yield _broken("connection.tune-ok/frame-upper-limit", f"max-frame-size {size}, offered was {most}")
    if size is not None and size < MIN_MAX_FRAME_SIZE:
        yield _broken("connection.tune-ok/minimum", f"max-frame-size {size}, below {MIN_MAX_FRAME_SIZE}")
    if not beat:
        return
    least, longest = offered.heartbeat_min, offered.heartbeat_max
    if least is None:
        yield _broken("connection.tune-ok/no-heartbeat-min", f"heartbeat {beat}, none was offered")
    elif beat < least or (longest is not None and beat > longest):
        yield _broken("connection.tune-ok/heartbeat-range", f"heartbeat {beat}, offered were {least} to {longest}")


def check_redirect(insists: bool) -> Violation | None:
    """A client that insists on the server isn't sent elsewhere."""
    return _broken("connection.open/insist", "connection.redirect to a client that insists") if insists else None


def _broken(rule: str, text: str, *, harmless: bool = False) -> Violation:
    return Violation(SILENT, text, rule=rule, harmless=harmless)


def _listed(offered: Collection[object]) -> str:
    return " ".join(map(str, offered))
