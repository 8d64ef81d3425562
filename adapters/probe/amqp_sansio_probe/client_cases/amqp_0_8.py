"""Cases for clients of 0-8: those of 0-9-1 whose rules 0-8 has too, by the names that it has for them, and its own.

The methods that the cases share have the same octets in both versions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from amqp_sansio import Observed
from amqp_sansio.amqp_0_8 import spec

from ..client_case import ClientCase, ClientSuite
from ..host_0_9_1 import TICKET, ClassicHost
from ..programs import Order
from ..verdicts import Seen, Verdict, judged
from . import amqp_0_9_1, common, handshake_0_9_1

SUITE: Final[ClientSuite[ClassicHost]] = ClientSuite("0-8")

OPEN: Final = Order("open")
PUBLISH: Final = Order("publish 1")
CONSUME: Final = Order("consume 1 accept")

_SHARED: Final = (
    ("wire/header-client-first", "must", "wire/header-client-first", ""),
    ("connection.start/client-cannot-do-version", "must", "connection.start/client-support", "version-0-1"),
    ("connection.start-ok/mechanism-notnull", "must", "connection.start-ok/mechanism-notnull", ""),
    ("connection.start-ok/best-mechanism", "should", "connection.start-ok/best-mechanism", "none-is-known"),
    ("domain/peer-properties.fields", "should", "connection.start-ok/client-properties", ""),
    ("connection.tune-ok/channel-max<=tune", "must", "connection.tune-ok/channel-max-le", "offer-of-5"),
    ("wire/frame-oversize-send", "must", "wire/frame-oversize-send", "body-of-20000-octets"),
    ("wire/content-join", "must", "wire/content-join", "100-frames"),
    ("wire/content-body-size", "note", "wire/content-body-size", "empty"),
    ("wire/content-body-size", "note", "wire/content-body-size", "longer-than-announced"),
    ("basic.get-ok/must-ack", "note", "basic.get-ok/must-ack", "tags"),
    ("domain/delivery-tag.channel-scope", "must", "domain/delivery-tag.channel-scope", ""),
    ("basic.get-ok/must-ack", "note", "basic.get-ok/must-ack", "rejected"),
    ("domain/redelivered.signal", "should", "domain/redelivered.signal", "told"),
    ("basic.cancel/in-flight", "note", "basic.cancel/in-flight", ""),
    ("method/sync-wait", "should", "method/sync-reply", "server-named-queue"),
    ("connection.close/handshake", "note", "connection.close/answer", ""),
    ("connection.close/handshake", "note", "connection.close/answer", "in-the-middle-of-a-body"),
    ("connection/error-scope", "note", "connection/error-scope", "told"),
    ("connection.close/discard", "must", "connection.close/discard", ""),
    ("channel.close/discard", "must", "method/sync-reply", "channel.close-while-publishing"),
    ("constant/soft-vs-hard", "note", "constant/soft-vs-hard", "told"),
    ("wire/frame-end-check", "must", "wire/frame-end-check", "connection.start"),
    ("wire/frame-type-unknown", "must", "wire/frame-type-unknown", ""),
    ("wire/content-incomplete", "must", "wire/content-incomplete", "method-for-header"),
    ("security/length-check", "note", "security/length-check", "frame-of-2-GiB-before-tune"),
    ("wire/header-retry", "may", "wire/header-retry", "another-header"),
    ("connection.start-ok/locale-offered", "note", "connection.start-ok/locale-offered", ""),
    ("connection.start-ok/locale-notnull", "must", "connection.start-ok/locale-notnull", ""),
    ("connection.start-ok/response-notnull", "must", "connection.start-ok/response-notnull", ""),
    ("connection.secure-ok/response-notnull", "must", "connection.secure-ok/response-notnull", "a-challenge"),
    ("connection.tune-ok/channel-max-notnull", "must", "connection.tune-ok/channel-max-notnull", "offer-of-0"),
    ("connection.tune-ok/lower", "may", "connection.tune-ok/lower", "offer-of-100-and-65536"),
    ("domain/path.notnull", "must", "domain/path.notnull", ""),
)
"""Rules of 0-8 with their levels, and the rules and variants of the cases of 0-9-1."""


def _add_shared() -> None:
    others = (*amqp_0_9_1.SUITE.cases, *handshake_0_9_1.SUITE.cases)
    known: dict[tuple[str, str], ClientCase] = {(each.rule, each.variant): each for each in others}
    for rule, level, theirs, variant in _SHARED:
        case = known[f"0-9-1/{theirs}", variant]
        expected = case.expected.replace("AMQP 0 0 9 1", "AMQP 1 1 8 0, or py-amqplib's 1 1 9 1")
        SUITE.case(rule, level, case.clause, expected, case.order, variant=variant)(case.run)


_add_shared()


@SUITE.case(
    "basic.publish/mandatory",
    "should",
    "A mandatory message that can't be routed is returned; the program learns which one.",
    "unknown, returned, unknown: 0-8 has no confirms",
    Order("publish 3"),
    variant="told",
)
def _returned(host: ClassicHost) -> Seen:
    asked = ("basic.qos", "tx.select", "channel.close", "connection.close")
    host.held |= {"basic.publish", *asked}
    for number in (1, 2, 3):
        unit = host.wait("basic.publish")
        if unit is None:
            break
        if number == 2:
            about = spec.BasicReturn(312, "NO_ROUTE", unit.content.exchange, unit.content.routing_key)
            host.send(host.content(unit.channel, about, unit.body or b"", unit.properties))
    # A program may ask something, and know by the answer that no more comes back.
    unit = host.take(*asked)
    host.held.clear()
    host.answer(unit)
    return host.judge_outcomes("unknown", "returned", "unknown")


_TICKETS: Final = "A client that asked for access uses the ticket that it got, and no other."


@SUITE.case("basic.publish/ticket", "must", _TICKETS, f"the ticket {TICKET}", PUBLISH)
def _published(host: ClassicHost) -> Seen:
    return _uses_ticket(host, host.take("basic.publish").content.ticket)


@SUITE.case("basic.consume/ticket", "must", _TICKETS, f"the ticket {TICKET}", CONSUME)
def _consumed(host: ClassicHost) -> Seen:
    unit = host.take("basic.consume")
    host.deliver((unit.channel, unit.content.consumer_tag or "probe-1"), b"m")
    return _uses_ticket(host, unit.content.ticket)


def _uses_ticket(host: ClassicHost, ticket: int) -> Seen:
    return _judge_access(host, [_Ticket("", 0, ticket, is_asked=_asked(host))], lambda one: one.number == host.ticket)


class _Ticket(NamedTuple):
    """A ticket in a method of the client; `is_asked` says whether access was asked for before."""

    event: str
    channel: int
    number: int
    is_asked: bool


def _asked(host: ClassicHost, channel: int | None = None, before: Observed | None = None) -> bool:
    """Return whether the client asked for access, on a channel and before one of its units if these are given."""
    for each in host.seen:
        if each is before:
            return False
        if each.event == "access.request" and channel in (None, each.channel):
            return True
    return False


def _tickets(host: ClassicHost) -> list[_Ticket]:
    """Return the tickets in the client's methods up to its message."""
    host.take("basic.publish")
    methods = [each for each in host.seen if hasattr(each.content, "ticket")]
    return [
        _Ticket(each.event, each.channel, each.content.ticket, is_asked=_asked(host, each.channel, each))
        for each in methods
    ]


