"""Opening: an awaitable that is also a context, for things being opened."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar


class Closable(Protocol):
    """Closed at the end of a context."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> object: ...


_T = TypeVar("_T", bound=Closable)


class Opening(Generic[_T]):
    """`await` it for the opened object, which you close yourself, or use it as `async with ... as thing`.

    Nothing happens before. It can be used once.
    """

    __slots__ = ("_begin", "_opened")

    def __init__(self, begin: Callable[[], Coroutine[Any, Any, _T]]) -> None:
        # Makes the coroutine that opens it, once.
        self._begin = begin
        # What its context closes at the end.
        self._opened: _T | None = None

    def __await__(self) -> Generator[Any, None, _T]:
        return self._begin().__await__()

    async def __aenter__(self) -> _T:
        self._opened = await self._begin()
        return self._opened

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.__aexit__(kind, error, trace)


__all__ = ["Closable", "Opening"]
