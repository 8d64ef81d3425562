"""A book of SCRAM keys: known and unknown users cost the same, at any time, and are kept the same."""

from __future__ import annotations

import doctest
import pickle
from functools import partial
from importlib import import_module
from typing import Any, Final

import pytest

from amqp_sansio.broker import Settings
from amqp_sansio.sasl import ScramKeyBook, scram_keys
from tests.kit.steps import count_steps

SECRET: Final = b"0123456789abcdef"


def derivations(book: ScramKeyBook, user: str, password: str | None, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often a password is hashed 4096 times for the keys of a user."""
    counted = 0
    real: Any = import_module("amqp_sansio.sasl._scram_math").salt_password

    def counting(secret: bytes, salt: bytes, iterations: int, digest: str) -> bytes:
        nonlocal counted
        counted += iterations
        salted: bytes = real(secret, salt, iterations, digest)
        return salted

    with monkeypatch.context() as patch:
        patch.setattr("amqp_sansio.sasl._scram_math.salt_password", counting)
        book.keys(user, password)
    return counted


def test_the_first_login_takes_the_same_whether_the_user_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    """A known user's keys were derived at its first login, an unknown one's never."""
    book = ScramKeyBook(SECRET)
    for expected in (4096, 0):
        assert derivations(book, "known", "pencil", monkeypatch) == expected
        assert derivations(book, "other", None, monkeypatch) == expected


def test_the_steps_are_the_same_too() -> None:
    book = ScramKeyBook(SECRET)
    book.keys("warm", "up")
    known = count_steps(partial(book.keys, "known", "pencil"))
    unknown = count_steps(partial(book.keys, "other", None))
    assert abs(known - unknown) <= 2, (known, unknown)


def test_known_and_unknown_are_forgotten_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise somebody who makes the book full would see who is still in it."""
    book = ScramKeyBook(SECRET, most=3)
    book.keys("known", "pencil")
    book.keys("other", None)
    for number in range(3):
        book.keys(f"user{number}", None)
    assert len(book) == 3
    assert derivations(book, "known", "pencil", monkeypatch) == derivations(book, "other", None, monkeypatch) == 4096


def test_keys_are_those_of_the_password_and_the_same_again() -> None:
    book, again = ScramKeyBook(SECRET), ScramKeyBook(SECRET)
    for digest in ("sha256", "sha1"):
        keys = book.keys("user", "pencil", digest)
        assert keys == scram_keys("pencil", keys.salt, digest=digest) == again.keys("user", "pencil", digest)
    assert book.keys("user", "another") != book.keys("user", "pencil")
    assert book.keys("user", None).salt == book.keys("user", "pencil").salt
    assert pickle.loads(pickle.dumps(book)).keys("user", None) == book.keys("user", None)


def test_the_broker_keeps_a_bounded_number_of_keys() -> None:
    settings = Settings(seed=b"a")
    first = settings.scram_keys("SCRAM-SHA-256", "nobody")
    assert first is settings.scram_keys("SCRAM-SHA-256", "nobody")


def test_examples() -> None:
    failed, tried = doctest.testmod(import_module("amqp_sansio.sasl._key_book"))
    assert tried and not failed
