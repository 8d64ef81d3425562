"""Cases for clients of 0-9-1: what they say while the connection is opened."""

from __future__ import annotations

from typing import Final

from amqp_sansio.amqp_0_9_1 import spec

from ..client_case import ClientSuite
from ..host_0_9_1 import ClassicHost
from ..programs import Order
from ..verdicts import Seen, Verdict, judged
from . import common

SUITE: Final[ClientSuite[ClassicHost]] = ClientSuite("0-9-1")

OPEN: Final = Order("open")


SUITE.case("wire/header-retry", "may", common.RETRY, "the end of the connection", OPEN, variant="another-header")(
    common.answered_by_another_header
)
SUITE.case("connection.start-ok/locale-offered", "note", common.LOCALE, "en_US", OPEN)(common.names_a_locale)


@SUITE.case("connection.start-ok/locale-notnull", "must", "A client names a locale.", "a locale", OPEN)
def _locale(host: ClassicHost) -> Seen:
    locale = common.login_of(host).locale
    return judged(locale, f"locale {locale!r}")


@SUITE.case(
    "connection.start-ok/response-notnull", "must", "A client's first answer of SASL has octets.", "a response", OPEN
)
def _response(host: ClassicHost) -> Seen:
    login = common.login_of(host)
    # The response has the password: its size is enough.
    return judged(login.response, f"{len(login.response)} octets by {login.mechanism!r}")


@SUITE.case(
    "connection.secure-ok/response-notnull",
    "must",
    "A client that answers a challenge does so with octets.",
    "connection.secure-ok with octets",
    OPEN,
    variant="a-challenge",
)
def _challenge(host: ClassicHost) -> Seen:
    host.held.add("connection.start-ok")
    host.take("connection.start-ok")
    host.is_judged = False
    host.say(0, host.RECORDS.ConnectionSecure(b"probe"))
    unit = host.wait("connection.secure-ok", "connection.close")
    if unit is not None and unit.event == "connection.secure-ok":
        return judged(unit.content.response, f"connection.secure-ok with {len(unit.content.response)} octets")
    # The mechanisms that every client knows have no second step, and the rule says nothing of such a challenge.
    ended = unit is not None or host.has_ended
    text = "it ends the connection" if ended else f"it doesn't answer; {host.described()}"
    return Seen(Verdict.INFORMATIONAL, text)


@SUITE.case(
    "connection.tune-ok/channel-max-notnull",
    "must",
    "A client names a number of channels, also where the server has no limit.",
    "a channel-max above 0",
    OPEN,
    variant="offer-of-0",
)
def _channels(host: ClassicHost) -> Seen:
    number = common.agreed_channels(host, 0)
    if host.tuned is not None and number == 0:
        # The field is never null, says an assertion alone; and 0 is what an offer without a limit is.
        return Seen(Verdict.NON_STRICT, "channel-max 0, as it was offered")
    return judged(number > 0, f"channel-max {number}")


@SUITE.case(
    "connection.tune-ok/lower",
    "may",
    "A client may lower what the server proposes; it raises nothing.",
    "channel-max 1 to 100, frame-max 4,096 to 65,536",
    OPEN,
    variant="offer-of-100-and-65536",
)
def _lower(host: ClassicHost) -> Seen:
    host.tune = spec.ConnectionTune(100, 65_536, 60)
    host.opened()
    host.end_in_order()
    if host.tuned is None:
        return Seen(Verdict.BREAKS, "no connection.tune-ok")
    fine = 1 <= host.tuned.channel_max <= 100 and 4096 <= host.tuned.frame_max <= 65_536
    text = f"channel-max {host.tuned.channel_max}, frame-max {host.tuned.frame_max}, heartbeat {host.tuned.heartbeat}"
    return judged(fine, text)


@SUITE.case("domain/path.notnull", "must", "A client names the virtual host.", "a virtual host", OPEN)
def _virtual_host(host: ClassicHost) -> Seen:
    name = common.virtual_host_of(host)
    return judged(name, f"virtual host {name!r}")


@SUITE.case(
    "wire/heartbeat-start-client",
    "should",
    "A client sends heartbeats from connection.tune on, also while it waits for the connection to be open.",
    "octets at least every 2 seconds",
    OPEN,
    variant="slow-open",
)
def _early_heartbeats(host: ClassicHost) -> Seen:
    host.tune = spec.ConnectionTune(2047, 131_072, 1)
    host.held.add("connection.open")
    unit = host.take("connection.open")
    interval = 0 if host.tuned is None else host.tuned.heartbeat
    if interval:
        host.gaps.clear()
        host.beat_until(lambda: False, 2.0 * interval + 1.5)
    if host.has_ended:
        host.is_judged = False
        return Seen(Verdict.BREAKS, "it drops the connection at a heartbeat of the server before connection.open-ok")
    longest = max([*host.gaps, host.transport.now() - host.last_at])
    host.held.clear()
    host.answer(unit)
    host.hears("opened")
    host.end_in_order()
    if not interval:
        return Seen(Verdict.INFORMATIONAL, "the client agrees on no heartbeats")
    return judged(longest <= 2.0 * interval, f"the longest silence is {longest:.1f} s")
