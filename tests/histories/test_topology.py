"""The topology: what clients asked for in each version, what became of it, and what it says of routes."""

import json
from typing import Any

import pytest

from amqp_sansio.recorded.histories import TOPOLOGY_COLUMNS, Happening, Topology, fold_topology, picked
from amqp_sansio.recorded.tables import COLUMNS, replay_segments
from tests.kit.captures import named
from tests.kit.tables import segments_of

OF_EVENT = picked(Happening._fields, COLUMNS["events"])


def acts_of(events: list[Happening]) -> list[dict[str, Any]]:
    names = [name for name, _ in TOPOLOGY_COLUMNS]
    return [dict(zip(names, row, strict=True)) for row in fold_topology(events)]


def acts_in(name: str) -> list[dict[str, Any]]:
    rows = replay_segments(segments_of([named(f"{name}.pcap")]), tables=["events"])
    events = [Happening(*[values[index] for index in OF_EVENT]) for _, values in rows]
    events.sort(key=lambda event: (event.connection, event.seq))
    return acts_of(events)


class Script:
    """Events of one connection, one after the other."""

    def __init__(self, protocol: str) -> None:
        self.protocol = protocol
        self.events: list[Happening] = []

    def say(self, sender: str, event: str, answers: int | None = None, channel: int = 1, **fields: Any) -> int:
        seq = len(self.events)
        text = json.dumps(fields)
        self.events.append(Happening("c", seq, seq * 1000, sender, self.protocol, channel, event, text, answers))
        return seq

    def told(self) -> list[tuple[Any, ...]]:
        return [(act["act"], act["kind"], act["name"], act["state"], act["text"]) for act in acts_of(self.events)]


def test_all_kinds_of_exchanges_in_a_capture() -> None:
    acts = acts_in("o091_pika_exchange_types")
    made = {act["name"]: act["type"] for act in acts if (act["kind"], act["act"]) == ("exchange", "declare")}
    kinds = ("direct", "topic", "fanout", "headers")
    assert {f"x.{kind}": kind for kind in kinds}.items() <= made.items()
    assert {act["state"] for act in acts} == {"done"}
    assert {act["vhost"] for act in acts} == {"/"}
    bound = [act for act in acts if act["act"] == "bind"]
    assert ("x.direct", "x.fanout", "exchange", "k2") in [
        (act["source"], act["destination"], act["destination_kind"], act["routing_key"]) for act in bound
    ]
    queues = [act["name"] for act in acts if (act["kind"], act["act"]) == ("queue", "declare")]
    # Those without a name have the one that the server gave.
    assert len(set(queues)) == len(queues) and all(queues)


def test_what_a_server_refuses_is_refused() -> None:
    acts = acts_in("o091_pika_channel_errors")
    refused = [act for act in acts if act["state"] == "refused"]
    assert {act["text"].split()[0] for act in refused} >= {"404", "406"}
    assert {act["state"] for act in acts} <= {"done", "refused"}


def test_a_queue_of_0_10_and_its_end() -> None:
    acts = acts_in("o010_messaging_basic")
    assert [(act["act"], act["kind"], act["state"]) for act in acts] == [("delete", "queue", "done")]


def test_answers_of_0_9_1() -> None:
    script = Script("0-9-1")
    script.say("client", "connection.open", virtual_host="v")
    declare = script.say("client", "queue.declare", queue="", arguments={})
    script.say("server", "queue.declare-ok", declare, queue="made-up")
    bind = script.say("client", "queue.bind", queue="", exchange="amq.direct", routing_key="")
    other = script.say("client", "queue.declare", queue="other", channel=2)
    script.say("server", "channel.close", reply_code=406, reply_text="PRECONDITION_FAILED", channel=2)
    script.say("client", "queue.delete", queue="gone", no_wait=True)
    script.say("client", "exchange.delete", exchange="x", channel=3)
    assert bind < other
    assert script.told() == [
        ("declare", "queue", "made-up", "done", None),
        ("declare", "queue", "other", "refused", "406 PRECONDITION_FAILED"),
        ("delete", "queue", "gone", "done", None),
        ("bind", "binding", None, "asked", None),
        ("delete", "exchange", "x", "asked", None),
    ]
    [binding] = [act for act in acts_of(script.events) if act["kind"] == "binding"]
    # Both left empty means the channel's last queue, and its name as the key.
    assert (binding["destination"], binding["routing_key"], binding["vhost"]) == ("made-up", "made-up", "v")


