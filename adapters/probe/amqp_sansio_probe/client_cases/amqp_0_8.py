"""Cases for clients of 0-8: those of 0-9-1 whose rules 0-8 has too, by the names that it has for them, and its own.

The methods that the cases share have the same octets in both versions.
"""

from __future__ import annotations

from typing import Final

from amqp_sansio import amqp_0_8 as amqp

from ..client_case import ClientCase, ClientSuite
from ..host_0_9_1 import TICKET, ClassicHost
from ..programs import Order
from ..verdicts import Seen, Verdict, judged
from . import amqp_0_9_1

SUITE: Final[ClientSuite[ClassicHost]] = ClientSuite("0-8")

_SHARED: Final = (
    ("wire/header-client-first", "must", "wire/header-client-first", ""),
    ("connection.start/client-cannot-do-version", "must", "connection.start/client-support", "version-7-3"),
    ("connection.start-ok/mechanism-notnull", "must", "connection.start-ok/mechanism-notnull", ""),
    ("connection.start-ok/best-mechanism", "should", "connection.start-ok/best-mechanism", "none-is-known"),
    ("domain/peer-properties.fields", "should", "connection.start-ok/client-properties", ""),
    ("connection.tune-ok/channel-max<=tune", "must", "connection.tune-ok/channel-max-le", "offer-of-5"),
    ("wire/frame-oversize-send", "must", "wire/frame-oversize-send", "body-of-20000-octets"),
    ("wire/content-join", "must", "wire/content-join", "100-frames"),
    ("wire/content-body-size", "note", "wire/content-body-size", "empty"),
    ("wire/content-body-size", "note", "wire/content-body-size", "longer-than-announced"),
    ("basic.get-ok/must-ack", "note", "basic.get-ok/must-ack", "tags"),
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
)
"""Rules of 0-8 with their levels, and the rules and variants of the cases of 0-9-1."""


def _add_shared() -> None:
    known: dict[tuple[str, str], ClientCase] = {(each.rule, each.variant): each for each in amqp_0_9_1.SUITE.cases}
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
            about = amqp.BasicReturn(312, "NO_ROUTE", unit.content.exchange, unit.content.routing_key)
            host.send(host.content(unit.channel, about, unit.body or b"", unit.properties))
    # A program may ask something, and know by the answer that no more comes back.
    unit = host.take(*asked)
    host.held.clear()
    host.answer(unit)
    return host.judge_outcomes("unknown", "returned", "unknown")


_TICKETS: Final = "A client that asked for access uses the ticket that it got, and no other."


@SUITE.case("basic.publish/ticket", "must", _TICKETS, f"the ticket {TICKET}", Order("publish 1"))
def _published(host: ClassicHost) -> Seen:
    return _uses_ticket(host, host.take("basic.publish").content.ticket)


@SUITE.case("basic.consume/ticket", "must", _TICKETS, f"the ticket {TICKET}", Order("consume 1 accept"))
def _consumed(host: ClassicHost) -> Seen:
    unit = host.take("basic.consume")
    host.deliver((unit.channel, unit.content.consumer_tag or "probe-1"), b"m")
    return _uses_ticket(host, unit.content.ticket)


def _uses_ticket(host: ClassicHost, ticket: int) -> Seen:
    asked = any(each.event == "access.request" for each in host.seen)
    if not asked and not ticket:
        return Seen(Verdict.INFORMATIONAL, "it asks for no access, and has no ticket")
    text = f"ticket {ticket}" if asked else f"ticket {ticket}, which nobody gave"
    return judged(asked and ticket == TICKET, text)
