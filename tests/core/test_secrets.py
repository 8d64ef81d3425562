"""No public class shows a password, a token or a secret: in its repr, its text, a container's, a log line or an error.

Generated over all public names: a class with a parameter that may hold a secret has a row, or this test fails.
"""

from __future__ import annotations

import asyncio
import base64
import importlib
import inspect
import logging
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any, Final

import pytest

from amqp_sansio import (
    AMQP_0_9_1,
    AMQP_1_0,
    Acceptor,
    AuthenticationRequested,
    EndpointClosed,
    amqp_0_9_1,
    amqp_0_10,
    amqp_1_0,
)
from amqp_sansio.broker import Hub, Settings, User
from amqp_sansio.client.recovery import RecoveryPolicy
from amqp_sansio.messaging import Offer
from amqp_sansio.sasl import Credentials, Plain, ScramKeyBook, ScramSha256, scram_keys
from amqp_sansio.testing.simulate import World
from amqp_sansio.uri import parse
from amqp_sansio_asyncio import connect, serve
from amqp_sansio_asyncio.simulated import simulated_loop
from amqp_sansio_azure import AccessRule
from amqp_sansio_azure.eventhubs import EventHubsNamespace
from amqp_sansio_azure.servicebus import ServiceBusNamespace
from amqp_sansio_pytest import EventHubs, ServiceBus
from tests.docs.test_pages import is_internal, package_name
from tests.kit.asyncio_loops import run
from tests.test_layout import ADAPTERS, CORE

MARK: Final = "Hunter2XyZ"
URL: Final = f"amqp://me:{MARK}@broker/"
KEY_RULES: Final = (AccessRule("me", MARK),)
KEYS: Final = scram_keys(MARK, b"sixteen octets..")
HELD: Final[dict[str, Any]] = {
    "password": MARK,
    "token": MARK,
    "secret": MARK.encode(),
    "new_secret": MARK.encode(),
    "response": MARK.encode(),
    "initial_response": MARK.encode(),
    "sasl": Plain("me", MARK),
    "config": amqp_0_9_1.Config(sasl=Plain("me", MARK)),
    "configs": {AMQP_0_9_1: amqp_0_9_1.Config(sasl=Plain("me", MARK))},
    "credentials": Credentials("PLAIN", "me", MARK),
    "users": {"me": MARK},
    "urls": (URL,),
    "url": URL,
    "uri": parse(URL),
    "stored_key": KEYS.stored_key,
    "server_key": KEYS.server_key,
}
"""A value with a secret for each parameter that may hold one, by its name."""
BESIDE: Final[tuple[tuple[str, Callable[[], object]], ...]] = (
    ("a recovery policy", lambda: RecoveryPolicy(addresses=(URL,))),
    ("a hub", lambda: Hub(Settings(users={"me": MARK}))),
    ("a URL", lambda: parse(URL)),
    ("a URL with a token", lambda: parse(f"amqps://broker/?auth_mechanism=oauthbearer&access_token={MARK}")),
)
"""What holds a secret under another name."""
FILLED: Final[dict[str, Any]] = {
    "patience": 1.0,
    "mechanism": "PLAIN",
    "user": "me",
    "salt": b"s" * 16,
    "iterations": 4096,
    "locale": "C",
}
"""Values for parameters that are needed beside them."""
BY_HAND: Final[dict[str, Callable[[], object]]] = {
    "amqp_sansio.amqp_0_8.Config": lambda: amqp_0_9_1.Config(sasl=(ScramSha256("me", MARK), Plain("me", MARK))),
    "amqp_sansio.amqp_0_8.Connection": lambda: amqp_0_9_1.Connection.client(HELD["config"]),
    "amqp_sansio.amqp_0_9_1.Connection": lambda: amqp_0_9_1.Connection.client(HELD["config"]),
    "amqp_sansio.amqp_0_10.Connection": lambda: amqp_0_10.Connection.client(amqp_0_10.Config(sasl=HELD["sasl"])),
    "amqp_sansio.amqp_1_0.Connection": lambda: amqp_1_0.Connection.client(amqp_1_0.Config(sasl=HELD["sasl"])),
    "amqp_sansio.Acceptor": lambda: Acceptor({AMQP_1_0: amqp_1_0.Config(sasl=HELD["sasl"])}),
    "amqp_sansio.AuthenticationRequested": lambda: AuthenticationRequested("PLAIN", HELD["credentials"]),
    "amqp_sansio.broker.Settings": lambda: Settings(users={"me": User(MARK)}),
    "amqp_sansio.sasl.ScramKeyBook": lambda: ScramKeyBook(MARK.encode()),
    "amqp_sansio.messaging.Offer": lambda: Offer(URL, "1.0", None),
    "amqp_sansio_asyncio.Connection": lambda: opened("0-9-1"),
    "amqp_sansio_asyncio.amqp_0_10.Connection": lambda: opened("0-10"),
    "amqp_sansio_asyncio.amqp_1_0.Connection": lambda: opened("1.0"),
    "amqp_sansio_asyncio.Server": lambda: served(),
    "amqp_sansio_pytest.EventHubs": lambda: EventHubs(namespace=EventHubsNamespace(rules=KEY_RULES)),
    "amqp_sansio_pytest.ServiceBus": lambda: ServiceBus(namespace=ServiceBusNamespace(rules=KEY_RULES)),
}
"""Objects that need more than their parameters."""


