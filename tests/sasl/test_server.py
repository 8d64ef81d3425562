"""The server's mechanisms that ask the application: what they accept, what is malformed to them."""

import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.sasl import (
    AmqPlain,
    Challenge,
    ClientMechanism,
    Credentials,
    Denied,
    OAuthBearer,
    Plain,
    SaslError,
    ScramKeys,
    ServerStep,
    XOAuth2,
    server_mechanism,
)
from amqp_sansio.sasl._registry import SERVER_MECHANISMS

ONE_MESSAGE = [name for name in SERVER_MECHANISMS if not name.startswith("SCRAM")]


def judge(name: str, response: bytes) -> ServerStep:
    """What the server makes of a first response."""
    return server_mechanism(name).start(response)[1]


def entry(name: bytes, tag: bytes, value: bytes) -> bytes:
    """One entry of a field table."""
    return bytes([len(name)]) + name + tag + value


def long_string(text: bytes) -> bytes:
    """A long string's value: its length and its octets."""
    return len(text).to_bytes(4, "big") + text


LOGIN = entry(b"LOGIN", b"S", long_string(b"guest"))
PASSWORD = entry(b"PASSWORD", b"S", long_string(b"secret"))


@pytest.mark.parametrize(
    ("name", "response", "credentials"),
    [
        ("PLAIN", b"\0guest\0secret", Credentials("PLAIN", "guest", "secret")),
        ("PLAIN", b"you\0me\0x", Credentials("PLAIN", "me", "x", authzid="you")),
        ("PLAIN", "\0jos\xe9\0\u65e5".encode(), Credentials("PLAIN", "jos\xe9", "\u65e5")),
        # The form that the 0-8 specification gives this name.
        ("PLAIN", LOGIN + PASSWORD, Credentials("PLAIN", "guest", "secret")),
        ("PLAIN", PASSWORD + LOGIN, Credentials("PLAIN", "guest", "secret")),
        ("AMQPLAIN", LOGIN + PASSWORD, Credentials("AMQPLAIN", "guest", "secret")),
        ("AMQPLAIN", PASSWORD + LOGIN, Credentials("AMQPLAIN", "guest", "secret")),
        (
            "AMQPLAIN",
            entry(b"a", b"t", b"\1")
            + LOGIN
            + entry(b"b", b"F", long_string(b"\1cI\0\0\0\1"))
            + entry(b"d", b"V", b"")
            + PASSWORD
            + entry(b"e", b"D", b"12345"),
            Credentials("AMQPLAIN", "guest", "secret"),
        ),
        ("EXTERNAL", b"", Credentials("EXTERNAL")),
        ("EXTERNAL", b"you", Credentials("EXTERNAL", authzid="you")),
        ("ANONYMOUS", b"", Credentials("ANONYMOUS")),
        ("ANONYMOUS", b"a@b.org", Credentials("ANONYMOUS", trace="a@b.org")),
        ("ANONYMOUS", b"\0user", Credentials("ANONYMOUS", trace="user")),
        ("ANONYMOUS", b"\xff", Credentials("ANONYMOUS", trace="\ufffd")),
        ("ANONYMOUS", b"x" * 256, Credentials("ANONYMOUS", trace="x" * 255)),
        ("XOAUTH2", b"user=me\x01auth=Bearer abc\x01\x01", Credentials("XOAUTH2", "me", token="abc")),
        (
            "OAUTHBEARER",
            b"n,a=a=2Cb=3Dc,\x01host=h\x01port=5671\x01auth=bearer abc\x01\x01",
            Credentials("OAUTHBEARER", token="abc", authzid="a,b=c", host="h", port=5671),
        ),
        ("OAUTHBEARER", b"n,,\x01auth=Bearer abc\x01\x01", Credentials("OAUTHBEARER", token="abc")),
    ],
)
def test_credentials_are_read(name: str, response: bytes, credentials: Credentials) -> None:
    assert judge(name, response) == credentials


