"""A hostile client of 1.0 at a hub: any performative in any order, biased to nodes and transactions there are."""

# pyright: reportPrivateUsage=false
from typing import Any

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.amqp_1_0.codec import conditions
from amqp_sansio.amqp_1_0.model import states
from amqp_sansio.broker.frontends.amqp_1_0.frontend import Frontend_1_0
from amqp_sansio.broker.frontends.amqp_1_0.targets import IncomingLink
from tests.kit.choices import Choices
from tests.kit.hostile_1_0 import Peer
from tests.kit.hostile_hub_classic import NEW, OWN
from tests.kit.hub_hostile import Driver, Hostile, Words
from tests.kit.octets_1_0 import AMQP_HEADER, SASL_HEADER, Sent, octets_of, sasl
from tests.kit.versions import KIT_1_0

FRAME_SIZE = 4096
POLICIES = tuple([amqp.Symbol(each) for each in ("session-end", "link-detach", "connection-close", "never")])
WRONG = ("/queues/", "/nope/x", "/queues/%zz", "", "nope", "/exchanges/nope/k", "/queues/nope", "/exchanges//k")
LIFETIMES: tuple[Any, ...] = (
    None,
    spec.DeleteOnNoLinks(),
    spec.DeleteOnNoMessages(),
    spec.DeleteOnNoLinksOrMessages(),
    5,
)
FILTERS: tuple[Any, ...] = (
    {amqp.Symbol("s"): amqp.Described(amqp.Symbol("apache.org:selector-filter:string"), "a = 1")},
    {amqp.Symbol("s"): amqp.Described(amqp.Symbol("apache.org:selector-filter:string"), "a = = (")},
    {amqp.Symbol("n"): amqp.Described(amqp.Symbol("apache.org:no-local-filter:list"), [])},
    {amqp.Symbol("t"): amqp.Described(amqp.Symbol("apache.org:legacy-amqp-topic-binding:string"), "a.*")},
    {amqp.Symbol("u"): amqp.Described(amqp.Symbol("x:unheard-of"), None)},
    {amqp.Symbol("v"): None},
)
REQUESTS: tuple[tuple[str, str, Any], ...] = (
    ("PUT", "/queues/h1", {}),
    ("PUT", "/queues/h2", {"auto_delete": True, "durable": False}),
    ("PUT", "/queues/h3", {"exclusive": True, "arguments": {"x-max-length": spec.ULong(2)}}),
    ("GET", "/queues/shared", None),
    ("DELETE", "/queues/h1", None),
    ("DELETE", "/queues/h2/messages", None),
    ("DELETE", "/queues/own-0-9-1", None),
    ("PUT", "/exchanges/h1", {"type": "topic", "durable": False, "auto_delete": True}),
    ("DELETE", "/exchanges/h1", None),
    ("POST", "/bindings", {"source": "amq.direct", "destination_queue": "h1", "binding_key": "k", "arguments": {}}),
    ("GET", "/bindings?src=amq.direct&dstq=h1", None),
    ("PUT", "/queues/h1", [1]),
    ("FETCH", "/nowhere", None),
    ("GET", "/queues/%zz", b"x"),
)
MESSAGES: tuple[bytes, ...] = (
    amqp.Message(b"x").encode(),
    amqp.Message(b"x").encode(),
    amqp.Message(b"y" * 300).encode(),
    amqp.Message(b"z" * 3000).encode(),
    amqp.Message("text", properties=amqp.Properties(subject="k")).encode(),
    amqp.Message(b"x", header=amqp.Header(ttl=1000, priority=9)).encode(),
    amqp.Message(b"x", header=amqp.Header(ttl=0, durable=True)).encode(),
    amqp.Message([1, {"a": None}], application_properties={"a": 1}).encode(),
    b"\x00\x53\x75\xa0\x05ab",
    b"\xff",
    b"",
)


