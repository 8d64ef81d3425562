"""No output shows a password or a token, wherever it stands, unless it is asked for secrets."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, Version
from amqp_sansio import amqp_0_10 as ten
from amqp_sansio import amqp_1_0 as one
from amqp_sansio.recorded.frame_lines import FrameLines
from amqp_sansio.recorded.tables import COLUMNS, replay_segments
from amqp_sansio_report.report import report_segments
from tests.kit.observing import CLIENT, Conversation, Talk
from tests.kit.talk_0_10 import Talk010
from tests.kit.talk_0_10 import transfer as transfer_0_10
from tests.kit.talk_1_0 import AMQP, SASL, Talk10, begin, opened, transfer
from tests.tables.test_tables import packets

SECRET: Final = "s3cret, with a 'quote' and a \\ and \"another\"}"
OCTETS: Final = SECRET.encode()
PUT: Final = {"operation": "put-token", "type": "jwt", "name": "amqps://host/q"}
TOKENS: Final[dict[str, Any]] = {"text": SECRET, "octets": OCTETS, "in a list": [SECRET], "in a map": {"a": SECRET}}


def of_1_0(properties: dict[str, Any], body: Any = b"") -> Conversation:
    """A message of the client's."""
    return opened().client(transfer(0, one.Message(body, application_properties=properties)))


def put_in_parts(most: int = 70) -> Conversation:
    octets = one.Message(one.AmqpValue(SECRET), application_properties=PUT).encode()
    talk = opened()
    for at in range(0, len(octets), most):
        talk.client(transfer(None if at else 0, octets[at : at + most], more=at + most < len(octets)))
    return talk


def damaged_init() -> Conversation:
    """A sasl-init whose list has more than it says."""
    whole = Talk10().octets(one.spec.SaslInit(one.Symbol("PLAIN"), b"\0ann\0" + OCTETS))
    return login_1_0(whole.replace(b"\xa3\x05PLAIN", b"\xa3\xf5PLAIN"))


def damaged_start_ok_0_10() -> Conversation:
    """A start-ok that says more of its locale than there is."""
    talk = Talk010().headers().server(ten.spec.ConnectionStart({}, ["PLAIN"], ["en_US"]))
    whole = talk.octets(ten.spec.ConnectionStartOk({}, "PLAIN", b"\0ann\0" + OCTETS, "en_US"))
    return talk.client(whole.replace(b"\x05en_US", b"\xf5en_US"))


def unreadable() -> Conversation:
    """Application properties of a request to a node of management whose map ends too early."""
    octets = one.Message(b"", application_properties={"security_token": SECRET, "n": 1}).encode()
    return opened().client(transfer(0, octets.replace(b"\xa1\x01n", b"\xa1\xf1n")))


def login_1_0(*frames: Any) -> Conversation:
    return Talk10().client(SASL).server(SASL, one.spec.SaslMechanisms((one.Symbol("PLAIN"),))).client(*frames)


def attached() -> Conversation:
    """An attach whose properties have a token."""
    talk = Talk10().client(AMQP, one.spec.Open("c"), begin())
    return talk.client(one.spec.Attach("l", 0, True, properties={one.Symbol("security_token"): SECRET}))


def classic(version: Version, name: str) -> Conversation:
    talk = Talk(version)
    talk.header().server(talk.named("connection.start", 0, 9, {}, b"PLAIN", b"en_US"))
    if name == "start-ok":
        return talk.client(talk.named("connection.start-ok", {}, "PLAIN", b"\0ann\0" + OCTETS, "en_US"))
    talk.client(talk.named("connection.start-ok", {}, "PLAIN", b"", "en_US"))
    return talk.client(talk.named("connection.secure-ok", OCTETS))


def damaged_start_ok() -> Conversation:
    """A start-ok that says more of its locale than there is."""
    talk = Talk(AMQP_0_9_1).header()
    whole = talk.octets(talk.named("connection.start-ok", {}, "PLAIN", b"\0ann\0" + OCTETS, "en_US"))
    return talk.client(whole.replace(b"\x05en_US", b"\xf5en_US"))


def updated() -> Conversation:
    talk = Talk(AMQP_0_9_1).login()
    return talk.client(talk.named("connection.update-secret", OCTETS, "it expires"))


def with_headers(token: Any) -> Conversation:
    talk = Talk(AMQP_0_9_1).login().channel()
    publish = talk.named("basic.publish", routing_key="q")
    return talk.client(talk.message(publish, b"x", headers={"security_token": token, "n": 1}))


def login_0_10(name: str) -> Conversation:
    talk = Talk010().headers().server(ten.spec.ConnectionStart({}, ["PLAIN"], ["en_US"]))
    if name == "start-ok":
        return talk.client(ten.spec.ConnectionStartOk({}, "PLAIN", b"\0ann\0" + OCTETS, "en_US"))
    return talk.client(ten.spec.ConnectionStartOk({}, "X", b"", "en_US")).client(ten.spec.ConnectionSecureOk(OCTETS))


