"""Sends one form of a field (tools/docs/forms.py) to an endpoint, or past an observer, and tells what ended by it."""

from __future__ import annotations

from typing import Any

from amqp_sansio import By, Closed, Failed, RemoteProtocolError, Scope, Settled, Side
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.amqp_1_0.codec.encode import encode_items
from amqp_sansio.amqp_1_0.model.harm import Harm
from amqp_sansio.observer import Observed
from amqp_sansio.sasl import Plain
from tests.kit.facing_1_0 import Facing
from tests.kit.links_1_0 import BODY, Mapped, attach, flow
from tests.kit.octets_1_0 import AMQP_HEADER, octets_of, sasl
from tests.kit.talk_1_0 import AMQP, SASL, Talk10, frame
from tools.docs.forms import SECTIONS, Form

_SCOPES = {Scope.LINK: Harm.LINK, Scope.SESSION: Harm.SESSION, Scope.CONNECTION: Harm.CONNECTION}
_STATES = ("received", "accepted", "rejected", "released", "modified", "declared", "transactional-state")
_REQUESTS = ("declare", "discharge")
_PERFORMATIVES = ("open", "begin", "attach", "flow", "transfer", "disposition", "detach", "end", "close")


def _fields(code: int, *items: bytes) -> bytes:
    return b"\x00\x53" + bytes((code,)) + encode_items(0xC0, len(items), b"".join(items))


def framed(form: Form) -> tuple[bytes, bytes]:
    """The body and payload of the frame that brings a form."""
    octets = form.octets
    null = b"\x40"
    transfer = _fields(0x14, b"\x43", b"\x43", b"\xa0\x01t", b"\x43")
    if form.type in _PERFORMATIVES:
        return octets, BODY if form.type == "transfer" else b""
    if form.type == "error":
        return _fields(0x16, b"\x43", b"\x41", octets), b""
    if form.type in ("source", "target", "coordinator"):
        source = octets if form.type == "source" else amqp.Source("source").encode()
        target = amqp.Target("target").encode() if form.type == "source" else octets
        ends = (b"\xa1\x01n", b"\x52\x05", b"\x42", null, null, source, target, null, null, b"\x43")
        return _fields(0x12, *ends), b""
    if form.type in _STATES:
        settled = b"\x42" if form.type in ("received", "transactional-state") else b"\x41"
        return _fields(0x15, b"\x41", b"\x43", null, settled, octets), b""
    if form.type in _REQUESTS:
        return _fields(0x14, b"\x52\x02", b"\x43", b"\xa0\x01t", b"\x43"), b"\x00\x53\x77" + octets
    return transfer, octets if form.type in SECTIONS else octets + BODY


class Told:
    """What ended at an endpoint, and whether what had nothing to do with the form went on."""

    def __init__(self, facing: Facing, harm: Harm, goes_on: bool) -> None:
        self.facing = facing
        self.harm = harm
        self.goes_on = goes_on


def _harm(facing: Facing) -> Harm:
    found = [_SCOPES[each.scope] for each in facing.of(Failed) if each.by is By.LOCAL]
    if not found and (
        facing.of(amqp.DeliveryRefused) or [each for each in facing.of(Settled) if _is_made_up(each.state)]
    ):
        return Harm.MESSAGE
    return max(found, key=lambda each: each.value, default=Harm.NONE)


def _is_made_up(state: object) -> bool:
    """Whether an outcome stands for one that couldn't be read: its error says which field."""
    if isinstance(state, amqp.Rejected) and state.error is not None:
        said = state.error.description or ""
        return said.startswith("disposition: ") or said.split(":")[0] in _STATES or "UTF-8" in said
    return state == amqp.Modified(delivery_failed=True)


def sent_to(side: Side, form: Form) -> Told:
    """Send a form to an endpoint that has two links each way, and a coordinator."""
    if form.type.startswith("sasl-"):
        return _in_login(side, form)
    config = amqp.Config(container_id="e")
    if form.type == "open":
        facing = Facing(side, config)
        facing.feed(AMQP_HEADER + octets_of(form.octets))
        return Told(facing, _harm(facing), not facing.of(Closed))
    mapped = Mapped.begun(side, config=config)
    links = _links(mapped)
    if form.type == "begin":
        mapped.end.open_session()
    mapped.forget()
    body, payload = framed(form)
    mapped.feed(octets_of(body, int(form.type == "begin"), payload))
    harm = _harm(mapped)
    ends = {"end": Harm.SESSION, "close": Harm.CONNECTION}.get(form.type, Harm.NONE)
    most = max(harm.value, ends.value)
    goes_on = mapped.end.is_open or most == Harm.CONNECTION.value
    goes_on = goes_on and (mapped.session.is_open or most >= Harm.SESSION.value or form.type == "begin")
    goes_on = goes_on and (all([each.is_open for each in links]) or most >= Harm.SESSION.value)
    return Told(mapped, harm, goes_on)