class HubPeer(Peer):
    """Makes frames up for a connection to a hub, whose nodes and transactions it knows."""

    def __init__(self, choices: Choices, driver: Driver, number: int) -> None:
        self.driver = driver
        self.number = number
        self.choices = choices
        self.names = 0
        self.delivery_id = 0
        self.paired = ""

    @property
    def front(self) -> Frontend_1_0:
        """The hub's books of the connection."""
        front = self.driver.hub.clients[self.number].front
        assert isinstance(front, Frontend_1_0)
        return front

    @property
    def states(self) -> tuple[Any, ...]:  # type: ignore[override]
        """States of deliveries, some in transactions that there are."""
        txn_id = self.txn_id()
        return (
            *(amqp.Accepted(), amqp.Accepted(), amqp.Accepted(), amqp.Released(), None),
            amqp.Rejected(amqp.Error(amqp.Symbol("x:no"), "why")),
            amqp.Rejected(),
            amqp.Modified(True, False, {amqp.Symbol("a"): 1}),
            amqp.Modified(undeliverable_here=True),
            amqp.spec.Received(0, 0),
            spec.TransactionalState(txn_id, amqp.Accepted()),
            spec.TransactionalState(txn_id, amqp.Accepted()),
            spec.TransactionalState(txn_id, amqp.Released()),
            spec.TransactionalState(txn_id),
            amqp.Described(amqp.Symbol("x:own"), [1]),
        )

    def txn_id(self) -> bytes:
        """A transaction, mostly one that is open."""
        known = tuple(self.front.coordination.work)
        return self.choices.of(known) if known and self.choices.below(16) else b"t"

    def octets(self) -> bytes:
        """A frame, well-formed; now and then one that makes the hub send what it has."""
        choices = self.choices
        if choices.below(4) == 3:
            for channel, session in self.own.channels.items():
                half = session.halves[self.side]
                if half.state is not states.Session.MAPPED:
                    continue
                links: dict[int, Any] = {number: link for number, link in half.handles.items()}
                lacking = [
                    number
                    for number, link in links.items()
                    if link.sender != self.side and link.is_open and not link.credit
                ]
                if lacking:
                    self.session = session
                    handle = choices.of(lacking)
                    flow = spec.Flow(
                        next_incoming_id=self._incoming_id(),
                        incoming_window=50,
                        next_outgoing_id=0,
                        outgoing_window=50,
                        handle=handle,
                        delivery_count=half.handles[handle].delivery_count,
                        link_credit=choices.of((1, 5, 5, 1000)),
                        drain=choices.rarely(),
                    )
                    return octets_of(flow, channel)
        return super().octets()

    # Payloads.

    def _payload(self) -> bytes:
        choices, front = self.choices, self.front
        link = None if self.session is None else self.session.halves[self.side].handles.get(self.handle)
        if link is None or not choices.below(64):
            return choices.of(MESSAGES)
        place = (link.session.channel, link.handle)
        node = front.links.get(place)
        if isinstance(node, IncomingLink):
            if node.node.kind.value == "anonymous" and choices.below(8):
                return amqp.Message(b"x", properties=amqp.Properties(to=self._address())).encode()
            return choices.of(MESSAGES[:8]) if choices.below(64) else choices.of(MESSAGES)
        if place in front.management.requests:
            method, path, body = choices.of(REQUESTS)
            told = amqp.Properties(
                message_id=spec.ULong(7), to=path, subject=method, reply_to="$me" if choices.below(16) else "elsewhere"
            )
            return amqp.Message(amqp.AmqpValue(body), properties=told).encode()
        if choices.below(2):
            return amqp.Message(amqp.AmqpValue(spec.Declare())).encode()
        return amqp.Message(amqp.AmqpValue(spec.Discharge(self.txn_id(), choices.below(3) == 2))).encode()

    # Links.

    def _name(self) -> str:
        if self.choices.below(8) == 7:
            return super()._name()
        self.names += 1
        return f"link {self.number} {self.names}"

    def _begin(self) -> tuple[Any, bytes]:
        begin, payload = super()._begin()
        return (begin if self.choices.below(4) == 3 else begin.replace(incoming_window=50, handle_max=7)), payload

    def _queues(self) -> list[str]:
        queues = self.driver.hub.model.vhosts["/"].queues
        return [name for name in queues if name not in OWN and not name.startswith("amq.gen")]

    def _address(self) -> str:
        """An address, mostly of a node that there is."""
        choices = self.choices
        if choices.below(32) == 31:
            return choices.of(WRONG)
        name = choices.of(self._queues() or NEW)
        return choices.of(
            (
                *(f"/queues/{name}", f"/queues/{name}", name, name, f"/amq/queue/{name}", f"/queue/{choices.of(NEW)}"),
                *("/exchanges/amq.direct/k", "/exchange/amq.fanout", "/exchanges/amq.match"),
                *("/topic/a.b", "amq.topic/a.b"),
            )
        )

    def _terminus(self, kind: type[amqp.Source] | type[amqp.Target]) -> Any:
        choices = self.choices
        match choices.below(16):
            case 0:
                return None
            case 1 | 2:
                lifetime = choices.of(LIFETIMES)
                properties = None if lifetime is None else {amqp.Symbol("lifetime-policy"): lifetime}
                return kind(dynamic=True, dynamic_node_properties=properties)
            case 3 if kind is amqp.Target:
                return spec.Coordinator()
            case 4 if kind is amqp.Target:
                return amqp.Target()
            case 5 if kind is amqp.Source:
                return amqp.Source(choices.of(OWN))
            case _:
                pass
        values: dict[str, Any] = {}
        if choices.below(4) == 3:
            values = {"expiry_policy": choices.of(POLICIES), "timeout": choices.of((0, 1, 60))}
            values["durable"] = choices.below(3)
        if kind is amqp.Source and choices.below(4) == 3:
            values["filter"] = choices.of(FILTERS)
        if kind is amqp.Source and choices.below(4) == 3:
            values["distribution_mode"] = choices.of((conditions.COPY, conditions.MOVE))
        if kind is amqp.Source and choices.below(8) == 7:
            values["default_outcome"] = choices.of((amqp.Accepted(), amqp.Rejected(), amqp.Modified(True)))
        return kind(self._address(), **values)

    def _attach(self) -> tuple[Any, bytes]:
        choices = self.choices
        attach, payload = super()._attach()
        if choices.below(16) == 15 or self.paired:
            # A link to the management node, and the other one of the pair.
            name = self.paired or f"management-{self.names}"
            self.paired = "" if self.paired else name
            attach = attach.replace(
                name=name,
                source=amqp.Source("/management"),
                target=amqp.Target("/management"),
                unsettled=None,
                incomplete_unsettled=False,
                properties={amqp.Symbol("paired"): True} if choices.below(16) else None,
            )
        elif choices.below(8):
            attach = attach.replace(unsettled=None, incomplete_unsettled=False)
        return attach, payload

    def _flow(self) -> tuple[Any, bytes]:
        flow, payload = super()._flow()
        if flow.handle is not None and self.choices.below(16) == 15:
            flow = flow.replace(properties={amqp.Symbol("txn-id"): self.txn_id()})
        return flow, payload


