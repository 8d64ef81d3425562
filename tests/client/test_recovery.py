"""The machine of recovery alone: its table, its times and its addresses."""

from __future__ import annotations

import pickle

import pytest

from amqp_sansio import AMQP_1_0, By, CloseReport, EndpointClosed, LocalProtocolError
from amqp_sansio._ground.state_table import unreachable
from amqp_sansio.client.connecting import new_connection
from amqp_sansio.client.reaching import Route
from amqp_sansio.client.recovery import RECOVERY, Recovery, RecoveryPolicy, State, elsewhere, is_temporary, policy_of
from amqp_sansio.events import Info
from amqp_sansio.uri import parse

CUT = CloseReport(By.TRANSPORT, 0, "cut")


def delays(policy: RecoveryPolicy, count: int, seed: int = 0, addresses: tuple[str, ...] = ("a",)) -> list[float]:
    """The waits before so many attempts, each of which fails at once."""
    recovery, now, found = Recovery(policy, addresses, seed), 100.0, list[float]()
    for _ in range(count):
        assert recovery.keeps(CUT)
        event = recovery.wait(now)
        assert event is not None
        now += event.seconds
        found.append(round(event.seconds, 6))
        assert not recovery.handle_timeout(now)
    return found


def test_every_state_is_reached_and_only_the_end_has_no_way_out() -> None:
    assert unreachable(RECOVERY, State.CONNECTED) == set()
    assert [state for state, row in RECOVERY.items() if not row] == [State.ENDED]


def test_the_waits_grow_to_the_ceiling_and_a_round_begins_after_all_addresses() -> None:
    policy = RecoveryPolicy(first_delay=1.0, ceiling=5.0, jitter=0.0)
    assert delays(policy, 5) == [1.0, 2.0, 4.0, 5.0, 5.0]
    assert delays(policy, 5, addresses=("a", "b")) == [1.0, 0.0, 2.0, 0.0, 4.0]


def test_jitter_and_order_follow_from_the_number_given() -> None:
    policy = RecoveryPolicy(jitter=0.5, shuffle=True)
    assert delays(policy, 6, 1) == delays(policy, 6, 1) != delays(policy, 6, 2)
    assert all(0.25 <= first <= 0.5 for first in (delays(policy, 1, seed)[0] for seed in range(50)))
    orders = {tuple(places(policy, seed)) for seed in range(50)}
    assert len(orders) == 6
    assert all(set(order) == {0, 1, 2} for order in orders)


def test_a_policy_shows_no_password() -> None:
    addresses = ("amqp://u:hunter2@h/", "amqp//u:hunter2@h", "amqps://h/?token_secret=hunter2")
    shown = repr(RecoveryPolicy(addresses=addresses))
    assert "hunter2" not in shown
    assert "amqp://u:***@h/" in shown
    assert "<no URL>" in shown


def places(policy: RecoveryPolicy, seed: int) -> list[int | None]:
    """The places of the addresses of the first round."""
    recovery, found = Recovery(policy, ("a", "b", "c"), seed), list[int | None]()
    for _ in range(3):
        recovery.keeps(CUT)
        recovery.wait(0.0)
        recovery = pickle.loads(pickle.dumps(recovery))
        recovery.handle_timeout(1.0)
        found.append(recovery.take_wanted())
    return found


@pytest.mark.parametrize(
    ("report", "again"),
    [
        (CUT, True),
        (CloseReport(By.REMOTE, 320, "CONNECTION_FORCED"), True),
        (CloseReport(By.REMOTE, 403, "ACCESS_REFUSED"), False),
        (CloseReport(By.REMOTE, 530, "NOT_ALLOWED"), False),
        (CloseReport(By.LOCAL, 501, "frame error"), True),
        (CloseReport(By.LOCAL, 200, "bye"), False),
        (CloseReport(By.REMOTE, condition="amqp:unauthorized-access"), False),
    ],
)
def test_which_ends_are_tried_again(report: CloseReport, again: bool) -> None:
    assert is_temporary(report) or not again
    assert Recovery(RecoveryPolicy(), ("a",)).keeps(report) is again


