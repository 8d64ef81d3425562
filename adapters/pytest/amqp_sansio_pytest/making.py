"""Making brokers for tests, with the options of the command line and the configuration file."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

    from .embedded import EmbeddedBroker


@contextmanager
def making(config: pytest.Config, name: str, made: list[EmbeddedBroker]) -> Generator[Callable[..., EmbeddedBroker]]:
    """Give a function that starts brokers, with the arguments of `EmbeddedBroker`, and puts them into `made`; they stop
    with the context. `name` enters the names of recordings.

    Raises BaseExceptionGroup if a broker itself failed meanwhile.
    """
    from .embedded import EmbeddedBroker

    def make(**arguments: Any) -> EmbeddedBroker:
        wrong = unknown_argument(arguments)
        if wrong:
            raise TypeError(f"EmbeddedBroker has no argument {wrong}")
        arguments.setdefault("clock", config.getoption("--amqp-broker-clock") or config.getini("amqp_broker_clock"))
        folder = config.getoption("--amqp-broker-record")
        if folder is not None:
            arguments.setdefault("record", _recording(Path(folder), name, len(made)))
        broker = EmbeddedBroker(**arguments)
        made.append(broker)
        return broker.start()

    try:
        yield make
    finally:
        errors: list[BaseException] = []
        for broker in made:
            broker.stop()
            errors += broker.errors
    if errors:
        raise BaseExceptionGroup("the embedded AMQP broker failed", errors)


def unknown_argument(given: Iterable[str]) -> str:
    """Return the first name that `EmbeddedBroker` has no argument for, with a hint; "" if it has all of them."""
    from inspect import signature

    from amqp_sansio.client.settings import nearest

    from .embedded import EmbeddedBroker

    known = set(signature(EmbeddedBroker).parameters)
    for name in given:
        if name not in known:
            return f"{name!r}{nearest(name, known)}"
    return ""


def _recording(folder: Path, nodeid: str, number: int) -> Path:
    """Return the recording's path for one broker of a test."""
    folder.mkdir(parents=True, exist_ok=True)
    name = "".join([each if each.isalnum() or each in "-_." else "_" for each in nodeid])
    return folder / f"{name[-150:]}-{number}.pcapng"


__all__ = ["making", "unknown_argument"]
