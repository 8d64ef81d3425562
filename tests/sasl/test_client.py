"""The client's mechanisms and the choice among them."""

import pickle

import pytest

from amqp_sansio.sasl import (
    AmqPlain,
    Anonymous,
    ClientMechanism,
    External,
    OAuthBearer,
    Plain,
    SaslError,
    ScramSha1,
    ScramSha256,
    XOAuth2,
    choose,
    client_mechanisms,
)
from amqp_sansio.sasl._client import with_nonce

SECRET = "s3cret-t0ken"
ALL: list[ClientMechanism] = [
    External(),
    ScramSha256("me", SECRET, nonce="abcdefgh"),
    ScramSha1("me", SECRET, nonce="abcdefgh"),
    OAuthBearer(SECRET),
    XOAuth2("me", SECRET),
    Plain("me", SECRET),
    AmqPlain("me", SECRET),
    Anonymous(),
]
"""Strongest first."""

by_name = pytest.mark.parametrize("mechanism", ALL, ids=[it.name for it in ALL])


@pytest.mark.parametrize(
    ("mechanism", "response"),
    [
        # RFC 4616 section 4.
        (Plain("tim", "tanstaaftanstaaf"), b"\0tim\0tanstaaftanstaaf"),
        (Plain("Kurt", "xipj3plmq", authzid="Ursel"), b"Ursel\0Kurt\0xipj3plmq"),
        (Plain("josé", "日本"), "\0josé\0日本".encode()),
        (
            AmqPlain("guest", "guest"),
            bytes.fromhex("054c4f47494e5300000005677565737408504153")
            + bytes.fromhex("53574f52445300000005 6775657374"),
        ),
        (External(), b""),
        # RFC 4422 appendix A.2.
        (External("fred@example.com"), b"fred@example.com"),
        (Anonymous(), b""),
        (Anonymous("sirhc"), b"sirhc"),
        (
            XOAuth2("someuser@example.com", "ya29.vF9dft4qmTc2Nvb3RlckBhdHRhdmlzdGEuY29tCg"),
            b"user=someuser@example.com\x01auth=Bearer ya29.vF9dft4qmTc2Nvb3RlckBhdHRhdmlzdGEuY29tCg\x01\x01",
        ),
        # RFC 7628 section 4.1.
        (
            OAuthBearer(
                "vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==",
                authzid="user@example.com",
                host="server.example.com",
                port=143,
            ),
            b"n,a=user@example.com,\x01host=server.example.com\x01port=143\x01"
            b"auth=Bearer vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==\x01\x01",
        ),
        (OAuthBearer("t", authzid="a,b=c"), b"n,a=a=2Cb=3Dc,\x01auth=Bearer t\x01\x01"),
        (ScramSha256("a,b=c", "x", nonce="n"), b"n,,n=a=2Cb=3Dc,r=n"),
        (ScramSha1("me", "x", nonce="n", authzid="you"), b"n,a=you,n=me,r=n"),
    ],
)
def test_initial_response(mechanism: ClientMechanism, response: bytes) -> None:
    assert mechanism.initial()[1] == response


@pytest.mark.parametrize(
    ("mechanism", "text"),
    [
        (Plain("a\0b", "x"), "user name holds a NUL"),
        (Plain("a", SECRET + "\0"), "password holds a NUL"),
        (Plain("a", "x", authzid="\0"), "authorization identity holds a NUL"),
        (Plain("a", "\ud800"), "password holds a lone surrogate"),
        (AmqPlain("\0", "x"), "user name holds a NUL"),
        (External("\0"), "authorization identity holds a NUL"),
        (Anonymous("x" * 256), "longer than 255 characters"),
        (XOAuth2("a\x01b", "t"), "control-A"),
        (XOAuth2("a", SECRET + " "), "visible ASCII"),
        (XOAuth2("a", ""), "visible ASCII"),
        (OAuthBearer(SECRET + "\x01"), "visible ASCII"),
        (OAuthBearer("t", host="a\x01b"), "control-A"),
        (OAuthBearer("t", authzid="a\x01b"), "control-A"),
        (ScramSha256("a", "x"), "needs a nonce"),
        (ScramSha256("a", "x", nonce="a,b"), "isn't visible ASCII"),
        (ScramSha1("a", "x", nonce="a b"), "isn't visible ASCII"),
        (ScramSha1("", "x", nonce="n"), "user name is empty"),
        (ScramSha1("\u200b", "x", nonce="n"), "user name is empty"),
        (ScramSha1("\u0007", "x", nonce="n"), "forbids the user name: it holds a control"),
    ],
)
def test_what_a_mechanism_cannot_carry_is_said_at_once(mechanism: ClientMechanism, text: str) -> None:
    with pytest.raises(SaslError, match=text) as caught:
        mechanism.initial()
    assert SECRET not in str(caught.value)


