"""Histories of recorded traffic are what its clients did."""

from collections import Counter
from typing import Any

import pytest

from amqp_sansio.recorded.histories import as_dict, steps_of
from amqp_sansio.recorded.tables import COLUMNS, replay_segments
from tests.kit.captures import named, sampled, truth
from tests.kit.tables import segments_of

CAME = ("deliver", "redeliver", "get")


def found_in(name: str) -> list[dict[str, Any]]:
    path = named(f"{name}.pcap")
    return [as_dict(step) for step in steps_of(replay_segments(segments_of([path])))]


def count(found: list[dict[str, Any]], **wanted: object) -> int:
    return sum([all([step[name] == value for name, value in wanted.items()]) for step in found])


def stories(found: list[dict[str, Any]]) -> dict[str, list[str]]:
    told: dict[str, list[str]] = {}
    for step in found:
        told.setdefault(step["history"], []).append(step["what"])
    return told


def test_four_clients_at_once() -> None:
    known = truth(named("o091_concurrent_4_clients.pcap"))["truth"]
    found = found_in("o091_concurrent_4_clients")
    told = stories(found)
    assert len(told) == known["publishes"] == 12
    # Each was published and came once; librabbitmq's tools do each in a connection of its own.
    assert all([story[0] == "publish" and sum([what in CAME for what in story]) == 1 for story in told.values()])
    assert {step["certainty"] for step in found if step["what"] in CAME} == {"certain"}
    own = known["per"].values()
    assert count(found, what="get") == sum([each.get("get_ok", 0) for each in own])
    assert count(found, what="deliver") == sum([each.get("deliveries", 0) for each in own])
    assert count(found, what="confirm") == sum([each.get("confirms", 0) for each in own])
    moved = [
        step["history"]
        for step in found
        if step["what"] in CAME and not step["history"].startswith(f"{step['connection']}/")
    ]
    assert len(moved) == known["per"]["o091_librabbitmq_c_tools"]["publishes"]


def test_rejected_given_back_and_dead_lettered() -> None:
    known = truth(named("o091_pika_nack_reject_requeue.pcap"))["truth"]
    found = found_in("o091_pika_nack_reject_requeue")
    told = stories(found)
    assert len(told) == known["publishes"]
    # How often each of the six was taken, in the order in which they were published.
    taken = Counter([name for name, _, _ in known["gets"]])
    dead = {name for name, _ in known["dead_lettered"]}
    in_order = sorted(told, key=lambda name: int(name.rpartition("/")[2]))
    for number, name in enumerate(in_order):
        story = told[name]
        times = sum([what in CAME for what in story])
        assert times == taken[f"n{number}"] + (f"n{number}" in dead)
        assert ("dead-letter" in story) == (f"n{number}" in dead)
        assert story.count("redeliver") == taken[f"n{number}"] - 1


def test_channels_that_mix() -> None:
    known = truth(named("o091_aiopika_channels_interleaved.pcap"))["truth"]
    found = found_in("o091_aiopika_channels_interleaved")
    assert len(stories(found)) == known["publishes"] == 30
    assert count(found, what="deliver", certainty="certain") == known["deliveries"]
    assert count(found, what="settle", outcome="accepted") == known["acks"]
    # All on one connection: a message comes back on the channel that published it, as each has a queue of its own.
    channels = {step["history"]: step["channel"] for step in found if step["what"] == "publish"}
    assert Counter(channels.values()) == {int(key): value for key, value in known["per_channel"].items()}
    assert all([channels[step["history"]] == step["channel"] for step in found if step["what"] == "deliver"])


def test_returns_belong_to_their_publishes() -> None:
    known = truth(named("o091_pyamqp_mandatory_return.pcap"))["truth"]
    found = found_in("o091_pyamqp_mandatory_return")
    assert len(stories(found)) == known["publishes"]
    assert count(found, what="return", certainty="certain") == known["returns"]
    assert {step["text"] for step in found if step["what"] == "return"} == {f"{known['reply_code']} NO_ROUTE"}


def test_three_sessions_of_1_0() -> None:
    known = truth(named("o10_proton_proton_sessions.pcap"))["truth"]
    found = found_in("o10_proton_proton_sessions")
    told = stories(found)
    assert len(told) == known["messages"]
    assert all([story[0] == "publish" and "deliver" in story for story in told.values()])


def test_lost_and_doubled_packets_tell_the_same_story() -> None:
    plain = stories(found_in("o091_aiopika_channels_interleaved"))
    for name in ("dup", "reorder", "reseg_overlap", "bigendian", "nsec", "seqwrap"):
        there = stories(found_in(f"o091d_channels_{name}"))
        assert sorted(there.values()) == sorted(plain.values()), name


@pytest.mark.parametrize("path", sampled("*.pcap"))
def test_every_delivery_of_every_capture_is_in_one_history(path: Any) -> None:
    rows = list(replay_segments(segments_of([path])))
    columns = [name for name, _ in COLUMNS["messages"]]
    messages = [dict(zip(columns, values, strict=True)) for table, values in rows if table == "messages"]
    # Of a message whose size or sender nobody knows there is no history.
    messages = [each for each in messages if each["body_size"] is not None and each["sender"] is not None]
    found = [as_dict(step) for step in steps_of(rows)]
    came = Counter([(step["connection"], step["seq"]) for step in found if step["what"] in CAME])
    expected = Counter([(each["connection"], each["seq"]) for each in messages if each["kind"] in ("deliver", "get")])
    assert came == expected
    published = Counter([(step["connection"], step["seq"]) for step in found if step["what"] == "publish"])
    assert published == Counter([(each["connection"], each["seq"]) for each in messages if each["kind"] == "publish"])
