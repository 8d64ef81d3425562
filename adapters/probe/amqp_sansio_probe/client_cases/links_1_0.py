"""Cases for clients of 1.0: what they say of their sessions, links and messages."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec

from ..client_case import ClientSuite
from ..host_1_0 import Host_1_0
from ..programs import Order
from ..verdicts import Seen, Verdict, judged
from . import common

SUITE: Final[ClientSuite[Host_1_0]] = ClientSuite("1.0")

OPEN: Final = Order("open")
PUBLISH: Final = Order("publish 1")
CONSUME: Final = Order("consume 1 accept")
OUTCOMES: Final = frozenset({"amqp:accepted:list", "amqp:rejected:list", "amqp:released:list", "amqp:modified:list"})


# Connections and sessions.


@SUITE.case(
    "transport/connection/pre-open-limits",
    "must",
    "Before the server's open a client uses the channel 0, and frames of at most 512 octets.",
    "frames like that, and the message behind the open",
    PUBLISH,
    variant="slow-open",
)
def _before_open(host: Host_1_0) -> Seen:
    # Nothing of the server's comes before its open, whatever the client says already.
    host.held |= {"open", "begin", "attach", "flow", "transfer"}
    host.take("open")
    host.serve(host.patience.quiet)
    largest = max(host.frames())
    channels = {each.channel for each in host.seen}
    host.let_go()
    host.take("transfer")
    text = f"the largest frame has {largest} octets; channels: {', '.join(map(str, sorted(channels)))}"
    return judged(largest <= 512 and channels == {0}, text)


@SUITE.case(
    "transport/connection/no-reuse",
    "should",
    "A connection that is closed is over: its socket carries nothing more.",
    "close, and the end",
    OPEN,
)
def _no_reuse(host: Host_1_0) -> Seen:
    host.opened()
    host.hears("opened")
    if host.hang_up("amqp:connection:forced", "probe") is None:
        return Seen(Verdict.BREAKS, f"no close; {host.described()}")
    before = len(host.said)
    host.ends()
    late = len(host.said) - before
    return judged(not late, f"{late} octets behind its close")


@SUITE.case(
    "transport/session/remote-channel-initiator",
    "must",
    "Who begins a session names no remote-channel.",
    "begin without remote-channel",
    PUBLISH,
)
def _remote_channel(host: Host_1_0) -> Seen:
    host.take("transfer")
    given = [each.content.remote_channel for each in host.seen if each.event == "begin"]
    return judged(given and all(each is None for each in given), f"remote-channel: {', '.join(map(str, given))}")


# Links.


def _attached(host: Host_1_0, *, sender: bool) -> spec.Attach:
    """Serve the client until it sends or takes a message; return its attach."""
    if sender:
        host.take("transfer")
        return host.link(sender=True).attach
    link = host.receiver()
    host.deliver(link, b"m")
    return link.attach


def _of_source(judge: Callable[[amqp.Source], Seen], host: Host_1_0) -> Seen:
    source = _attached(host, sender=False).source
    return judge(source) if isinstance(source, amqp.Source) else Seen(Verdict.BREAKS, f"source {source!r}")


def _properties_of(node: amqp.Source | amqp.Target) -> Seen:
    given = node.dynamic_node_properties
    return judged(node.dynamic or given is None, f"dynamic: {node.dynamic}, dynamic-node-properties: {given!r}")


def _default_outcome(source: amqp.Source) -> Seen:
    given = source.default_outcome
    valid = given is None or isinstance(given, (amqp.Accepted, amqp.Rejected, amqp.Released, amqp.Modified))
    return judged(valid, f"default-outcome {given!r}")


def _outcomes(source: amqp.Source) -> Seen:
    given = [str(each) for each in source.outcomes]
    return judged(OUTCOMES.issuperset(given), f"outcomes: {', '.join(given) or 'none'}")


SUITE.case(
    "source.dynamic-node-properties/only-dynamic",
    "note",
    "A source that isn't dynamic has no dynamic-node-properties.",
    "none",
    CONSUME,
)(partial(_of_source, _properties_of))
SUITE.case(
    "source.default-outcome/valid",
    "must",
    "The default-outcome of a source is an outcome.",
    "accepted, rejected, released or modified, or none",
    CONSUME,
)(partial(_of_source, _default_outcome))
SUITE.case(
    "source.outcomes/valid",
    "must",
    "The outcomes of a source are the descriptors of outcomes.",
    "amqp:accepted:list and its siblings, or none",
    CONSUME,
)(partial(_of_source, _outcomes))


@SUITE.case(
    "target.dynamic-node-properties/only-dynamic",
    "note",
    "A target that isn't dynamic has no dynamic-node-properties.",
    "none",
    PUBLISH,
)
def _target(host: Host_1_0) -> Seen:
    target = _attached(host, sender=True).target
    return _properties_of(target) if isinstance(target, amqp.Target) else Seen(Verdict.BREAKS, f"target {target!r}")


@SUITE.case(
    "source.outcomes/empty",
    "note",
    "Where a source names no outcomes and no default, accepted is an outcome.",
    "accepted",
    PUBLISH,
    variant="sender",
)
def _accepted(host: Host_1_0) -> Seen:
    source = _attached(host, sender=True).source
    if isinstance(source, amqp.Source) and (source.outcomes or source.default_outcome is not None):
        return Seen(Verdict.INFORMATIONAL, f"its source names outcomes: {', '.join(map(str, source.outcomes))}")
    return host.judge_outcomes("accepted")


@SUITE.case("transport/attach/no-source", "note", "A link that sends has a source.", "a source", PUBLISH)
def _has_source(host: Host_1_0) -> Seen:
    return _has_terminus(_attached(host, sender=True).source)


@SUITE.case("transport/attach/no-target", "note", "A link that takes messages has a target.", "a target", CONSUME)
def _has_target(host: Host_1_0) -> Seen:
    return _has_terminus(_attached(host, sender=False).target)


def _has_terminus(terminus: object) -> Seen:
    return judged(terminus is not None, "none" if terminus is None else type(terminus).__name__.lower())


# Credit.


@SUITE.case(
    "transport/flow/initial",
    "note",
    "A link begins without credit: its sender waits for some.",
    "no transfer without credit, and one with it",
    PUBLISH,
    variant="no-flow",
)
def _no_credit(host: Host_1_0) -> Seen:
    host.credit = 0
    link = host.link(sender=True)
    host.serve(host.patience.quiet)
    early = len(host.transfers())
    if early:
        return Seen(Verdict.BREAKS, f"{early} transfers without credit")
    host.flow(link, 10)
    host.take("transfer")
    return Seen(Verdict.CONFORMS, "no transfer without credit")


@SUITE.case(
    "transport/flow/link-credit-owner",
    "note",
    "The receiver alone sets a link's credit; the sender's flow says what is left of it.",
    "flow with a credit of 10",
    PUBLISH,
    variant="echo",
)
def _echoed(host: Host_1_0) -> Seen:
    host.held |= {"settle", "flow"}
    unit = host.take("transfer")
    link = host.link(sender=True)
    host.forget("flow")
    host.flow(link, 10, echo=True)
    flow = host.wait("flow")
    host.held.clear()
    number = unit.content.delivery_id or 0
    host.settle(unit.channel, number, number, amqp.Accepted())
    if flow is None:
        return Seen(Verdict.INFORMATIONAL, "it sends no flow")
    return judged(flow.content.link_credit == 10, f"flow, credit {flow.content.link_credit}")


@SUITE.case(
    "transport/flow/available",
    "must",
    "What a sender says of messages that are available is a hint: more may come.",
    "the message",
    CONSUME,
    variant="of-0",
)
def _available(host: Host_1_0) -> Seen:
    link = host.receiver()
    host.flow(link, link.credit, available=0)
    host.deliver(link, b"m")
    line = host.hears("received")
    return judged(line is not None and line.get("body") == "m", host.described() if line is None else "the message")


# Messages.


@SUITE.case("properties.message-id/unique", "note", common.UNIQUE, "different ids", Order("publish 3"))
def _ids(host: Host_1_0) -> Seen:
    given = [_properties(host) for _ in range(3)]
    return common.are_unique([each.message_id for each in given])


def _properties(host: Host_1_0) -> amqp.Properties:
    """Take a message; return its properties, empty ones if it has none."""
    return _properties_in(host.take("transfer").properties)


def _properties_in(message: object) -> amqp.Properties:
    given = message.properties if isinstance(message, amqp.Message) else None
    return given or amqp.Properties()


def _is_data(message: object) -> bool:
    return isinstance(message, amqp.Message) and isinstance(message.body, (bytes, bytearray, memoryview, list))


def _encoding(keeps: Callable[[str], bool], host: Host_1_0) -> Seen:
    given = str(_properties(host).content_encoding or "").lower()
    return judged(keeps(given), f"content-encoding {given!r}")


_ENCODINGS: Final[tuple[tuple[str, str, str, Callable[[str], bool]], ...]] = (
    ("identity", "must", "The content-encoding identity isn't used.", lambda given: given != "identity"),
    ("compress", "should", "The content-encoding compress isn't used.", lambda given: "compress" not in given),
    ("multiple", "should", "A message has one content-encoding at most.", lambda given: "," not in given),
)
"""Rules, with their levels and clauses, and what keeps them."""
for _name, _level, _clause, _keeps in _ENCODINGS:
    SUITE.case(f"properties.content-encoding/{_name}", _level, _clause, "another content-encoding, or none", PUBLISH)(
        partial(_encoding, _keeps)
    )


def _non_data(judge: Callable[[amqp.Properties], Seen], host: Host_1_0) -> Seen:
    message = host.take("transfer").properties
    if _is_data(message):
        return Seen(Verdict.INFORMATIONAL, "the body is data")
    return judge(_properties_in(message))


def _has_no_encoding(given: amqp.Properties) -> Seen:
    return judged(given.content_encoding is None, f"content-encoding {given.content_encoding}")


def _has_no_type(given: amqp.Properties) -> Seen:
    fine = given.content_type is None or str(given.content_type).startswith("message/x-amqp+")
    return judged(fine, f"content-type {given.content_type}")


SUITE.case(
    "properties.content-encoding/non-data",
    "must",
    "A message whose body isn't data has no content-encoding.",
    "none",
    PUBLISH,
)(partial(_non_data, _has_no_encoding))
SUITE.case(
    "properties.content-type/non-data",
    "should",
    "A message whose body isn't data has no content-type, or that of an encoding of AMQP.",
    "none, or message/x-amqp+...",
    PUBLISH,
)(partial(_non_data, _has_no_type))


@SUITE.case(
    "received/sender-only-first-resume",
    "must",
    "A sender names the state received on the first transfer of a resumed delivery only.",
    "transfers without it",
    Order("publish 1", size=4_000),
)
def _received(host: Host_1_0) -> Seen:
    host.open = spec.Open("probe", max_frame_size=1024, channel_max=255)
    while host.take("transfer").content.more:
        continue
    states = [each.state for each in host.transfers() if isinstance(each.state, amqp.spec.Received) and not each.resume]
    return judged(not states, f"{len(states)} of {len(host.transfers())} transfers have it")
