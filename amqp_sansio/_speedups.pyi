"""The functions of `_speedups.c`. Each equals a pure text, which is the reference."""

from collections.abc import Callable
from typing import Any, Literal

from ._watching.lane import Plan

def scan_content(
    data: bytes,
    pos: int,
    body_max: int,
    other_max: int,
    names: tuple[int, str, str, str] | tuple[str, str, bool, bool] | None,
    /,
) -> (
    tuple[Literal[60], tuple[int, str, str, str], int, bool, bytes, bytes | None, int, int]
    | tuple[Literal[40], int, tuple[str, str, bool, bool], bytes, bytes, int]
    | tuple[Literal[80], int, int, bool, int]
    | tuple[Literal[3], int, int]
    | None
):
    """The usual unit of 0-8 or 0-9-1 at `pos`, as ContentReader's `_read` finds it."""

def scan_list(
    data: bytes,
    start: int,
    pos: int,
    end: int,
    plan: tuple[bytes, dict[bytes, Any], Callable[[str], Any], Callable[[int], Any], Any],
    /,
) -> tuple[Any, ...] | None:
    """The fields of a list of 1.0, as the `_read` of a composite type finds them; None for what isn't usual."""

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
