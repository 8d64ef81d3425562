"""Steps and judgements of cases of several versions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from amqp_sansio.amqp_0_9_1 import spec

from ..host import Host, MethodHost
from ..host_0_9_1 import ClassicHost
from ..verdicts import Seen, Verdict, judged

OTHER_HEADER: Final = b"AMQP\x07\x07\x00\x07"
"""The header of a version that nobody has."""
RETRY: Final = (
    "A client whose header is answered by another one ends the connection; it may come back with that version."
)
LOCALE: Final = "A client names one of the offered locales."
UNIQUE: Final = "A message-id is of one message alone."


def goes_no_further(host: Host) -> Seen:
    """Judge whether a client says nothing more behind its header, and ends the connection."""
    ended = host.ends()
    host.is_judged = False
    names = [each.event for each in host.seen[1:]]
    if names:
        return Seen(Verdict.BREAKS, f"it goes on: {', '.join(names)}")
    return judged(ended, "the connection is ended" if ended else "the connection stays open")


def answered_by_another_header(host: Host) -> Seen:
    """Answer a client's header by one of a version that it hasn't."""
    host.held.add("protocol-header")
    host.take("protocol-header")
    host.send(OTHER_HEADER, watched=False)
    return goes_no_further(host)


def login_of(host: MethodHost) -> Any:
    """Open a connection and end it; return the client's connection.start-ok."""
    unit = host.take("connection.start-ok")
    host.opened()
    host.end_in_order()
    return unit.content


def names_a_locale(host: MethodHost) -> Seen:
    """Judge the locale of a client: the server offers one."""
    locale = login_of(host).locale
    return judged(locale == "en_US", f"locale {locale!r}, offered en_US")


def agreed_channels(host: ClassicHost, offer: int) -> int:
    """Offer a channel-max, and end the connection when it is open; return the client's, 0 without a tune-ok."""
    host.tune = spec.ConnectionTune(offer, 131_072, 0)
    host.opened()
    host.end_in_order()
    return 0 if host.tuned is None else host.tuned.channel_max


def virtual_host_of(host: ClassicHost) -> str:
    """Return the virtual host that a client opens, when the connection has ended."""
    unit = host.take("connection.open")
    host.end_in_order()
    name: str = unit.content.virtual_host
    return name


def are_unique(ids: Sequence[object]) -> Seen:
    """Judge the ids of a client's messages, None for a message without one."""
    given = [each for each in ids if each is not None]
    if not given:
        return Seen(Verdict.INFORMATIONAL, "its messages have no message-id")
    text = f"{len(given)} ids of {len(ids)} messages, {len(set(given))} of them different"
    return judged(len(set(given)) == len(given), text)


__all__ = [
    "LOCALE",
    "OTHER_HEADER",
    "RETRY",
    "UNIQUE",
    "agreed_channels",
    "answered_by_another_header",
    "are_unique",
    "goes_no_further",
    "login_of",
    "names_a_locale",
    "virtual_host_of",
]