def public_classes() -> Iterator[tuple[str, type[Any]]]:
    """Every public class once, by its first name."""
    # The Spark adapter's modules need pyspark.
    adapters = [each for each in ADAPTERS.glob("*/") if each.name != "spark" or find_spec("pyspark") is not None]
    packages = {path.parent for base in (CORE, *adapters) for path in base.rglob("__init__.py")}
    seen: set[type[Any]] = set()
    for module in sorted(package_name(each) for each in packages if not is_internal(each.parts)):
        loaded = importlib.import_module(module)
        for name in getattr(loaded, "__all__", ()):
            found = getattr(loaded, name)
            if inspect.isclass(found) and found not in seen:
                seen.add(found)
                yield f"{module}.{name}", found


def parameters(kind: type[Any]) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(kind).parameters)
    except (TypeError, ValueError):
        return {}


def opened(version: str) -> object:
    """A connection of a client that has logged in with the secret."""

    async def main() -> object:
        async with connect(URL, version=version) as connection:
            return connection

    with (
        World(settings=Settings(users={"me": MARK}, seed=b"broker")) as world,
        asyncio.Runner(loop_factory=lambda: simulated_loop(world)) as runner,
    ):
        return runner.run(main())


def served() -> object:
    """A server whose configuration holds the secret."""

    async def main() -> object:
        async with serve(handle, port=0, configs={AMQP_0_9_1: HELD["config"]}) as server:
            return server

    async def handle(connection: object) -> None:
        raise AssertionError(connection)

    return run(main())


HOLDERS: Final = {name: kind for name, kind in public_classes() if HELD.keys() & parameters(kind).keys()}


def made(name: str) -> object:
    if name in BY_HAND:
        return BY_HAND[name]()
    given: dict[str, Any] = {}
    for key, parameter in parameters(HOLDERS[name]).items():
        if key in HELD:
            given[key] = HELD[key]
        elif parameter.default is inspect.Parameter.empty:
            given[key] = FILLED[key]
    return HOLDERS[name](**given)


def shows(held: object) -> Iterator[str]:
    """The ways in which an object becomes text."""
    yield repr(held)
    yield str(held)
    yield f"{held}"
    yield repr([{"a": held}])
    record = logging.LogRecord("a", logging.INFO, "a.py", 1, "%s %r", (held, held), None)
    yield record.getMessage()
    yield str(ValueError(held))


def written(secret: bytes) -> set[str]:
    """A secret as texts have it."""
    return {secret.decode(), secret.hex(), base64.b64encode(secret).decode()}


FORBIDDEN: Final = {*written(MARK.encode()), *(repr(each) for each in (KEYS.stored_key, KEYS.server_key))}


@pytest.mark.parametrize("name", HOLDERS)
def test_a_class_that_may_hold_a_secret_shows_none(name: str) -> None:
    held = made(name)
    for text in shows(held):
        assert not [each for each in FORBIDDEN if each in text], text


@pytest.mark.parametrize(("name", "make"), BESIDE, ids=[name for name, _ in BESIDE])
def test_what_else_holds_a_secret_shows_none(name: str, make: Callable[[], object]) -> None:
    held = make()
    for text in shows(held):
        assert not [each for each in FORBIDDEN if each in text], text


def test_a_secret_that_is_shown_is_found() -> None:
    assert [each for each in FORBIDDEN for text in shows(amqp_0_9_1.BasicProperties(user_id=MARK)) if each in text]


def test_many_classes_have_a_row() -> None:
    assert len(HOLDERS) >= 30


@pytest.mark.parametrize("version", ["0-8", "0-9-1", "0-10", "1.0"])
def test_a_refused_login_and_the_log_of_all_frames_show_none(version: str, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> str:
        with pytest.raises(EndpointClosed) as refused:
            await connect(URL, version=version)
        return f"{refused.value} {refused.value!r} {refused.value.report}"

    with (
        caplog.at_level(logging.DEBUG),
        World(settings=Settings(users={"me": "another"}, seed=b"broker")) as world,
        asyncio.Runner(loop_factory=lambda: simulated_loop(world)) as runner,
    ):
        text = runner.run(main())
    for each in FORBIDDEN:
        assert each not in text
        assert each not in caplog.text
