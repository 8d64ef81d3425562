"""Starts brokers when a test asks for one, with those that are used beside it, each in a thread; stops all at once."""

import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

Runner = Callable[[Path], AbstractContextManager[Any]]


class _Start:
    """One broker on its way; `running` is what its runner gave."""

    def __init__(self, runner: Runner, folder: Path) -> None:
        self._runner = runner(folder)
        self._failure: BaseException | None = None
        self._running: Any = None
        self._thread = threading.Thread(target=self._enter)
        self._thread.start()

    def _enter(self) -> None:
        try:
            self._running = self._runner.__enter__()
        except BaseException as error:
            self._failure = error

    @property
    def running(self) -> Any:
        self._thread.join()
        if self._failure is not None:
            raise self._failure
        return self._running

    def stop(self) -> None:
        self._thread.join()
        if self._failure is None:
            self._runner.__exit__(None, None, None)


class Brokers:
    """The brokers of a run, or of one of its processes. Those of one set in `beside` start together."""

    def __init__(
        self, runners: Mapping[str, Runner], folders: Mapping[str, Path], beside: Collection[Collection[str]] = ()
    ) -> None:
        self._runners = runners
        self._folders = folders
        self._beside = beside
        self._starts: dict[str, _Start] = {}

    def get(self, kind: str) -> Any:
        """The running broker of that kind. Starts it at the first call; raises what its start raised."""
        for each in (kind, *next((kinds for kinds in self._beside if kind in kinds), ())):
            if each in self._runners and each not in self._starts:
                self._starts[each] = _Start(self._runners[each], self._folders[each])
        return self._starts[kind].running

    def stop(self) -> None:
        """Stop all of them; returns when they are gone."""
        threads = [threading.Thread(target=start.stop) for start in self._starts.values()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
