"""Whatever two ends of 0-10 say, each message comes out once, and the ledger holds those that the model has open."""

import random
from collections import Counter
from typing import Any, Final

import pytest

from amqp_sansio import AMQP_0_10, Limits
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio._watching.observation import Observed, Setting, Skipped
from amqp_sansio._watching.outcomes import OutcomeLedger
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.amqp_0_10.observer.connection import Observer
from amqp_sansio.amqp_0_10.observer.open_messages import OpenMessages
from amqp_sansio.amqp_0_10.observer.records import Records
from tests.kit.talk_0_10 import completed, content, frames, stage, transfer

FEW: Final = Limits(channels=2, calls=4, unsettled=3, unconfirmed=3, consumers=2, requests=8, bodies=10_000)


def _said(choose: random.Random, client: bool, channel: int) -> Any:
    """Something that a side may say, whether it fits or not; ids and tags are small, so that many meet."""
    ids = amqp.SequenceSet.of(*[choose.randrange(20) for _ in range(choose.randrange(1, 5))])
    xid = spec.Xid(choose.randrange(3), b"g", b"b")
    name, tag, flag = choose.choice("ab"), choose.randrange(9), choose.random() < 0.5
    both: list[Any] = [
        *[transfer(choose.choice("de"), b"x", channel=channel, accept_mode=choose.choice([0, 1]))] * 4,
        *[completed(*ids)] * 3,
        spec.MessageAccept(ids),
        spec.MessageRelease(ids),
        spec.MessageReject(ids, 1, "no"),
        spec.FileOpen(name, 1),
        spec.FileOpenOk(0),
        stage(b"x"),
        spec.SessionDetached(b"s", 0),
    ]
    if not client:
        return choose.choice(
            [
                *both,
                spec.ExecutionException(404, tag),
                *[spec.ExecutionResult(tag, spec.XaResult(choose.randrange(8)))] * 2,
                *[spec.FileDeliver(name, tag, identifier=name)] * 2,
                content(spec.StreamDeliver("s", tag), b"s", spec.StreamProperties(), channel=channel),
                content(spec.FileReturn(312, "", "ex", "k"), b"x", spec.FileProperties(), channel=channel),
                spec.SessionAttached(choose.choice([b"s", b"t"])),
            ]
        )
    return choose.choice(
        [
            *both,
            spec.TxSelect(),
            *[spec.TxCommit(), spec.TxRollback()] * 2,
            spec.DtxSelect(),
            *[spec.DtxStart(xid), spec.DtxEnd(xid)] * 2,
            spec.DtxPrepare(xid),
            spec.DtxCommit(xid, flag),
            spec.DtxRollback(xid),
            spec.DtxForget(xid),
            spec.MessageSubscribe("q", choose.choice("de"), int(flag), 0),
            spec.FileConsume("q", name, no_ack=flag),
            spec.FileAck(tag, flag),
            spec.FileReject(tag, flag),
            spec.FilePublish("ex", "k", mandatory=flag, identifier=name),
            content(spec.StreamPublish("ex", "k", immediate=flag), b"x", spec.StreamProperties(), channel=channel),
            spec.SessionAttach(choose.choice([b"s", b"t"])),
            spec.SessionCommandPoint(tag, 0),
        ]
    )


def _open(messages: OpenMessages) -> set[int]:
    """The units of all messages that the model has open."""
    sessions = [*messages.sessions.values(), *[s for found in messages.branches.values() for s in found]]
    units: set[int] = set()
    for session in sessions:
        for waiting in (session.publishes, session.deliveries, session.given, session.files):
            units.update(waiting.values())
        ending = [work for _, work in session.ending.values()]
        for work in (session.transaction, *ending, *session.parts.values()):
            units.update(work.units)
    return units


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("limits", [Limits(), FEW], ids=["many", "few"])
def test_each_message_comes_out_once(seed: int, limits: Limits) -> None:
    choose = random.Random(seed)
    observer = Observer(Setting(AMQP_0_10, True, "hash", limits, "c", "s", "told", 0))
    ledger, records = OutcomeLedger(limits), Records(AMQP_0_10)
    out: list[int] = []
    messages: list[int] = []
    ended: Counter[int] = Counter()
    for at_ns in range(250):
        channel, client = choose.randrange(3), choose.random() < 0.5
        said = _said(choose, client, channel)
        octets = said if isinstance(said, bytes) else frames(said, channel)
        if at_ns < 2:
            client, octets = at_ns == 0, AMQP_0_10.header
        if choose.random() < 0.02:
            observer.gap(client, 5, at_ns)
        observer.receive(client, (octets,), (at_ns,))
        while (event := observer.next()) is not None:
            if isinstance(event, Observed):
                if event.event in records.messages and event.unit in ("method", "content"):
                    messages.append(event.seq)
                out += [message.seq for message in ledger.take(event, records)]
                ended.update(
                    event.seq if unit is None else unit for unit, _, how in event.settles if how in ("settled", "ended")
                )
            elif isinstance(event, Skipped):
                out += [message.seq for message in ledger.lose(event)]
                ended.update(unit for unit, _, _ in event.settles if unit is not None)
        assert isinstance(observer.model.messages, OpenMessages)
        still_open = _open(observer.model.messages)
        assert still_open == set(messages) - set(ended)
        assert ledger.held == len(still_open) or limits is FEW
    out += [message.seq for message in ledger.finish()]
    assert sorted(out) == messages
    assert len(messages) > 20
    assert set(ended.values()) == {1}
