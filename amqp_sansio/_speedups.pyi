"""The functions of `_speedups.c`. Each equals a pure text, which is the reference."""

from collections.abc import Callable, Mapping
from typing import Any, Generic, Literal, TypeAlias, TypeVar, overload

from ._watching.lane import Plan

_T = TypeVar("_T")
_U = TypeVar("_U")
_P = TypeVar("_P")
_Names: TypeAlias = tuple[int, str, str, str]
_Route: TypeAlias = tuple[str, str, bool, bool]
_ListPlan: TypeAlias = tuple[bytes, dict[bytes, Any], Callable[[str], Any], Callable[[int], Any], Any]
Unit: TypeAlias = (
    tuple[Literal[60], _Names, int, bool, bytes, bytes | None, int, int]
    | tuple[Literal[40], int, _Route, bytes, bytes, int]
    | tuple[Literal[80], int, int, bool, int]
    | tuple[Literal[3], int, int]
)
"""A unit of 0-8 or 0-9-1 without records; it begins with its kind."""

class Maker(Generic[_T]):
    """What makes records of one class."""

    def __call__(self, *values: object) -> _T:
        """A record whose slots have these values."""

def maker(cls: type[_T], names: tuple[str, ...], rest: tuple[object, ...], /) -> Maker[_T]:
    """What makes records of a class as its `__init__` does: of values for the slots with these names, the last of which
    always have the values in `rest`."""

@overload
def scan_content(data: bytes, pos: int, body_max: int, other_max: int, names: _Names | _Route | None, /) -> Unit | None:
    """The usual unit of 0-8 or 0-9-1 at `pos`, as ContentReader's `_read` finds it."""

@overload
def scan_content(
    data: bytes,
    pos: int,
    body_max: int,
    other_max: int,
    names: _Names | _Route | None,
    rules: object,
    makers: tuple[Maker[Any], None, Maker[_T], None],
    /,
) -> Unit | tuple[Literal[61], _Names, int, int, int, _T] | None:
    """The same, with the record of a delivery that is all there."""

@overload
def scan_content(
    data: bytes,
    pos: int,
    body_max: int,
    other_max: int,
    names: _Names | _Route | None,
    rules: object,
    makers: tuple[Maker[_P], Maker[_T], None, Maker[_U]],
    /,
) -> (
    Unit
    | tuple[Literal[61], _Names, int, int, int, _T, _P, bytes, bytes]
    | tuple[Literal[41], int, _Route, bytes, bytes, int, _U, _P]
    | None
):
    """The same, with the records of a deliver or publish that is all there, and of its properties."""

def scan_frames(
    data: bytes,
    pos: int,
    most: int,
    room: int,
    layouts: Mapping[bytes, tuple[object, bytes, bytes, bytes, int, int, str, str]],
    base: int,
    stop: int,
    seq: int,
    opened: set[tuple[int, int]],
    instant: tuple[int, int, str],
    plan: Plan,
    rows: list[tuple[str, tuple[Any, ...]]],
    /,
) -> tuple[int, int, int]:
    """The rows of the usual units of 1.0 from `pos` on, as the methods of its ObserverLane append them; what it returns
    is as that of `scan_rows`."""

@overload
def scan_list(data: bytes, start: int, pos: int, end: int, plan: _ListPlan, /) -> tuple[Any, ...] | None:
    """The fields of a list of 1.0, as the `_read` of a composite type finds them; None for what isn't usual."""

@overload
def scan_list(
    data: bytes, start: int, pos: int, end: int, plan: _ListPlan, maker: Maker[_T], /
) -> tuple[_T, int] | None:
    """The same, as a record, and where the list ends."""

def scan_map(
    data: bytes,
    pos: int,
    end: int,
    key: int,
    makers: tuple[
        Callable[[str], Any], Callable[[int], Any], Callable[[int], Any], Callable[[int], Any], Callable[[int], Any]
    ],
    /,
) -> tuple[dict[Any, Any], int] | None:
    """A map of 1.0 and where it ends, as `read_properties` and `read_symbols` find them; None for what isn't usual."""

def scan_properties(
    raw: bytes, kinds: bytes, table: Maker[Any], rules: object, into: object, maker: Maker[Any], /
) -> bool:
    """Set the properties of content of 0-8 or 0-9-1, as `_read` of their class does; False for what isn't usual."""

def scan_rows(
    data: bytes,
    pos: int,
    body_max: int,
    other_max: int,
    most: int,
    base: int,
    stop: int,
    seq: int,
    channels: set[int],
    instant: tuple[int, int, str],
    plan: Plan,
    rows: list[tuple[str, tuple[Any, ...]]],
    /,
) -> tuple[int, int, int]:
    """The rows of the usual units of 0-8 or 0-9-1 from `pos` on, as the methods of ObserverLane append them; where the
    first other unit begins, its number, and where it ends if only its time is another."""

def scan_table(
    raw: bytes,
    first_wins: bool,
    l_is_unsigned: bool,
    s_is_string: bool,
    entries: int,
    depth: int,
    rules: object,
    make: Callable[..., Any],
    timestamp: Callable[[int], Any],
    /,
) -> dict[str, Any] | None:
    """The fields of a table of 0-8 or 0-9-1, as Table's `_read` finds them; None for what isn't usual."""