def test_answers_of_0_10() -> None:
    script = Script("0-10")
    script.say("client", "exchange.declare", exchange="x", type="topic", id=0)
    script.say("client", "exchange.bind", exchange="x", queue="q", binding_key="a.#", id=1)
    script.say("client", "queue.declare", queue="p", id=2)
    script.say("server", "session.completed", commands=[[0, 0]])
    script.say("server", "execution.exception", error_code=404, command_id=1, description="no q")
    script.say("client", "session.completed", commands=[[0, 9]])
    assert script.told() == [
        ("declare", "exchange", "x", "done", None),
        ("bind", "binding", None, "refused", "404 no q"),
        ("declare", "queue", "p", "asked", None),
    ]


def test_nodes_of_1_0() -> None:
    script = Script("1.0")
    script.say("client", "open", hostname="vhost:v")
    script.say("client", "attach", name="r", role=True, source={"dynamic": True})
    script.say("server", "attach", name="r", role=False, source={"address": "tmp-1"})
    script.say("client", "attach", name="s", role=False, target={"address": "/queue/a%2Fb"})
    script.say("server", "attach", name="s", role=True, target=None)
    script.say("client", "attach", name="m", role=False, target={"address": "/management"})
    request = {"message_id": "1", "to": "/queues/jobs", "subject": "PUT"}
    script.say("client", "transfer", properties=request, node="/management")
    script.say("server", "transfer", properties={"correlation_id": "1", "subject": "201"})
    script.say("client", "transfer", properties={**request, "message_id": "2", "subject": "DELETE"}, to="/management")
    assert script.told() == [
        ("declare", "queue", "tmp-1", "done", None),
        ("declare", "queue", "a/b", "refused", "attached without a terminus"),
        ("declare", "queue", "jobs", "done", None),
        ("delete", "queue", "jobs", "asked", None),
    ]
    assert {act["vhost"] for act in acts_of(script.events)} == {"v"}


def _topology() -> Topology:
    script = Script("0-9-1")
    for name, kind in (("t", "topic"), ("f", "fanout"), ("d", "direct")):
        script.say("client", "exchange.declare", exchange=name, type=kind, no_wait=True)
    script.say("client", "queue.bind", queue="q", exchange="t", routing_key="a.*", no_wait=True)
    script.say("client", "exchange.bind", source="d", destination="f", routing_key="k", no_wait=True)
    script.say("client", "queue.bind", queue="p", exchange="f", routing_key="", no_wait=True)
    script.say("client", "queue.bind", queue="q", exchange="amq.topic", routing_key="#", no_wait=True)
    script.say("client", "queue.unbind", queue="q", exchange="amq.topic", routing_key="#", no_wait=True)
    dead = {"x-dead-letter-exchange": "dlx", "x-dead-letter-routing-key": "k"}
    script.say("client", "queue.declare", queue="q", arguments=dead, no_wait=True)
    return Topology(fold_topology(script.events))


@pytest.mark.parametrize(
    ("exchange", "key", "queue", "at", "reached"),
    [
        ("", "q", "q", 0, True),
        ("", "q", "p", 0, False),
        ("t", "a.b", "q", 9000, True),
        ("t", "a.b.c", "q", 9000, None),
        ("t", "a.b", "q", 2999, None),
        ("d", "k", "p", 9000, True),
        ("d", "other", "p", 9000, None),
        ("f", "anything", "p", 9000, True),
        ("amq.topic", "x", "q", 6500, True),
        ("amq.topic", "x", "q", 9000, None),
        ("unknown", "x", "q", 9000, None),
    ],
)
def test_what_bindings_lead_to(exchange: str, key: str, queue: str, at: int, reached: bool | None) -> None:
    assert _topology().reaches(None, exchange, key, queue, at) is reached