@pytest.mark.parametrize(
    ("name", "response", "text"),
    [
        ("PLAIN", b"", "isn't three fields"),
        ("PLAIN", b"guest\0secret", "isn't three fields"),
        ("PLAIN", b"\0a\0b\0c", "isn't three fields"),
        ("PLAIN", b"\0\0secret", "user name is empty"),
        ("PLAIN", b"\0guest\0", "password is empty"),
        ("PLAIN", b"\0\xff\0secret", "user name isn't UTF-8"),
        ("PLAIN", b"\0guest\0\xff", "password isn't UTF-8"),
        ("PLAIN", b"\xff\0guest\0x", "authorization identity isn't UTF-8"),
        ("PLAIN", LOGIN, "lacks LOGIN or PASSWORD"),
        ("AMQPLAIN", b"", "lacks LOGIN or PASSWORD"),
        ("AMQPLAIN", LOGIN, "lacks LOGIN or PASSWORD"),
        ("AMQPLAIN", b"\0guest\0secret", "corrupt at octet 1"),
        ("AMQPLAIN", LOGIN + LOGIN + PASSWORD, "LOGIN is there twice"),
        ("AMQPLAIN", long_string(LOGIN + PASSWORD), "begins with its length"),
        ("AMQPLAIN", entry(b"LOGIN", b"I", b"\0\0\0\1") + PASSWORD, "LOGIN isn't a long string"),
        ("AMQPLAIN", (LOGIN + PASSWORD)[:-1], "cut short in the value at octet"),
        ("AMQPLAIN", LOGIN + b"\x08PASSWORD", "cut short or corrupt at octet"),
        ("AMQPLAIN", LOGIN + b"\x08PASSWORDS\0", "cut short in the value"),
        ("AMQPLAIN", LOGIN + b"\xff", "cut short or corrupt"),
        ("AMQPLAIN", entry(b"LOGIN", b"?", b"") + PASSWORD, "cut short or corrupt at octet 6"),
        ("AMQPLAIN", entry(b"LOGIN", b"S", long_string(b"\xff")) + PASSWORD, "isn't UTF-8"),
        ("AMQPLAIN", entry(b"LOGIN", b"S", long_string(b"a\0")) + PASSWORD, "a NUL"),
        ("AMQPLAIN", entry(b"LOGIN", b"S", long_string(b"")) + PASSWORD, "user name is empty"),
        ("EXTERNAL", b"\xff", "isn't UTF-8"),
        ("EXTERNAL", b"a\0b", "holds a NUL"),
        ("XOAUTH2", b"", "don't end with two control-A"),
        ("XOAUTH2", b"\x01\x01", "a key-value pair"),
        ("XOAUTH2", b"auth=Bearer abc\x01\x01", "there is no user"),
        ("XOAUTH2", b"user=me\x01\x01", "no bearer token"),
        ("XOAUTH2", b"user=me\x01auth=Basic abc\x01\x01", "no bearer token"),
        ("XOAUTH2", b"user=me\x01auth=Bearer \x01\x01", "no bearer token"),
        ("XOAUTH2", b"user=me\x01auth=Bearer a b\x01\x01", "visible ASCII"),
        ("XOAUTH2", b"user=me\x01user=you\x01auth=Bearer a\x01\x01", "seen before"),
        ("OAUTHBEARER", b"n,,", "no control-A"),
        ("OAUTHBEARER", b"n,\x01auth=Bearer a\x01\x01", "GS2 header"),
        ("OAUTHBEARER", b"x,,\x01auth=Bearer a\x01\x01", "GS2 header"),
        ("OAUTHBEARER", b"n,b=c,\x01auth=Bearer a\x01\x01", "other than 'a='"),
        ("OAUTHBEARER", b"n,a=,\x01auth=Bearer a\x01\x01", "identity is empty"),
        ("OAUTHBEARER", b"n,a=b=c,\x01auth=Bearer a\x01\x01", "bare '='"),
        ("OAUTHBEARER", b"n,,x\x01auth=Bearer a\x01\x01", "something follows"),
        ("OAUTHBEARER", b"p=tls-unique,,\x01auth=Bearer a\x01\x01", "channel binding"),
        ("OAUTHBEARER", b"n,,\x01port=x\x01auth=Bearer a\x01\x01", "port isn't a number"),
        ("OAUTHBEARER", b"n,,\x01port=123456\x01auth=Bearer a\x01\x01", "port isn't a number"),
    ],
)
def test_malformed_responses_are_denied(name: str, response: bytes, text: str) -> None:
    step = judge(name, response)
    assert isinstance(step, Denied)
    assert step.malformed
    assert step.text.startswith(f"malformed {name} response: ")
    assert text in step.text


