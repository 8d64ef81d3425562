"""Rules that endpoints and observers of 0-10 once judged apart: both say the same, what the specification says."""

from typing import Any

import pytest

from amqp_sansio import Failed, LocalProtocolError
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from tests.kit.ends_0_10 import Ends
from tests.kit.facing import CLIENT
from tests.kit.facing_0_10 import Facing
from tests.kit.octets_0_10 import completed, transfer
from tests.kit.talk_0_10 import Talk010
from tests.kit.talk_0_10 import transfer as message

XID = spec.Xid(1, b"g", b"b")
START = spec.DtxStart(XID)
SUSPEND = spec.DtxEnd(XID, suspend=True)

_BY_CLIENTS: list[tuple[str, tuple[Any, ...]]] = [
    ("dtx.select/required", (START,)),
    ("dtx.select/required", (spec.DtxEnd(XID),)),
    ("dtx.select/required", (spec.TxSelect(), START)),
    ("dtx.start/illegal-state", (spec.DtxSelect(), START, START)),
    ("dtx.end/not-associated", (spec.DtxSelect(), START, SUSPEND, spec.DtxEnd(XID))),
    ("file.consume/tag-empty", (spec.FileConsume("q", " "),)),
    ("stream.consume/tag-empty", (spec.StreamConsume("q", "\t"),)),
    ("message.cancel/not-found", (spec.MessageFlow("d", 0, 1),)),
]


class Agreeing(Ends):
    """Its server says that all went well with a branch."""

    def answer(self, here: amqp.Connection, event: Any) -> None:
        """Execute whatever comes."""
        if isinstance(event, amqp.CommandReceived) and event.command.RESULT:
            here.session(event.channel).complete(event.command_id, spec.XaResult(0))
        else:
            super().answer(here, event)


@pytest.mark.parametrize(("rule", "commands"), _BY_CLIENTS)
@pytest.mark.rule(*{f"0-10/{rule}" for rule, _ in _BY_CLIENTS})
def test_what_a_client_must_not_send(rule: str, commands: tuple[Any, ...]) -> None:
    """Its own end refuses it, a server's end refuses it, and an observer reports it."""
    *before, wrong = commands
    ends = Agreeing()
    for each in before:
        ends.session.call(each)
    ends.move()
    with pytest.raises(LocalProtocolError) as caught:
        ends.session.call(wrong)
    assert caught.value.rule == f"0-10/{rule}"
    ends.forced(ends.session, wrong)
    assert ends.failure(ends.server).rule == f"0-10/{rule}"
    assert Talk010().open().session().client(*commands).finish().rules == [rule]


@pytest.mark.rule("0-10/session/exactly-once")
def test_nobody_completes_what_was_not_sent() -> None:
    facing = Facing.attached(CLIENT)
    facing.session.call(spec.ExecutionSync())
    facing.feed(completed((0, facing.last_id + 1)))
    (failed,) = facing.of(Failed)
    assert failed.error.rule == "0-10/session/exactly-once"
    talk = Talk010().open().session().client(spec.ExecutionSync())
    talk.server(spec.SessionCompleted(amqp.SequenceSet.of(0, 1)))
    assert talk.finish().rules == ["session/exactly-once"]


@pytest.mark.rule("0-10/message.subscribe/zero-credit")
def test_what_is_not_subscribed_has_no_credit() -> None:
    facing = Facing.attached(CLIENT)
    facing.feed(transfer("d", b"x"))
    (failed,) = facing.of(Failed)
    assert failed.error.rule == "0-10/message.subscribe/zero-credit"
    talk = Talk010().open().session().server(message("d"))
    assert talk.finish().rules == ["message.subscribe/zero-credit"]


@pytest.mark.rule("0-10/dtx.end/suspend")
def test_an_endpoint_leaves_it_to_the_server_whether_a_suspended_branch_is_over() -> None:
    """A branch may have been rolled back meanwhile, so that its xid is a new one; an observer tells of it."""
    ends = Agreeing()
    for each in (spec.DtxSelect(), START, SUSPEND, START):
        ends.session.call(each)
    ends.move()
    assert ends.session.is_attached
    talk = Talk010().open().session().client(spec.DtxSelect(), START, SUSPEND, START)
    assert talk.finish().rules == ["dtx.end/suspend"]


@pytest.mark.rule("0-10/file.open-ok/behavior")
def test_files_of_one_side_alone_are_not_judged() -> None:
    talk = Talk010().open().session().client(spec.FileOpen("i", 1), spec.MessageSubscribe("q", "d", 0, 0))
    assert not talk.finish().rules