@by_name
def test_mechanisms_are_values_that_hide_their_secrets(mechanism: ClientMechanism) -> None:
    state, _ = mechanism.initial()
    for value in (mechanism, state):
        copy = pickle.loads(pickle.dumps(value))
        assert copy == value
        assert hash(copy) == hash(value)
        assert SECRET not in repr(value)
        assert SECRET not in str(value)


@pytest.mark.parametrize("mechanism", [Plain("me", SECRET), AmqPlain("me", SECRET), External(), Anonymous()])
def test_mechanisms_of_one_message_refuse_a_challenge(mechanism: ClientMechanism) -> None:
    state, _ = mechanism.initial()
    mechanism.complete(state)
    with pytest.raises(SaslError, match=f"challenge, but {mechanism.name}"):
        mechanism.step(state, b"")


@pytest.mark.parametrize(("mechanism", "answer"), [(XOAuth2("me", SECRET), b""), (OAuthBearer(SECRET), b"\x01")])
def test_a_refused_token_is_acknowledged_and_reported(mechanism: ClientMechanism, answer: bytes) -> None:
    state, _ = mechanism.initial()
    mechanism.complete(state)
    refused, response = mechanism.step(state, b'{"status":"invalid_token"}')
    assert response == answer
    with pytest.raises(SaslError, match=r'refuses the token: \{"status":"invalid'):
        mechanism.complete(refused)
    with pytest.raises(SaslError, match="another"):
        mechanism.step(refused, b"")


@pytest.mark.rule(
    "0-8/connection.start-ok/best-mechanism",
    "0-9-1/connection.start-ok/best-mechanism",
    "0-10/connection.start-ok/security",
    "1.0/security/sasl/best-mechanism",
)
def test_the_strongest_common_mechanism_is_chosen() -> None:
    for count in range(len(ALL)):
        offered = [it.name for it in ALL[count:]]
        for configured in (ALL, ALL[::-1]):
            assert choose(configured, offered).name == offered[0]
            assert choose(configured, " ".join(reversed(offered))).name == offered[0]
            assert choose(configured, " ".join(offered).encode()).name == offered[0]


def test_of_equals_the_first_configured_is_chosen() -> None:
    one, two = Plain("one", "x"), Plain("two", "x")
    assert choose([one, two], "PLAIN") is one
    assert choose([two, one], "PLAIN") is two


def test_the_callers_order_can_be_kept() -> None:
    configured = [Anonymous(), Plain("me", "x"), External()]
    assert choose(configured, "EXTERNAL PLAIN", keep_order=True).name == "PLAIN"


@pytest.mark.parametrize(
    ("offered", "shown"), [("GSSAPI EXTERNAL", "GSSAPI, EXTERNAL"), (b"", "nothing"), ([], "nothing"), (b"\xff", "xff")]
)
def test_no_common_mechanism_names_both_sides(offered: str | bytes | list[str], shown: str) -> None:
    with pytest.raises(SaslError) as caught:
        choose([Plain("me", SECRET), AmqPlain("me", SECRET)], offered)
    assert "PLAIN, AMQPLAIN is configured" in str(caught.value)
    assert shown in str(caught.value)
    assert SECRET not in str(caught.value)
    with pytest.raises(SaslError, match="nothing is configured"):
        choose([], offered)


def test_a_name_is_matched_as_a_whole() -> None:
    with pytest.raises(SaslError):
        choose([Plain("me", "x")], "AMQPLAIN XPLAIN PLAINX")


def test_mechanisms_by_name() -> None:
    names = [it.name for it in ALL]
    made = client_mechanisms([name.lower() for name in names], "me", SECRET)
    assert [it.name for it in made] == names
    assert made[5] == Plain("me", SECRET)
    assert made[3] == OAuthBearer(SECRET, authzid="me")
    assert client_mechanisms(["plain"]) == (Plain("guest", "guest"),)
    with pytest.raises(SaslError, match=r"'gssapi' isn't known; known are PLAIN, "):
        client_mechanisms(["gssapi"])


def test_a_nonce_is_given_only_where_one_lacks() -> None:
    bare = ScramSha1("me", "x", authzid="you", min_iterations=1, max_iterations=2)
    given = with_nonce(bare, "n")
    assert given == ScramSha1("me", "x", "n", "you", 1, 2)
    assert with_nonce(given, "m") is given
    assert with_nonce(ALL[0], "n") is ALL[0]
