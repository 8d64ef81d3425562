"""Commands that end their session with an exception."""

from typing import Any

import pytest

from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.amqp_0_10.spec import ExchangeBind as Bind
from amqp_sansio.amqp_0_10.spec import ExchangeDeclare as Exchange
from amqp_sansio.amqp_0_10.spec import ExchangeUnbind as Unbind
from amqp_sansio.amqp_0_10.spec import QueueDeclare as Queue
from tests.kit.hub_0_10 import User

X, Y = spec.Xid(1, b"global", b"branch"), spec.Xid(1, b"global", b"other")
SELECT, START, END, SUSPEND = spec.DtxSelect(), spec.DtxStart(X), spec.DtxEnd(X), spec.DtxEnd(X, suspend=True)
PREPARE, ROLL_BACK, FORGET = spec.DtxPrepare(X), spec.DtxRollback(X), spec.DtxForget(X)
ONE_PHASE, TWO_PHASES = spec.DtxCommit(X, one_phase=True), spec.DtxCommit(X)
Q, E = Queue("q"), Exchange("e", "direct")
WITH_ALTERNATE = Exchange("e", "direct", "amq.fanout")
STRANGE, SPARE = {"strange": 1}, Exchange("spare", "fanout")
UNKNOWN = "exchange.declare/type-not-found model/type-naming exchange/extensions"
RESERVED = "queue.declare/reserved-prefix model/queue-naming"


def case(name: str, code: int, command: Any, *before: Any) -> Any:
    """A row: the rules that it proves, without their version, or else words; the code, the command, and what happened
    before."""
    rules = [f"0-10/{each}" for each in name.split() if "/" in each]
    return pytest.param(before, command, code, marks=[pytest.mark.rule(*rules)] if rules else [], id=name)