def of_0_10(token: Any) -> Conversation:
    headers = ten.MessageProperties(application_headers={"security_token": token, "n": 1})
    message = transfer_0_10("", b"x", ten.DeliveryProperties(routing_key="q"), headers)
    return Talk010().open().session().client(message)


PLACES: Final[dict[str, Callable[[], Conversation]]] = {
    "1.0 sasl-init": lambda: login_1_0(one.spec.SaslInit(one.Symbol("PLAIN"), b"\0ann\0" + OCTETS)),
    "1.0 sasl-response": lambda: login_1_0(
        one.spec.SaslInit(one.Symbol("X"), b""), one.spec.SaslResponse(b"x" + OCTETS)
    ),
    "1.0 put-token, a value": lambda: of_1_0(PUT, one.AmqpValue(SECRET)),
    "1.0 put-token, data": lambda: of_1_0(PUT, OCTETS),
    "1.0 put-token, in parts": put_in_parts,
    "1.0 attach": attached,
    "1.0 unreadable properties": unreadable,
    "1.0 put-token, in small parts": lambda: put_in_parts(7),
    **{
        f"1.0 properties, {kind}": partial(of_1_0, {"security_token": TOKENS[kind], "n": 1})
        for kind in ("text", "octets")
    },
    "1.0 damaged sasl-init": damaged_init,
    "0-9-1 start-ok": lambda: classic(AMQP_0_9_1, "start-ok"),
    "0-9-1 secure-ok": lambda: classic(AMQP_0_9_1, "secure-ok"),
    "0-9-1 damaged start-ok": damaged_start_ok,
    "0-9-1 update-secret": updated,
    **{f"0-9-1 headers, {kind}": partial(with_headers, token) for kind, token in TOKENS.items()},
    "0-8 start-ok": lambda: classic(AMQP_0_8, "start-ok"),
    "0-8 secure-ok": lambda: classic(AMQP_0_8, "secure-ok"),
    "0-10 damaged start-ok": damaged_start_ok_0_10,
    "0-10 start-ok": lambda: login_0_10("start-ok"),
    "0-10 secure-ok": lambda: login_0_10("secure-ok"),
    **{f"0-10 headers, {kind}": partial(of_0_10, token) for kind, token in TOKENS.items()},
}
"""Where a secret can stand, by version."""


def rows(talk: Conversation, tables: tuple[str, ...] = tuple(COLUMNS), **options: Any) -> str:
    given = {table: [name for name, _ in COLUMNS[table]] for table in tables}
    return json.dumps([*replay_segments(packets(talk), tables=given, body="base64", **options)], default=repr)


def frame_lines(talk: Conversation) -> str:
    lines = FrameLines(is_client=True)
    return "\n".join(
        line
        for sender, what in talk.arrivals
        if isinstance(what, bytes)
        for line in lines.feed(what, sent=sender == CLIENT)
    )


def report(talk: Conversation) -> str:
    made = report_segments(packets(talk))
    return made.html + made.text() + made.text("md")


OUTPUTS: Final[dict[str, Callable[[Conversation], str]]] = {
    "all tables": rows,
    "events by the lane": lambda talk: rows(talk, ("events",)),
    "lines by the lane": lambda talk: rows(talk, ("events",), lines=True),
    "lines": lambda talk: rows(talk, lines=True),
    "messages": lambda talk: rows(talk, ("messages",)),
    "frame lines": frame_lines,
    "report": report,
}


def shows(text: str) -> bool:
    """Whether a text has the secret, or its end or its middle, in any form that these outputs write."""
    part = OCTETS[:6]
    forms = [
        *(form for form in (SECRET[:6], part.hex(), part.hex(" "))),
        # Base64 at each place that octets can have in it, without the characters that their neighbours share.
        *(b64encode(bytes(at) + OCTETS[: 9 - at])[2 * (at > 0) + (at > 1) :].decode()[1:9] for at in range(3)),
    ]
    return any(form in text for form in forms)


@pytest.mark.parametrize("place", PLACES)
def test_no_output_shows_a_secret(place: str) -> None:
    talk = PLACES[place]()
    assert [name for name, output in OUTPUTS.items() if shows(output(talk))] == []


HIDDEN: Final = [name for name in PLACES if "unreadable" not in name and "damaged" not in name and "parts" not in name]


@pytest.mark.parametrize("place", HIDDEN)
def test_who_asks_for_secrets_gets_them(place: str) -> None:
    talk = PLACES[place]()
    assert shows(rows(talk, secrets=True))
    assert shows(rows(talk, ("events",), secrets=True))
    assert not ("headers" in place or "properties" in place) or shows(rows(talk, ("messages",), secrets=True))