class One(Hostile):
    """A hostile 1.0 client. Another one may have its container-id, and steal its links."""

    header = SASL_HEADER

    def __init__(self, driver: Driver, choices: Choices) -> None:
        super().__init__(driver, choices)
        self.peer = HubPeer(choices, driver, self.number)

    def login(self) -> list[bytes]:
        """As the user "other"."""
        container = self.choices.of(("one", "two"))
        login = sasl(spec.SaslInit(amqp.Symbol("PLAIN"), b"\0other\0other"))
        opening = spec.Open(container, max_frame_size=self.choices.of((FRAME_SIZE, 512)), channel_max=2)
        return [SASL_HEADER, login, AMQP_HEADER, octets_of(opening)]

    def frames(self, engine: Any) -> bytes:
        """What its peer makes up."""
        if not engine.is_open:
            return AMQP_HEADER if self.choices.below(2) else octets_of(spec.Open("x"))
        self.peer.face(engine)
        return self.peer.octets()


# What the hub said.

CONDITIONS = frozenset(
    [
        str(value)
        for name, value in vars(conditions).items()
        if isinstance(value, amqp.Symbol) and value.startswith("amqp:") and name.isupper()
    ]
) - {str(conditions.INTERNAL_ERROR)}
"""The conditions that the specification names, but for amqp:internal-error."""


def _check_words(sent: Sent) -> None:
    error = getattr(sent.body, "error", None)
    if error is not None:
        assert str(error.condition) in CONDITIONS, error
        assert error.description, error
    assert sent.header or sent.body is None or sent.kind or isinstance(sent.body, spec.Performative)


WORDS = Words(KIT_1_0, opened="open", close="close", close_ok="close", check=_check_words)
