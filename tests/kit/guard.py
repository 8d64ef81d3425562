"""Pytest plug-in: a test outside tests/system has no machine, so nothing in it depends on one.

Such a test fails where it sleeps, where code of the project reads the machine's clock, and where anybody makes a socket
(each event loop needs one), a thread or a process. `@pytest.mark.real("why")` marks the few that prove a real thing in
small; tests/system and tests/interop are free.

Not seen: `datetime.now`, which is written in C, and what other processes do.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from types import ModuleType
from typing import Any, Final

import pytest

FREE: Final = ("tests/system/", "tests/interop/")
"""Folders whose tests have the machine."""
OURS: Final = frozenset({"pyspark_amqp_capture", "tests", "tools", "examples"})
"""Packages of the project, beside those whose names begin with the project's own. Libraries may look at the clock."""
PASSING: Final = "amqp_sansio.testing.simulate.outside"
"""The module of a simulated world that asks the machine for whoever isn't in the world."""
METERS: Final = frozenset({"tests.kit.guard", "tests.kit.cost"})
"""Modules that measure the suite."""
CLOCKS: Final = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")

_Callable = Callable[..., Any]


class MachineUsed(BaseException):
    """A test of the default suite used the machine. No handler in the tested code catches it."""


class Guard:
    """Stands in for the functions that reach the machine, and refuses them while it is `shut`."""

    def __init__(self) -> None:
        self.is_shut = False
        self._thread = 0
        """The thread that runs the test; others are left from tests that may have them, such as Spark's."""
        self.found = ""
        """The first use that was refused; a thread may have swallowed its exception."""
        self._undo: list[Callable[[], None]] = []

    def install(self) -> None:
        """Replace the functions, also where modules of the project and their classes hold them already.

        Whichever module was imported first, as a folder's conftest is before this plug-in is configured.
        """
        self._replace(time, "sleep", self._refusing(time.sleep, "time.sleep"))
        for name in CLOCKS:
            self._replace(time, name, self._refusing_ours(getattr(time, name), f"time.{name}"))
        self._replace(socket.socket, "__init__", self._refusing(socket.socket.__init__, "a socket"))
        self._replace(socket, "socketpair", self._refusing(socket.socketpair, "a pair of sockets"))
        self._replace(subprocess.Popen, "__init__", self._refusing(subprocess.Popen.__init__, "a process"))
        self._replace(threading.Thread, "start", self._refusing_threads(threading.Thread.start))
        if hasattr(os, "fork"):
            self._replace(os, "fork", self._refusing(os.fork, "a process"))

    def uninstall(self) -> None:
        """Put back what was replaced."""
        for undo in reversed(self._undo):
            undo()
        self._undo.clear()

    def shut(self) -> None:
        """Refuse, from now on, what the calling thread does."""
        self.found = ""
        self._thread = threading.get_ident()
        self.is_shut = True

    @property
    def _refuses(self) -> bool:
        return self.is_shut and threading.get_ident() == self._thread

    def take(self) -> str:
        """Return the first use that was refused, and forget it."""
        found = self.found
        self.found = ""
        return found

    def _replace(self, owner: Any, name: str, new: _Callable) -> None:
        old = getattr(owner, name)
        self._set(owner, name, old, new)
        for holder in _holders():
            for key, value in [*vars(holder).items()]:
                # A class holds a function of the machine as its static method.
                if getattr(value, "__func__", None) is old:
                    self._set(holder, key, value, staticmethod(new))
                elif value is old:
                    self._set(holder, key, value, new)

    def _set(self, owner: Any, name: str, old: object, new: object) -> None:
        setattr(owner, name, new)
        self._undo.append(lambda: setattr(owner, name, old))

    def _refuse(self, what: str) -> None:
        self.found = self.found or what
        raise MachineUsed(f"{what}: a test outside tests/system has no machine; use testing.simulate, or mark it real")

    def _refusing(self, real: _Callable, what: str) -> _Callable:
        def guarded(*arguments: Any, **named: Any) -> Any:
            if self._refuses:
                self._refuse(what)
            return real(*arguments, **named)

        return guarded

    def _refusing_ours(self, real: _Callable, what: str) -> _Callable:
        def guarded() -> Any:
            if self._refuses and _is_ours(_caller()):
                self._refuse(what)
            return real()

        return guarded

    def _refusing_threads(self, real: _Callable) -> _Callable:
        def guarded(thread: threading.Thread) -> None:
            if self._refuses:
                self._refuse(f"a thread ({thread.name})")
            real(thread)

        return guarded


def _caller() -> str:
    """The module that called the stand-in."""
    frame = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    while frame.f_globals.get("__name__") == PASSING and frame.f_back is not None:
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", ""))


def _is_ours(module: str) -> bool:
    package = module.partition(".")[0]
    return (package in OURS or package.startswith("amqp_sansio")) and module not in METERS


def _holders() -> Iterator[ModuleType | type]:
    """The modules of the project that are imported, and the classes in each."""
    for module in [*sys.modules.values()]:
        if _is_ours(getattr(module, "__name__", "")):
            yield module
            yield from [each for each in vars(module).values() if isinstance(each, type) and _is_ours(each.__module__)]


def is_free(item: pytest.Item) -> bool:
    """Whether a test may use the machine."""
    return item.nodeid.startswith(FREE) or item.get_closest_marker("real") is not None


GUARD: Final = Guard()


def pytest_configure() -> None:
    GUARD.install()


def pytest_unconfigure() -> None:
    GUARD.uninstall()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    yield from _guarded(item)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    yield from _guarded(item)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    yield from _guarded(item)


def _guarded(item: pytest.Item) -> Generator[None, None, None]:
    """Keep the machine from one phase of a test."""
    if is_free(item):
        return (yield)
    GUARD.shut()
    try:
        result = yield
    finally:
        GUARD.is_shut = False
    if found := GUARD.take():
        pytest.fail(f"{found} was used, and what used it went on")
    return result


__all__ = ["FREE", "GUARD", "Guard", "MachineUsed", "is_free"]
