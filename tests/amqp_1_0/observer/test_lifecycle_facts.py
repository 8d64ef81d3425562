"""What a connection of 1.0 says of itself, and why it ended."""

import pytest

from amqp_sansio import AMQP_1_0
from amqp_sansio.amqp_1_0 import Error, Symbol
from amqp_sansio.amqp_1_0.spec import Close, Open, SaslInit, SaslMechanisms, SaslOutcome
from amqp_sansio.recorded.lifecycle import ConnectionRecord
from tests.kit.talk_1_0 import AMQP, SASL, Talk10, begin

# The connection.


def _connection(talk: Talk10) -> ConnectionRecord:
    return talk.finish().lifecycle.connection


def test_facts() -> None:
    talk = Talk10().login()
    talk.client(
        AMQP, Open("me", "vhost", 65_536, 1000, 30_000, properties={"product": "P", "version": "1.2", "other": 1})
    )
    talk.server(AMQP, Open("broker", None, 32_768, 255, 4_500, properties={"product": "B"}))
    found = _connection(talk.client(Close()).server(Close()))
    assert (found.version, found.mechanism, found.user) == (AMQP_1_0, "PLAIN", "ann")
    assert (found.container, found.server_container, found.vhost) == ("me", "broker", "vhost")
    assert (found.client_product, found.client_version) == ("P", "1.2")
    assert (found.server_product, found.server_version) == ("B", None)
    assert (found.frame_max, found.channel_max, found.heartbeat) == (32_768, 255, 5)
    assert (found.closed_by, found.close_code, found.close_text) == ("client", None, None)
    assert (found.close_condition, found.hint) == (None, "")


def test_without_a_login_and_idle_time_outs() -> None:
    found = _connection(Talk10().open())
    assert (found.mechanism, found.user, found.heartbeat, found.closed_by) == (None, None, 0, None)
    assert found.hint == ""


def test_the_first_close_tells_why() -> None:
    talk = Talk10().open().server(Close(Error(Symbol("amqp:connection:forced"), "bye")))
    found = _connection(talk.client(Close()))
    assert (found.closed_by, found.close_condition) == ("server", "amqp:connection:forced")
    assert found.close_text == "amqp:connection:forced: bye"
    assert "shutting down" in found.hint


@pytest.mark.parametrize("code", [1, 2, 3, 4])
def test_a_refused_login(code: int) -> None:
    talk = Talk10().client(SASL).server(SASL, SaslMechanisms((Symbol("PLAIN"),)))
    talk.client(SaslInit(Symbol("PLAIN"), b"\0ann\0pw")).server(SaslOutcome(code))
    found = _connection(talk)
    assert (found.closed_by, found.user) == ("server", "ann")
    assert found.close_text is not None
    assert found.close_text.startswith("the server refused the login (")
    assert ("password is wrong" if code == 1 else "could not check the login") in found.hint
    assert talk.lifecycle.end.cause == "refused"


@pytest.mark.parametrize(
    ("response", "user"),
    [(b"\0ann\0pw", "ann"), (b"x\0ann\0pw", "ann"), (b"\0a\xff\0pw", "a\udcff"), (b"ann", None), (None, None)],
)
def test_the_user_of_plain(response: bytes | None, user: str | None) -> None:
    talk = Talk10().client(SASL).server(SASL, SaslMechanisms((Symbol("PLAIN"),)))
    found = _connection(talk.client(SaslInit(Symbol("PLAIN"), response)))
    assert found.user == user
    assert "login" in talk.lifecycle.end.hint


def test_other_mechanisms_tell_no_user() -> None:
    talk = Talk10().client(SASL).server(SASL, SaslMechanisms((Symbol("EXTERNAL"),)))
    found = _connection(talk.client(SaslInit(Symbol("EXTERNAL"), b"\0ann\0pw")))
    assert (found.mechanism, found.user) == ("EXTERNAL", None)


def test_a_server_that_wants_another_layer() -> None:
    found = _connection(Talk10().client(AMQP).server(SASL))
    assert (found.closed_by, found.close_text) == (
        "server",
        "the server answered with its own protocol header, 3-1-0-0",
    )
    assert "mechanism" in found.hint


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_server_that_hangs_up_while_opening_has_a_hint(steps: int) -> None:
    talk = Talk10().client(SASL)
    if steps > 1:
        talk.server(SASL, SaslMechanisms((Symbol("PLAIN"),))).client(SaslInit(Symbol("PLAIN"), b""))
    if steps > 2:
        talk.server(SaslOutcome(0)).client(AMQP, Open("me"))
    end = talk.finish().lifecycle.end
    assert ("protocol header", "during the login", "before its open after the login")[steps - 1] in end.hint


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_client_that_leaves_while_opening_has_a_hint_of_its_own(steps: int) -> None:
    talk = Talk10().client(SASL)
    if steps > 1:
        talk.server(SASL, SaslMechanisms((Symbol("PLAIN"),)))
    if steps > 2:
        talk.client(SaslInit(Symbol("PLAIN"), b"")).server(SaslOutcome(0)).client(AMQP)
    end = talk.finish("client").lifecycle.end
    assert ("before the server answered", "during the login", "between the login and open-ok")[steps - 1] in end.hint
    assert (end.by, end.cause) == ("client", "transport")


@pytest.mark.rule("1.0/transport/connection/pipelined")
def test_everything_of_the_opening_at_once() -> None:
    talk = Talk10().client(SASL, SaslInit(Symbol("PLAIN"), b"\0ann\0pw"), AMQP, Open("me", "v"), begin())
    talk.server(SASL, SaslMechanisms((Symbol("PLAIN"),)), SaslOutcome(0), AMQP, Open("s"), begin(0))
    found = _connection(talk)
    assert (found.user, found.vhost, found.closed_by, found.hint) == ("ann", "v", None, "")
