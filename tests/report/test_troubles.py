"""Troubles of single connections: where they begin, and where there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from amqp_sansio_report.troubles import KINDS, Trouble, Troubles

SECOND = 1_000_000_000


def found(
    fill: Callable[[Troubles], None], *, cause: str = "normal", end: int = 10, **facts: Any
) -> dict[str, Trouble]:
    troubles = Troubles()
    fill(troubles)
    whole = bool(facts.pop("is_whole", True))
    kinds = {
        one.kind: one for one in troubles.finish(end * SECOND, cause, facts.pop("channel_max", None), is_whole=whole)
    }
    assert kinds.keys() <= set(KINDS)
    return kinds


def link(troubles: Troubles, *, granted: int = 0, sent: int = 0, at: int = 0) -> None:
    troubles.fields("attach", "client", 0, at * SECOND, 0, {"name": "out", "handle": 0, "role": False})
    troubles.fields("attach", "server", 0, at * SECOND, 1, {"name": "out", "handle": 5, "role": True})
    if granted:
        flow = {"handle": 5, "delivery_count": 0, "link_credit": granted}
        troubles.fields("flow", "server", 0, at * SECOND, 2, flow)
    for number in range(sent):
        troubles.fields("transfer", "client", 0, at * SECOND, 3 + number, {"handle": 0})


@pytest.mark.parametrize(("granted", "sent", "words"), [(0, 0, "never granted"), (2, 2, "was used up"), (3, 2, "")])
def test_a_link_without_credit(granted: int, sent: int, words: str) -> None:
    kinds = found(lambda troubles: link(troubles, granted=granted, sent=sent))
    assert ("credit" in kinds) is bool(words)
    if words:
        assert kinds["credit"].amount == 10 * SECOND and words in kinds["credit"].text


def test_nothing_is_said_where_something_may_be_missing() -> None:
    assert not found(link, is_whole=False)
    assert not found(lambda troubles: troubles.unit(0, 0, "client", 1, "channel.open"), channel_max=1, is_whole=False)


def test_a_drain_is_answered_by_a_flow_of_the_sender_or_by_the_use_of_the_credit() -> None:
    def drained(answer: tuple[str, dict[str, Any]] | None) -> Callable[[Troubles], None]:
        def fill(troubles: Troubles) -> None:
            troubles.fields("attach", "client", 0, 0, 0, {"name": "in", "handle": 0, "role": True})
            troubles.fields("attach", "server", 0, 0, 1, {"name": "in", "handle": 5, "role": False})
            ask = {"handle": 0, "delivery_count": 0, "link_credit": 1, "drain": True}
            troubles.fields("flow", "client", 0, SECOND, 2, ask)
            if answer is not None:
                troubles.fields(answer[0], "server", 0, 2 * SECOND, 3, answer[1])

        return fill

    assert found(drained(None))["drain"].amount == 9 * SECOND
    assert not found(drained(("flow", {"handle": 5, "delivery_count": 1, "link_credit": 0})))
    assert not found(drained(("transfer", {"handle": 5})))


def test_a_window_that_is_opened_again_was_closed_for_that_time() -> None:
    def fill(troubles: Troubles) -> None:
        begin = {"next_outgoing_id": 7, "incoming_window": 1}
        troubles.fields("begin", "client", 3, 0, 0, begin)
        troubles.fields("begin", "server", 9, 0, 1, {**begin, "remote_channel": 3})
        troubles.fields("transfer", "server", 9, SECOND, 2, {"handle": 0})
        troubles.fields("flow", "client", 3, 4 * SECOND, 3, {"next_incoming_id": 8, "incoming_window": 1})

    window = found(fill)["window"]
    assert (window.amount, "the client's incoming-window of 1" in window.text) == (3 * SECOND, True)


def test_publishes_before_an_answer_have_arrived() -> None:
    def published(*events: tuple[str, str]) -> Callable[[Troubles], None]:
        def fill(troubles: Troubles) -> None:
            for seq, (sender, event) in enumerate(events):
                troubles.unit(seq, seq * SECOND, sender, 1, event)

        return fill

    publish, answer = ("client", "basic.publish"), ("server", "queue.declare-ok")
    assert found(published(publish, answer, publish), cause="transport")["doubt"].amount == 1
    assert not found(published(publish, answer), cause="transport")
    assert not found(published(publish), cause="normal")
    assert not found(published(("client", "confirm.select"), publish), cause="transport")
    lost = found(published(publish, ("server", "channel.close"), publish, publish))
    assert lost["behind"].amount == 2
    opened = published(("server", "channel.close"), ("client", "channel.open"), publish)
    assert "behind" not in found(opened)


@pytest.mark.parametrize(
    ("most", "channel_max", "leaks"), [(99, 2047, False), (100, 2047, True), (5, 5, True), (5, 0, False)]
)
def test_channels_that_leak(most: int, channel_max: int, leaks: bool) -> None:
    def fill(troubles: Troubles) -> None:
        for number in range(most):
            troubles.unit(number, number, "client", number + 1, "channel.open")

    assert ("leak" in found(fill, channel_max=channel_max)) is leaks