def test_it_gives_up_after_its_attempts_or_when_the_policy_says_so() -> None:
    recovery = Recovery(RecoveryPolicy(attempts=1), ("a",))
    assert recovery.keeps(CUT)
    assert recovery.wait(0.0) is not None
    recovery.handle_timeout(1.0)
    assert recovery.keeps(CUT)
    assert recovery.wait(2.0) is None
    assert "given up after 1 attempts in 2 s (a after 2 s: transport lost: cut)" in str(recovery.report)
    assert not recovery.keeps(CUT)
    assert not Recovery(RecoveryPolicy(retry=lambda _: False), ("a",)).keeps(CUT)
    with pytest.raises(LocalProtocolError, match="recovery is connected: done can't happen now"):
        Recovery(RecoveryPolicy(), ("a",)).done()


def test_the_argument_of_connect() -> None:
    assert policy_of(False) is None
    assert policy_of(True) == RecoveryPolicy()
    with pytest.raises(TypeError, match="recover is True, False or a RecoveryPolicy, not int"):
        policy_of(1)


def moved(host: str, port: int | None = None, **more: object) -> CloseReport:
    """A server's word that its client is to go elsewhere."""
    info = {"network-host": host, **({} if port is None else {"port": port}), **more}
    return CloseReport(By.REMOTE, 0, "", condition="amqp:connection:redirect", info=Info(info))


def went(recovery: Recovery, report: CloseReport) -> tuple[str, float]:
    """Where the next attempt goes after a loss, and in how many seconds."""
    assert recovery.keeps(report)
    event = recovery.wait(0.0)
    assert event is not None
    recovery.handle_timeout(event.seconds)
    place = recovery.take_wanted()
    assert place is not None
    target = recovery.target(parse(recovery.addresses[place]))
    assert recovery.address in (recovery.addresses[place], str(target))
    return f"{target.host}:{target.port}", event.seconds


@pytest.mark.rule("1.0/transport/error/connection-redirect")
def test_redirects_are_followed_as_often_as_the_policy_says() -> None:
    recovery = Recovery(RecoveryPolicy(redirects=2, jitter=0.0, first_delay=1.0), ("amqp://u:***@a/v",))
    assert went(recovery, moved("b", 5673)) == ("b:5673", 0.0)
    assert recovery.address == "amqp://u:***@b:5673/v"
    recovery.opened()
    recovery.done()
    assert recovery.address == "amqp://u:***@a/v"
    assert went(recovery, moved("c")) == ("c:5672", 0.0)
    assert went(recovery, moved("d"))[0] == "a:5672"
    # A connection that was open for a moment is a failed attempt, too.
    assert [each.address for each in recovery.attempts] == ["amqp://u:***@b:5673/v", "amqp://u:***@c/v"]
    assert went(recovery, CUT)[0] == "a:5672"
    assert went(recovery, moved("e"))[0] == "e:5672"


@pytest.mark.parametrize("policy", [RecoveryPolicy(), RecoveryPolicy(redirects=3)], ids=["none", "three"])
@pytest.mark.parametrize(
    "report",
    [
        moved(""),
        CloseReport(By.REMOTE, 0, "", condition="amqp:connection:redirect"),
        CloseReport(By.LOCAL, 0, "", condition="amqp:connection:redirect", rule="x", info=Info({"network-host": "b"})),
        CloseReport(By.REMOTE, 0, "", condition="amqp:connection:forced", info=Info({"network-host": "b"})),
    ],
    ids=["no host", "no info", "this end's", "another error"],
)
def test_what_is_no_redirect_leads_nowhere_else(policy: RecoveryPolicy, report: CloseReport) -> None:
    assert went(Recovery(policy, ("amqp://a",)), report)[0] == "a:5672"
    assert hosts(policy, EndpointClosed("x", report)) == ["a:5672"]
    assert elsewhere(parse("amqp://a"), report) is None