def _judge_access(host: ClassicHost, tickets: Sequence[_Ticket], keeps: Callable[[_Ticket], bool]) -> Seen:
    asked = _asked(host)
    if not asked and not any(each.number for each in tickets):
        return Seen(Verdict.INFORMATIONAL, "it asks for no access, and has no ticket")
    wrong = [each for each in tickets if not keeps(each)] if asked else tickets
    shown = wrong or tickets
    text = ", ".join(dict.fromkeys([f"{each.event} ticket {each.number}".strip() for each in shown]))
    return judged(asked and not wrong, text if asked else f"{text}, which nobody gave")


@SUITE.case(
    "domain/access-ticket.nonzero",
    "must",
    "A client that asked for access sends no ticket of 0.",
    "other tickets than 0",
    PUBLISH,
)
def _nonzero(host: ClassicHost) -> Seen:
    return _judge_access(host, _tickets(host), lambda one: one.number != 0)


@SUITE.case(
    "access.request-ok/channel-scope",
    "must",
    "A ticket is valid on the channel that it was given on.",
    "tickets on channels that asked for access",
    PUBLISH,
)
def _channel_of_tickets(host: ClassicHost) -> Seen:
    return _judge_access(host, _tickets(host), lambda one: one.is_asked or not one.number)


@SUITE.case(
    "access/before-work",
    "note",
    "A client that asks for access does so before it works on the channel.",
    "access.request before the first method with a ticket",
    PUBLISH,
)
def _access_first(host: ClassicHost) -> Seen:
    return _judge_access(host, _tickets(host), lambda one: one.is_asked)


