"""Nodes of one's own at a hub: what an attach, a message, credit and an outcome come to is theirs."""

from __future__ import annotations

from typing import Any

import pytest

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.amqp_1_0.codec.conditions import NOT_ALLOWED, NOT_FOUND, RESOURCE_LIMIT_EXCEEDED
from amqp_sansio.broker import Attachment, Namespace, Node, Peer, Refusal, Step
from amqp_sansio.broker.nodes import ACCEPTED
from tests.kit.hub_1_0 import User, World


class Stack(Node):
    """A node that gives out the newest message first; what isn't accepted returns on top."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []
        self.readers: list[Attachment] = []
        self.held: dict[bytes, bytes] = {}
        self.heard: list[Any] = []

    def attach(self, link: Attachment) -> None:
        if link.name == "unwanted":
            raise Refusal(NOT_ALLOWED, "this link isn't wanted")
        link.accept()
        if link.is_sender:
            self.readers.append(link)

    def closed(self, link: Attachment) -> None:
        self.heard.append(("closed", link.name))
        if link.is_sender:
            self.readers.remove(link)

    def receive(self, link: Attachment, delivery: amqp.Delivery) -> amqp.DeliveryState:
        if len(delivery.payload) > 1000:
            raise Refusal(RESOURCE_LIMIT_EXCEEDED, "it is too large")
        self.push(delivery.payload)
        return ACCEPTED

    def post(self, link: Attachment, delivery: amqp.Delivery) -> tuple[amqp.DeliveryState, Step | None]:
        return ACCEPTED, Push(self, delivery.payload)

    def push(self, payload: bytes) -> None:
        self.messages.append(payload)
        for each in self.readers:
            each.go_on()

    def send(self, link: Attachment) -> None:
        while self.messages and link.credit:
            tag = link.send(self.messages[-1])
            assert tag is not None
            self.held[tag] = self.messages.pop()

    def decide(
        self, link: Attachment, tags: tuple[bytes, ...], outcome: amqp.DeliveryState | None
    ) -> amqp.DeliveryState | None:
        self.heard.append((tags, outcome))
        for tag in tags:
            payload = self.held.pop(tag)
            if not isinstance(outcome, amqp.Accepted):
                self.messages.append(payload)
        return outcome

    def retire(self, link: Attachment, tags: tuple[bytes, ...], outcome: amqp.DeliveryState | None) -> Step:
        return Retire(self, tags)


class Push(Step):
    """A message of a transaction."""

    def __init__(self, stack: Stack, payload: bytes) -> None:
        self.stack = stack
        self.payload = payload

    def problem(self) -> str:
        return "it is unlucky" if b"13" in self.payload else ""

    def commit(self) -> None:
        self.stack.push(self.payload)

    def roll_back(self) -> None:
        self.stack.heard.append("rolled back")


class Retire(Step):
    """An outcome in a transaction."""

    def __init__(self, stack: Stack, tags: tuple[bytes, ...]) -> None:
        self.stack = stack
        self.tags = tags

    def commit(self) -> None:
        for tag in self.tags:
            del self.stack.held[tag]


class Long(Node):
    """Refuses with a long text."""

    def attach(self, link: Attachment) -> None:
        raise Refusal(NOT_ALLOWED, "long " * 1000)


class Space(Namespace):
    """One stack, at the address "stack"; it notes what it hears of connections."""

    def __init__(self) -> None:
        self.stack = Stack()
        self.long = Long()
        self.heard: list[str] = []
        self.deadline: float | None = None

    def find(self, peer: Peer, attach: spec.Attach) -> Node | None:
        terminus: Any = attach.source if attach.role else attach.target
        address = getattr(terminus, "address", None)
        if address == "secret":
            raise Refusal(NOT_FOUND, "there is nothing at all")
        if address == "long":
            return self.long
        return self.stack if address == "stack" else None

    def opened(self, peer: Peer) -> None:
        self.heard.append(f"opened {peer.user} {peer.container} {peer.hostname}")

    def closed(self, peer: Peer) -> None:
        self.heard.append(f"closed {peer.number} {len(peer.attachments)}")

    @property
    def next_deadline(self) -> float | None:
        return self.deadline

    def handle_timeout(self, now: float) -> None:
        if self.deadline is not None and now >= self.deadline:
            self.heard.append(f"time {now}")
            self.deadline = None

    def restart(self, now: float) -> None:
        self.heard.append("restart")


class Here(World):
    """A hub with that namespace."""

    def __init__(self, **settings: Any) -> None:
        self.space = Space()
        super().__init__(self.space, **settings)


@pytest.fixture
def world() -> Here:
    return Here()


def ends(world: Here, **options: Any) -> tuple[User, amqp.Sender, amqp.Receiver]:
    user = world.connect(**options)
    session = user.session()
    return user, user.sender("stack", session), user.receiver("stack", session)


def test_messages_go_to_the_node_and_come_from_it(world: Here) -> None:
    user, sender, receiver = ends(world)
    assert [type(each) for each in user.send(sender, b"1", b"2", b"3")] == [amqp.Accepted] * 3
    receiver.flow(2)
    first, second = user.take(receiver)
    assert (first.body, second.body) == (b"3", b"2")
    receiver.accept(first)
    receiver.update([second], amqp.Released())
    receiver.flow(2)
    assert user.bodies(receiver) == [b"2", b"1"]
    assert world.space.stack.heard[0] == ((first.delivery_tag,), amqp.Accepted())


def test_nodes_of_the_broker_are_there_beside_it(world: Here) -> None:
    user = world.connect()
    link = user.session().open_sender("nowhere")
    assert user.refused(link) == NOT_FOUND


@pytest.mark.parametrize("name,address,condition", [("unwanted", "stack", NOT_ALLOWED), ("any", "secret", NOT_FOUND)])
def test_a_refused_link_has_no_terminus_and_the_connection_stays(
    world: Here, name: str, address: str, condition: str
) -> None:
    user = world.connect()
    session = user.session()
    link = session.open_sender(address, name=name)
    assert user.refused(link) == condition
    user.sender("stack", session)
    assert user.end.is_open


def test_a_refused_message_is_rejected(world: Here) -> None:
    user, sender, _ = ends(world)
    (outcome,) = user.send(sender, b"x" * 2000)
    assert isinstance(outcome, amqp.Rejected)
    assert outcome.error is not None and outcome.error.condition == RESOURCE_LIMIT_EXCEEDED


def test_a_refused_message_that_was_settled_ends_its_link(world: Here) -> None:
    user, sender, _ = ends(world)
    sender.send(amqp.Message(b"x" * 2000), settled=True)
    assert user.refused(sender) == RESOURCE_LIMIT_EXCEEDED
    assert user.end.is_open


def test_an_unreadable_message_is_rejected_before_the_node_sees_it(world: Here) -> None:
    _, sender, _ = ends(world)
    pending = sender.send(b"\x00\x53\x77")
    world.pump()
    assert isinstance(pending.result, amqp.Rejected) and world.space.stack.messages == []


def test_drain_gives_up_the_credit_that_the_node_leaves(world: Here) -> None:
    user, sender, receiver = ends(world)
    user.send(sender, b"1")
    receiver.flow(5, drain=True)
    assert user.bodies(receiver) == [b"1"]
    assert receiver.credit == 0 and user.of(amqp.Drained)


def test_mode_second_waits_for_the_node_s_outcome(world: Here) -> None:
    user = world.connect()
    session = user.session()
    sender = user.sender("stack", session)
    receiver = user.receiver("stack", session, rcv_settle_mode=1)
    user.send(sender, b"1")
    receiver.flow(1)
    (delivery,) = user.take(receiver)
    (pending,) = receiver.accept(delivery)
    assert not pending.done
    world.pump()
    assert pending.done and pending.result == amqp.Accepted()


def test_a_reader_on_another_connection_gets_what_arrives_later(world: Here) -> None:
    one, sender, _ = ends(world)
    other = world.connect()
    receiver = other.receiver("stack")
    receiver.flow(1)
    world.pump()
    one.send(sender, b"late")
    assert other.bodies(receiver) == [b"late"]


def test_a_client_that_does_not_read_gets_a_backlog_of_messages_at_most(world: Here) -> None:
    _, sender, _ = ends(world)
    other = world.connect()
    slow = other.receiver("stack")
    slow.flow(100_000)
    world.pump()
    other.reads = False
    high = world.hub.settings.limits.backlog_high
    for _ in range(high // 900 + 200):
        sender.send(amqp.Message(b"x" * 900))
        world.pump()
    left = len(world.space.stack.messages)
    assert left > 50
    other.reads = True
    world.pump()
    assert world.space.stack.messages == [] and len(other.take(slow)) > left


@pytest.mark.parametrize("how", ["detach", "end", "close", "cut"])
def test_the_node_hears_that_a_link_is_over(world: Here, how: str) -> None:
    user, sender, _ = ends(world)
    if how == "detach":
        sender.close()
    elif how == "end":
        sender.session.close()
    elif how == "close":
        user.end.close()
    else:
        user.cut()
    world.pump()
    assert ("closed", sender.name) in world.space.stack.heard
    assert ("closed 1 0" in world.space.heard) == (how in ("close", "cut"))


@pytest.mark.parametrize("fail", [False, True])
def test_what_is_posted_in_a_transaction_is_there_after_it(world: Here, fail: bool) -> None:
    user, sender, _ = ends(world)
    controller = user.controller(user.session())
    txn_id = user.declare(controller)
    state = spec.TransactionalState(txn_id)
    (outcome,) = user.send(sender, b"1", state=state)
    assert outcome == spec.TransactionalState(txn_id, amqp.Accepted())
    assert world.space.stack.messages == []
    assert user.discharge(controller, txn_id, fail=fail) == amqp.Accepted()
    assert len(world.space.stack.messages) == (0 if fail else 1)
    assert ("rolled back" in world.space.stack.heard) == fail


def test_a_step_with_a_problem_rolls_the_transaction_back(world: Here) -> None:
    user, sender, _ = ends(world)
    controller = user.controller(user.session())
    txn_id = user.declare(controller)
    user.send(sender, b"12", b"13", state=spec.TransactionalState(txn_id))
    assert isinstance(user.discharge(controller, txn_id), amqp.Rejected)
    assert world.space.stack.messages == [] and world.space.stack.heard.count("rolled back") == 2


@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize("fail", [False, True])
def test_outcomes_in_a_transaction_count_after_it(world: Here, fail: bool, settled: bool) -> None:
    user, sender, receiver = ends(world)
    user.send(sender, b"1")
    receiver.flow(1)
    (delivery,) = user.take(receiver)
    controller = user.controller(user.session())
    txn_id = user.declare(controller)
    receiver.update([delivery], spec.TransactionalState(txn_id, amqp.Accepted()), settled=settled)
    world.pump()
    assert len(world.space.stack.held) == 1
    user.discharge(controller, txn_id, fail=fail)
    assert len(world.space.stack.held) == (1 if fail else 0)
    if not settled and not fail:
        assert delivery.delivery_tag not in receiver.unsettled


def test_a_node_that_takes_no_part_in_transactions_says_so(world: Here) -> None:
    world.space.stack = Plain()
    user, sender, _ = ends(world)
    controller = user.controller(user.session())
    txn_id = user.declare(controller)
    (outcome,) = user.send(sender, b"1", state=spec.TransactionalState(txn_id))
    assert isinstance(outcome.outcome, amqp.Rejected)
    assert user.discharge(controller, txn_id) == amqp.Accepted()


class Plain(Stack):
    """A stack with the default of a node for what is posted."""

    def post(self, link: Attachment, delivery: amqp.Delivery) -> tuple[amqp.DeliveryState, Step | None]:
        return Node.post(self, link, delivery)


def test_the_namespace_hears_of_connections_time_and_a_restart(world: Here) -> None:
    user = world.connect(hostname="host")
    assert world.space.heard == ["opened guest c0 host"]
    world.space.deadline = 5.0
    assert world.hub.next_deadline == 5.0
    world.advance(10.0)
    assert "time 5.0" in world.space.heard
    user.cut()
    world.hub.restart(world.now)
    assert world.space.heard[-2:] == ["closed 1 0", "restart"]


def test_a_hub_with_a_namespace_pickles(world: Here) -> None:
    user, sender, receiver = ends(world)
    user.send(sender, b"1")
    receiver.flow(1)
    world.pump()
    copy = world.copied()
    assert len(copy.space.stack.held) == 1
    assert copy.space.stack.readers[0].link is not receiver
    copy.pump()
    assert [type(each) for each in copy.users[0].events if isinstance(each, amqp.Delivery)]


def test_a_refusal_s_text_fits_the_client_s_frames(world: Here) -> None:
    user = world.connect(max_frame_size=512)
    link = user.session().open_sender("long")
    assert user.refused(link) == NOT_ALLOWED and user.end.is_open
