"""Who is let in by Settings, with which proof, and into which virtual host."""

from __future__ import annotations

import pickle

import pytest

from amqp_sansio.broker import ANONYMOUS_USER, Settings, User
from amqp_sansio.sasl import (
    Credentials,
    NeedScramKeys,
    ScramKeys,
    ScramSha256,
    Verified,
    scram_keys,
    server_mechanism,
)

SETTINGS = Settings(
    users={"guest": "guest", "me": User("s3cret", vhosts=("test",)), "card": User(), "ü": "ö"},
    vhosts=("/", "test"),
    seed=b"0123456789abcdef",
)


def verdict(credentials: Credentials, peer_name: str = "", settings: Settings = SETTINGS) -> str:
    """The user that is let in, or ""."""
    return settings.authenticate(credentials, is_secure=bool(peer_name), peer_name=peer_name).user


@pytest.mark.parametrize(
    ("credentials", "peer_name", "user"),
    [
        (Credentials("PLAIN", "guest", "guest"), "", "guest"),
        (Credentials("AMQPLAIN", "me", "s3cret"), "", "me"),
        (Credentials("PLAIN", "ü", "ö"), "", "ü"),
        (Credentials("PLAIN", "guest", "guest", authzid="guest"), "", "guest"),
        (Credentials("PLAIN", "guest", "guest", authzid="me"), "", ""),
        (Credentials("PLAIN", "guest", "guess"), "", ""),
        (Credentials("PLAIN", "guest", ""), "", ""),
        (Credentials("PLAIN", "nobody", "guest"), "", ""),
        (Credentials("PLAIN", "nobody", ""), "", ""),
        (Credentials("PLAIN", "card", ""), "", ""),
        (Credentials("PLAIN", "card", "card"), "", ""),
        (Credentials("PLAIN", "guest", "\ud800"), "", ""),
        (Credentials("SCRAM-SHA-256", "guest"), "", "guest"),
        (Credentials("SCRAM-SHA-256", "nobody"), "", ""),
        (Credentials("SCRAM-SHA-256", "guest", authzid="me"), "", ""),
        (Credentials("EXTERNAL"), "card", "card"),
        (Credentials("EXTERNAL", authzid="card"), "card", "card"),
        (Credentials("EXTERNAL", authzid="guest"), "card", ""),
        (Credentials("EXTERNAL"), "nobody", ""),
        (Credentials("EXTERNAL"), "", ""),
        (Credentials("EXTERNAL", authzid="card"), "", ""),
        (Credentials("ANONYMOUS", trace="me"), "", ""),
        (Credentials("XOAUTH2", "guest", token="guest"), "", ""),
        (Credentials("OAUTHBEARER", token="guest", authzid="guest"), "", ""),
    ],
    ids=str,
)
def test_who_is_let_in(credentials: Credentials, peer_name: str, user: str) -> None:
    assert verdict(credentials, peer_name) == user


def test_a_refusal_says_why_and_holds_no_secret() -> None:
    refused = SETTINGS.authenticate(Credentials("PLAIN", "me", "wr0ng"), is_secure=False, peer_name="")
    assert refused.reason == "the password of user 'me' is wrong"
    assert "s3cret" not in repr(SETTINGS) and "s3cret" not in repr(SETTINGS.users["me"])


def test_without_tls_a_certificates_name_counts_for_nothing() -> None:
    answer = SETTINGS.authenticate(Credentials("EXTERNAL"), is_secure=False, peer_name="card")
    assert answer.user == ""


def test_anonymous_clients_come_in_when_they_may() -> None:
    settings = Settings(anonymous=True)
    assert verdict(Credentials("ANONYMOUS"), settings=settings) == ANONYMOUS_USER
    assert settings.may_open(ANONYMOUS_USER, "/") == ""


@pytest.mark.parametrize(
    ("user", "vhost", "answer"),
    [
        ("guest", "/", ""), ("guest", "test", ""), ("guest", "nowhere", "unknown"), ("me", "/", "refused"),
        ("me", "test", ""), ("me", "nowhere", "unknown"),
    ],
)
def test_which_virtual_hosts_may_be_opened(user: str, vhost: str, answer: str) -> None:
    assert SETTINGS.may_open(user, vhost) == answer


def test_scram_with_the_keys_of_a_user() -> None:
    server = server_mechanism("SCRAM-SHA-256", nonce=SETTINGS.text("nonce", "1"))
    client = ScramSha256("me", "s3cret", nonce="rOprNGfwEbeRWgbNEkqO")
    state, response = client.initial()
    waiting, step = server.start(response)
    assert step == NeedScramKeys("SCRAM-SHA-256", "me")
    keys = SETTINGS.scram_keys("SCRAM-SHA-256", "me")
    waiting, step = server.keys(waiting, keys)
    while not isinstance(step, Verified):
        state, response = client.step(state, getattr(step, "data"))  # noqa: B009
        waiting, step = server.step(waiting, response)
    assert step.user == "me"
    client.complete(state)


def test_keys_are_made_once_and_the_same_again_with_the_same_seed() -> None:
    settings = Settings(seed=b"a")
    first = settings.scram_keys("SCRAM-SHA-256", "guest")
    assert first is not None
    assert first is settings.scram_keys("SCRAM-SHA-256", "guest")
    assert first == Settings(seed=b"a").scram_keys("SCRAM-SHA-256", "guest")
    assert first == pickle.loads(pickle.dumps(settings)).scram_keys("SCRAM-SHA-256", "guest")
    assert first != Settings(seed=b"b").scram_keys("SCRAM-SHA-256", "guest")
    assert first == scram_keys("guest", first.salt)
    assert settings.scram_keys("SCRAM-SHA-1", "guest") == scram_keys("guest", first.salt, digest="sha1")


@pytest.mark.parametrize("user", ["nobody", "card"])
def test_who_cant_use_scram_looks_like_a_wrong_password(user: str) -> None:
    keys = SETTINGS.scram_keys("SCRAM-SHA-256", user)
    assert isinstance(keys, ScramKeys)
    assert keys == SETTINGS.scram_keys("SCRAM-SHA-256", user)
    assert keys.iterations == 4096 and len(keys.salt) == 16


def test_other_mechanisms_have_no_keys() -> None:
    assert SETTINGS.scram_keys("PLAIN", "guest") is None
