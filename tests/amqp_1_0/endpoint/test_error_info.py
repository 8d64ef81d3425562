"""What a peer says in an error's info: in the report, the error and the text of each level."""

import pickle
from typing import Any

import pytest

from amqp_sansio import By, Closed, CloseReport, EndpointClosed, Failed, RemoteProtocolError, Scope, Side
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.events import Info
from tests.kit.links_1_0 import Mapped
from tests.kit.pair_1_0 import Pair

INFO = {amqp.Symbol("network-host"): "10.0.0.7", amqp.Symbol("port"): spec.UShort(5999), amqp.Symbol("address"): "q2"}
PLAIN = {"network-host": "10.0.0.7", "port": 5999, "address": "q2"}


def error(condition: str) -> amqp.Error:
    return amqp.Error(condition, "go there", INFO)


@pytest.mark.rule("1.0/transport/error/connection-redirect")
def test_a_redirect_of_the_connection_says_where() -> None:
    facing = Mapped.begun()
    facing.get(spec.Close(error("amqp:connection:redirect")))
    report = facing.of(Closed)[-1].report
    assert report.info == PLAIN
    assert type(report.info["port"]) is int
    assert "10.0.0.7" in report.hint
    assert "5999" in str(report)
    (failed,) = [each for each in facing.of(Failed) if each.scope is Scope.CONNECTION]
    assert isinstance(failed.error, RemoteProtocolError)
    assert failed.error.info == PLAIN
    with pytest.raises(EndpointClosed) as caught:
        facing.end.open_session()
    assert caught.value.report is not None
    assert caught.value.report.info == PLAIN


@pytest.mark.rule("1.0/transport/error/link-redirect")
def test_the_info_of_a_session_and_of_a_link_is_in_their_reports() -> None:
    facing = Mapped.begun()
    link = facing.receiver()
    facing.get(spec.Detach(0, True, error("amqp:link:redirect")))
    assert link.report is not None
    assert link.report.info == PLAIN
    assert link.report.hint == "attach to address q2 at 10.0.0.7, port 5999"
    (failed,) = facing.of(amqp.LinkFailed)
    assert failed.error.info == PLAIN
    facing.get(spec.End(amqp.Error("amqp:internal-error", None, {"tracking-id": "7_G3"})))
    assert facing.session.report is not None
    assert facing.session.report.info == {"tracking-id": "7_G3"}
    assert "tracking-id 7_G3" in str(facing.session.report)


def test_the_info_of_an_outcome_is_the_error_s() -> None:
    facing = Mapped.begun()
    link = facing.sender()
    pending = link.send(b"\x00\x53\x77\x41")
    facing.get(spec.Disposition(True, 0, None, True, amqp.Rejected(error("com.microsoft:server-busy"))))
    state: Any = pending.result
    assert state.error.info["network-host"] == "10.0.0.7"


def test_this_end_s_own_info_is_in_its_own_report() -> None:
    pair = Pair().open()
    pair.ends[Side.SERVER].close("amqp:connection:redirect", "there", INFO)
    pair.drive()
    reports = [each.report for each in pair.ends.values()]
    assert [each.info for each in reports if each is not None] == [PLAIN, PLAIN]


def test_an_info_is_a_value() -> None:
    report = CloseReport(By.REMOTE, 0, "x", info=Info({"a": [1, {"b": 2}]}))
    assert pickle.loads(pickle.dumps(report)) == report
    assert hash(report) == hash(report.but())
    assert report.info == {"a": [1, {"b": 2}]}
    assert str(report) == "closed by the peer: x [a [1, {'b': 2}]]"
    long = CloseReport(By.REMOTE, 0, "x", info=Info({"a": "b" * 1000}))
    assert len(str(long)) < 400
    assert "\x1b" not in str(CloseReport(By.REMOTE, 0, "", info=Info({"a": "\x1b[31m"})))