@SUITE.case(
    "access/opaque", "must", "A client takes any ticket.", "the ticket 65,535", PUBLISH, variant="ticket-of-65535"
)
def _any_ticket(host: ClassicHost) -> Seen:
    host.ticket = 65_535
    return _judge_access(host, _tickets(host), lambda one: one.number == host.ticket)


# Names and order.


_PARTS: Final = re.compile(r"(/[A-Za-z0-9._+!=:-]*)+")
_VIRTUAL_HOST: Final = re.compile(r"[a-zA-Z0-9/-_]+")
_QUEUE: Final = re.compile(r"[a-zA-Z0-9-_.:]*")


@SUITE.case(
    "domain/path.syntax",
    "must",
    "A path begins with a slash; its parts have letters, digits and some marks.",
    "a virtual host like that",
    OPEN,
)
def _path(host: ClassicHost) -> Seen:
    return _virtual_host_is(host, _PARTS)


@SUITE.case(
    "connection.open/vhost-regexp",
    "must",
    "The name of a virtual host has the characters that its pattern names.",
    "a virtual host like that",
    OPEN,
)
def _pattern(host: ClassicHost) -> Seen:
    return _virtual_host_is(host, _VIRTUAL_HOST)


def _virtual_host_is(host: ClassicHost, pattern: re.Pattern[str]) -> Seen:
    name = common.virtual_host_of(host)
    return judged(pattern.fullmatch(name), f"virtual host {name!r}")


@SUITE.case(
    "queue.declare/name-regexp",
    "must",
    "The name of a queue has letters, digits and - _ . : only, or is empty.",
    "queues with such names",
    Order("rpc"),
)
def _queue_names(host: ClassicHost) -> Seen:
    host.answer_request()
    names = [each.content.queue for each in host.seen if each.event == "queue.declare"]
    if not names:
        return Seen(Verdict.INFORMATIONAL, "it declares no queue")
    return judged(all(_QUEUE.fullmatch(each) for each in names), ", ".join([repr(each) for each in names]))


@SUITE.case(
    "connection.open/first",
    "must",
    "A client opens its virtual host before it does anything else.",
    "connection.open, and the other classes behind it",
    PUBLISH,
)
def _open_first(host: ClassicHost) -> Seen:
    host.take("basic.publish")
    names = [each.event for each in host.seen]
    work = next(place for place, name in enumerate(names) if not name.startswith(("protocol-header", "connection.")))
    return judged("connection.open" in names[:work], f"{', '.join(names[:work])}, then {names[work]}")


@SUITE.case(
    "channel.open/oob-null", "must", "The field out-of-band of channel.open is empty.", "an empty out-of-band", PUBLISH
)
def _out_of_band(host: ClassicHost) -> Seen:
    host.take("basic.publish")
    given = [each.content.out_of_band for each in host.seen if each.event == "channel.open"]
    return judged(given and not any(given), f"out-of-band: {', '.join([repr(each) for each in given])}")


@SUITE.case(
    "domain/consumer-tag.channel-scope",
    "must",
    "A consumer-tag means something on the channel of its consumer alone: that is where it is cancelled.",
    "basic.cancel of the tag, on the channel of basic.consume",
    CONSUME,
)
def _channel_of_consumers(host: ClassicHost) -> Seen:
    consumer = host.consumer()
    host.deliver(consumer, b"m")
    unit = host.take("basic.cancel", "channel.close", "connection.close")
    if unit.event != "basic.cancel":
        return Seen(Verdict.INFORMATIONAL, f"it ends with {unit.event}, without basic.cancel")
    told = (unit.channel, unit.content.consumer_tag)
    return judged(told == consumer, f"basic.cancel of {told[1]!r} on channel {told[0]}; consumed {consumer}")
