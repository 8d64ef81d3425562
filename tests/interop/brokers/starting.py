"""Starts several brokers at the same time, each in a thread, and stops them the same way."""

import threading
from collections.abc import Callable, Mapping
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
    """The brokers of a run; `get` waits for one and raises what its start raised."""

    def __init__(self, runners: Mapping[str, Runner], folders: Mapping[str, Path]) -> None:
        self._starts = {kind: _Start(runner, folders[kind]) for kind, runner in runners.items()}

    def get(self, kind: str) -> Any:
        """The running broker of that kind."""
        return self._starts[kind].running

    def stop(self) -> None:
        """Stop all of them; returns when they are gone."""
        threads = [threading.Thread(target=start.stop) for start in self._starts.values()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