@pytest.mark.parametrize("name", ONE_MESSAGE)
@given(response=st.binary(max_size=80))
def test_any_octets_end_in_a_decision(name: str, response: bytes) -> None:
    step = judge(name, response)
    assert isinstance(step, Credentials | Denied)


@pytest.mark.parametrize(
    "mechanism",
    [
        Plain("guest", "secret", "you"),
        AmqPlain("guest", "secret"),
        XOAuth2("guest", "secret"),
        OAuthBearer("secret", "you", "host", 5671),
    ],
)
@given(data=st.data())
def test_damaged_responses_end_in_a_decision(mechanism: ClientMechanism, data: st.DataObject) -> None:
    response = bytearray(mechanism.initial()[1])
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, len(response) - 1))
        change = data.draw(st.sampled_from(["set", "cut", "insert"]))
        if change == "set":
            response[position] = data.draw(st.integers(0, 255))
        elif change == "insert":
            response.insert(position, data.draw(st.integers(0, 255)))
        elif len(response) > 1:
            del response[position]
    step = judge(mechanism.name, bytes(response))
    assert isinstance(step, Credentials | Denied)


@pytest.mark.parametrize("name", ["ANONYMOUS", "MSSBCBS"])
def test_a_mechanism_that_says_nothing_needs_no_response(name: str) -> None:
    """Qpid's proton-j, in Azure's SDK for Java, sends none and answers no challenge."""
    mechanism = server_mechanism(name)
    assert mechanism.start(None) == mechanism.start(b"")
    assert mechanism.start(None)[1] == Credentials(name)


@pytest.mark.parametrize("name", [each for each in ONE_MESSAGE if each not in ("ANONYMOUS", "MSSBCBS")])
def test_a_missing_first_response_is_asked_for_once(name: str) -> None:
    mechanism = server_mechanism(name)
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism
    state, step = mechanism.start(None)
    assert step == Challenge(b"")
    state, step = mechanism.step(pickle.loads(pickle.dumps(state)), b"")
    assert isinstance(step, Credentials | Denied)
    with pytest.raises(SaslError, match=r"no .* challenge waits"):
        mechanism.step(state, b"")
    with pytest.raises(SaslError, match="asks for no SCRAM keys"):
        mechanism.keys(state, ScramKeys(b"salt", 1, b"", b""))


def test_an_unknown_mechanism_is_refused_by_name() -> None:
    with pytest.raises(SaslError, match=r"'GSSAPI' isn't known; known are PLAIN, AMQPLAIN, "):
        server_mechanism("GSSAPI")


def test_secrets_do_not_show() -> None:
    step = judge("PLAIN", b"\0guest\0hunter2")
    assert isinstance(step, Credentials)
    assert step.password == "hunter2"
    assert "hunter2" not in repr(step)
    token = judge("XOAUTH2", b"user=me\x01auth=Bearer hunter2\x01\x01")
    assert isinstance(token, Credentials)
    assert token.token == "hunter2"
    assert "hunter2" not in repr(token)
    assert "hunter2" not in repr(judge("PLAIN", b"\0guest\0hunter2\xff"))
    assert pickle.loads(pickle.dumps(step)) == step


@pytest.mark.parametrize(
    ("capture", "mechanism"),
    [
        ("o08_amqplib_brokerj_basic.pcap", Plain("guest", "guest")),
        ("o08_amqplib_rabbit_basic.pcap", AmqPlain("guest", "guest")),
        ("o091_pyamqp_basic.pcap", AmqPlain("guest", "guest")),
        ("o091_pika_auth_failures.pcap", Plain("guest", "wrong")),
    ],
)
def test_recorded_clients_send_what_ours_sends(captures_dir: Path, capture: str, mechanism: ClientMechanism) -> None:
    name = mechanism.name.encode()
    recorded = (captures_dir / capture).read_bytes()
    # connection.start-ok holds the mechanism as a short string, then the response as a long one.
    start = recorded.index(bytes([len(name)]) + name + b"\0\0") + 1 + len(name)
    size = int.from_bytes(recorded[start : start + 4], "big")
    response = recorded[start + 4 : start + 4 + size]
    assert response == mechanism.initial()[1]
    step = judge(mechanism.name, response)
    assert isinstance(step, Credentials)
    assert (step.user, step.password) in {("guest", "guest"), ("guest", "wrong")}