@pytest.mark.parametrize(
    ("before", "command", "code"),
    [
        case("exchange/default-access exchange.declare/name-required", 542, Exchange("", "direct")),
        case("exchange/default-access", 542, Exchange("", "direct", passive=True)),
        case("exchange/default-access exchange.delete/name-required", 542, spec.ExchangeDelete("")),
        case("exchange/default-access exchange.bind/name-required", 542, Bind("q", "", "key"), Q),
        case("exchange/default-access exchange.unbind/name-required", 542, Unbind("q", "", "q"), Q),
        case(
            "exchange.declare/reserved-names model/exchange-naming",
            530,
            Exchange("amq.mine", "direct"),
            Exchange("amq.direct", "direct", passive=True),
            Exchange("amq.direct", "direct"),
        ),
        case("exchange.declare/typed", 530, Exchange("e", "topic"), E, E),
        *[case(f"{UNKNOWN} {kind!r}", 404, Exchange("e", kind)) for kind in ("strange", "x-strange", "")],
        case(
            "exchange.declare/passive",
            404,
            Exchange("f", "direct", passive=True),
            E,
            Exchange("e", "direct", passive=True, arguments=STRANGE),
        ),
        case("exchange.declare/unknown-argument", 540, Exchange("e", "direct", arguments=STRANGE)),
        case(
            "exchange.declare/alt-pre-existing",
            530,
            Exchange("e", "direct", "amq.direct"),
            WITH_ALTERNATE,
            WITH_ALTERNATE,
            E,
        ),
        case("exchange.delete/exists", 404, spec.ExchangeDelete("nowhere")),
        case("deletion of a predeclared exchange", 530, spec.ExchangeDelete("amq.topic")),
        *[
            case("exchange.delete/used-as-alternate", 530, spec.ExchangeDelete("spare"), SPARE, by)
            for by in (Exchange("e", "direct", "spare"), Queue("q", "spare"))
        ],
        case(
            "model/failover model/failover-optional model/failover-single",
            530,
            Exchange("mine", "failover"),
            Exchange("amq.failover", "failover", passive=True),
        ),
        case("exchange.bind/empty-queue", 542, Bind("", "amq.direct", "k"), Q),
        case("exchange.bind/queue-existence", 404, Bind("nowhere", "amq.direct", "k"), Q),
        case("exchange.bind/exchange-existence", 404, Bind("q", "nowhere", "k"), Q),
        case("exchange.bind/unknown-argument", 540, Bind("q", "amq.direct", "k", STRANGE), Q),
        case("model/headers-x-match none", 542, Bind("q", "amq.match", "k"), Q),
        *[
            case(f"model/headers-x-match {each}", 542, Bind("q", "amq.match", "k", each), Q)
            for each in ({"a": 1}, {"x-match": "some"}, {"x-match": 1})
        ],
        case(
            "a selector of Qpid's JMS client, which gives an empty one with every binding",
            540,
            Bind("q", "amq.topic", "l", {"x-filter-jms-selector": "n = 1"}),
            Q,
            Bind("q", "amq.topic", "k", {"x-filter-jms-selector": ""}),
        ),
        case("model/system-binding", 530, Bind("q", "amq.system", "k"), Q),
        case("model/failover-shared", 530, Bind("q", "amq.failover", ""), Q),
        case("exchange.unbind/queue", 404, Unbind("nowhere", "amq.direct", "k"), Q, Bind("q", "amq.direct", "k")),
        case("exchange.unbind/exchange", 404, Unbind("q", "nowhere", "k"), Q, Bind("q", "amq.direct", "k")),
        case("exchange.unbind/binding-key", 404, Unbind("q", "amq.direct", "other"), Q, Bind("q", "amq.direct", "k")),
        case(RESERVED, 530, Queue("amq.mine")),
        case(f"{RESERVED} passive", 404, Queue("amq.mine", passive=True)),
        case("a queue without a name", 542, Queue("")),
        case(
            "queue.declare/alt-pre-existing",
            530,
            Queue("q", "amq.direct"),
            Queue("q", "amq.fanout"),
            Q,
            Queue("q", "amq.fanout"),
        ),
        case("queue.declare/alt-unknown", 404, Queue("q", "nowhere")),
        case("queue.declare/passive", 404, Queue("r", passive=True), Q, Queue("q", passive=True, arguments=STRANGE)),
        *[
            case(f"queue.declare/unknown-argument {each}", 540, Queue("q", arguments={each: 1}))
            for each in ("strange", "x-strange", "qpid.strange")
        ],
        case("a wrong qpid.policy_type", 542, Queue("q", arguments={"qpid.policy_type": "none"})),
        case("a wrong qpid.priorities", 542, Queue("q", arguments={"qpid.priorities": 0})),
        case("queue.delete/empty-name", 542, spec.QueueDelete("")),
        case("queue.delete/exists", 404, spec.QueueDelete("nowhere")),
        case("queue.purge/empty-name", 542, spec.QueuePurge("")),
        case("queue.purge/exists", 404, spec.QueuePurge("nowhere")),
        case("a file that was never staged", 404, spec.FilePublish("", "q", identifier="f"), Q),
        *[
            case(f"{each.NAME}/unknown-xid", 404, each, SELECT)
            for each in (
                spec.DtxCommit(Y),
                spec.DtxPrepare(Y),
                spec.DtxRollback(Y),
                spec.DtxForget(Y),
                spec.DtxGetTimeout(Y),
                spec.DtxSetTimeout(Y, 5),
            )
        ],
    ],
)
def test_a_command_is_refused(
    peer: User, session: amqp.Session, before: tuple[Any, ...], command: Any, code: int
) -> None:
    for each in before:
        peer.call(session, each)
    assert peer.refused(session, command) == code


@pytest.mark.parametrize(
    ("before", "command", "code"),
    [
        *[case(f"{each.NAME}/not-disassociated", 409, each) for each in (ONE_PHASE, PREPARE, ROLL_BACK, FORGET)],
        case("dtx.commit/two-phase dtx.commit/illegal-state", 409, TWO_PHASES, END),
        case("dtx.commit/one-phase dtx.commit/illegal-state", 409, ONE_PHASE, END, PREPARE),
        case("dtx.forget/illegal-state", 409, FORGET, END),
        case("dtx.prepare/illegal-state twice", 409, PREPARE, END, PREPARE),
        case("dtx.prepare/illegal-state suspended", 409, PREPARE, SUSPEND),
        case("dtx.rollback/illegal-state suspended", 409, ROLL_BACK, SUSPEND),
        case("dtx.commit/illegal-state suspended", 409, ONE_PHASE, SUSPEND),
    ],
)
def test_a_branch_in_the_wrong_state(
    peer: User, session: amqp.Session, second: amqp.Session, before: tuple[Any, ...], command: Any, code: int
) -> None:
    for each in (Q, SELECT, START):
        peer.call(session, each)
    peer.put(session, "q", b"work")
    for each in before:
        peer.call(session, each)
    assert peer.refused(second, command) == code