def hosts(policy: RecoveryPolicy | None, error: OSError | EndpointClosed, *urls: str, most: int = 9) -> list[str]:
    """Where a first connection is tried whose attempts all fail with this error, at most so many of them."""
    route = Route(urls or ("amqp://a",), policy, lambda uri: new_connection(AMQP_1_0, uri, {}, str))
    found: list[str] = []
    while len(found) < most:
        uri, client, _ = route.next(lambda: 7)
        found.append(f"{uri.host}:{uri.port}")
        assert (client.recovery is None) is (policy is None)
        try:
            route.failed(error)
        except (OSError, EndpointClosed) as last:
            assert last is error
            break
    return found


def test_nothing_is_followed_without_the_policy_s_word() -> None:
    assert went(Recovery(RecoveryPolicy(), ("amqp://a",)), moved("b"))[0] == "a:5672"
    error = EndpointClosed("x", moved("b", 70_000))
    assert hosts(None, error) == hosts(RecoveryPolicy(), error) == ["a:5672"]
    assert hosts(RecoveryPolicy(redirects=1), OSError()) == ["a:5672"]


def test_a_first_connection_goes_where_it_is_sent_and_then_to_the_own_addresses() -> None:
    error = EndpointClosed("x", moved("b", 70_000))
    assert hosts(RecoveryPolicy(redirects=1), error, "amqp://a:99") == ["a:99", "b:99", "a:99"]
    assert hosts(RecoveryPolicy(addresses=("amqp://c",)), OSError(), "amqp://a") == ["a:5672", "c:5672"]
    route = Route("amqp://a", RecoveryPolicy(redirects=1), lambda uri: new_connection(AMQP_1_0, uri, {}, str))
    route.next(lambda: 7)
    route.failed(error)
    client = route.next(lambda: 7).client
    assert client.recovery is not None
    # It comes back to where it was sent first, and may be sent elsewhere as often as at first.
    assert client.recovery.addresses == ("amqp://b/%2F", "amqp://a/%2F")
    assert client.recovery.policy.redirects == 1


def test_an_attempt_s_time_begins_with_it_and_ends_when_the_connection_is_open() -> None:
    recovery = Recovery(RecoveryPolicy(first_delay=1.0, jitter=0.0, deadline=10.0), ("a",))
    assert recovery.keeps(CUT)
    assert recovery.wait(0.0) is not None
    recovery.handle_timeout(1.0)
    recovery.may_take(3.0)
    assert recovery.next_deadline == 4.0
    assert not recovery.is_late(3.9)
    assert recovery.is_late(4.0)
    assert not recovery.handle_timeout(4.0)
    assert recovery.keeps(CUT)
    assert recovery.wait(4.0) is not None
    recovery.handle_timeout(6.0)
    recovery.may_take(30.0)
    assert recovery.next_deadline == 10.0
    recovery.opened()
    assert not recovery.is_late(100.0)


def test_with_tls_the_certificate_is_for_the_name_that_the_redirect_gives() -> None:
    secure = parse("amqps://u:p@a/?server_name_indication=a.example")
    target = elsewhere(secure, moved("10.0.0.7", 5999, hostname="b.example"))
    assert target is not None
    assert (target.host, target.port, target.server_name_indication) == ("10.0.0.7", 5999, "b.example")
    plain = elsewhere(secure, moved("10.0.0.7"))
    assert plain is not None
    assert plain.server_name_indication is None
    assert plain.password == "p"


@pytest.mark.parametrize(
    ("report", "passes"),
    [
        (CloseReport(By.REMOTE, 530, "NOT_ALLOWED - vhost connection limit (1) is reached"), True),
        (CloseReport(By.REMOTE, 530, "NOT_ALLOWED - vhost /other not found"), False),
        (CloseReport(By.REMOTE, 403, "ACCESS_REFUSED - Login was refused"), False),
        (CloseReport(By.REMOTE, 0, "connection limit reached", condition="amqp:not-allowed"), True),
    ],
)
def test_a_limit_of_connections_passes_because_the_lost_one_may_still_count(report: CloseReport, passes: bool) -> None:
    assert is_temporary(report) is passes