def _links(mapped: Mapped) -> list[amqp.Sender | amqp.Receiver]:
    """Attach a receiver, a sender with one delivery under way, a coordinator; return two bystanders."""
    session = mapped.session
    receivers = [session.open_receiver("source", name=name, credit=10) for name in ("in", "beside")]
    senders = [session.open_sender("target", name=name, auto_settle=True) for name in ("out", "away")]
    for name, handle, role in (("in", 0, False), ("beside", 3, False), ("out", 1, True), ("away", 4, True)):
        mapped.get(attach(name, handle, role))
    mapped.get(flow(handle=1, delivery_count=0, link_credit=10))
    senders[0].send(BODY)
    if mapped.end.role is Side.SERVER:
        mapped.get(attach("control", 2, False, target=spec.Coordinator()))
        (asked,) = mapped.of(amqp.LinkRequested)
        link: Any = session.link(asked.link)
        link.accept_attach()
        link.flow(10)
    mapped.settle()
    assert all([each.is_open for each in (*receivers, *senders)])
    return [receivers[1], senders[1]]


def _in_login(side: Side, form: Form) -> Told:
    if side is Side.SERVER:
        facing = Facing.in_sasl(side, amqp.Config(container_id="e", mechanisms=("PLAIN",)))
    else:
        facing = Facing(side, amqp.Config(container_id="e", sasl=Plain("u", "p")))
        facing.feed(b"AMQP\x03\x01\x00\x00")
    if form.type in ("sasl-outcome", "sasl-challenge"):
        facing.feed(sasl(spec.SaslMechanisms((amqp.Symbol("PLAIN"),))))
    if form.type == "sasl-response":
        facing.feed(sasl(spec.SaslInit(amqp.Symbol("PLAIN"))))
    facing.feed(sasl(form.octets))
    # Whether the login goes well is another question than whether its frames are read.
    rules = [str(each.error.rule) for each in facing.of(Failed) if isinstance(each.error, RemoteProtocolError)]
    fails = any([rule.startswith("1.0/types/") or rule in _RULES_OF_SASL for rule in rules])
    return Told(facing, Harm.CONNECTION if fails else Harm.NONE, True)


_RULES_OF_SASL = ("1.0/security/sasl/mechanisms-nonempty", "1.0/security/sasl/outcome-codes")


def observed(form: Form) -> Talk10:
    """Let an observer see a form, in a conversation in which it has a place."""
    talk = Talk10()
    if form.type.startswith("sasl-"):
        talk.client(SASL).server(SASL)
        send = talk.server if form.type in ("sasl-mechanisms", "sasl-challenge", "sasl-outcome") else talk.client
        send(sasl(form.octets))
        return talk
    if form.type == "open":
        talk.client(AMQP).server(AMQP)
        talk.client(octets_of(form.octets))
        return talk.server(spec.Open("s"))
    talk.open().session().sender("in", handle=0).sender("away", handle=4).receiver("out", handle=1)
    if form.type in _REQUESTS:
        talk.controller(handle=2)
    body, payload = framed(form)
    for handle in (0, 4, 2):
        talk.server(flow(handle=handle, delivery_count=0, link_credit=10))
    talk.client(flow(handle=1, delivery_count=0, link_credit=10))
    talk.server(frame(spec.Transfer(1, 0, b"0", 0), BODY))
    return talk.client(octets_of(body, int(form.type == "begin"), payload))


def beside(talk: Talk10) -> Observed:
    """What the observer tells of a delivery on a link that has nothing to do with the form."""
    talk.client(frame(spec.Transfer(4, 7, b"7", 0), amqp.Message(b"hello").encode()))
    return talk.last()


__all__ = ["Told", "beside", "framed", "observed", "sent_to"]
