"""The stand-ins for names of `typing`: they do what the modules of the core need of them when they run."""

import pickle
from typing import TYPE_CHECKING, Protocol

import amqp_sansio
from amqp_sansio import CloseHint, Endpoint, Side
from amqp_sansio._checking import TYPE_CHECKING as CHECKED
from amqp_sansio._checking import cast
from amqp_sansio.amqp_0_9_1 import Config, Connection
from amqp_sansio.endpoint import Endpoint as Same
from amqp_sansio.events import Pending


class Traced(Endpoint, Protocol):
    """A protocol made of the public one."""

    trace: str


def test_a_connection_is_an_endpoint() -> None:
    assert isinstance(Connection(Side.SERVER, Config()), Endpoint)
    assert not isinstance(Config(), Endpoint)


def test_an_endpoint_is_one_class_by_all_its_names() -> None:
    assert Same is Endpoint is amqp_sansio.Endpoint
    assert pickle.loads(pickle.dumps(Endpoint)) is Endpoint


def test_the_public_protocol_is_one_of_typing() -> None:
    assert getattr(Traced, "_is_protocol", False)


def test_a_generic_class_takes_a_parameter_when_it_runs() -> None:
    given: object = Pending[int]
    assert given is Pending


def test_no_module_is_checked_when_it_runs() -> None:
    assert CHECKED is TYPE_CHECKING


def test_a_cast_returns_its_value() -> None:
    value: object = "text"
    assert cast("int", value) is value


def test_sides_and_hints_are_pickled_by_their_public_names() -> None:
    for each in (Side.CLIENT, CloseHint.KEEP):
        assert b"amqp_sansio.endpoint" in pickle.dumps(each)
        assert pickle.loads(pickle.dumps(each)) is each
