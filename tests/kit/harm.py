"""Harm: every attribute of the objects that something keeps, set to what it must not be, one at a time.

The kinds of fault are those of a wrong line: a count that is off by one or never goes down, a flag the other way, a
reference to another object of the same class, to none where there is one, or to one where there is none; a book that
lacks an entry, has one too many, has it under another key, or has its entries in another order. `harms` tries all of
them on all objects, puts back what was there, and tells what `check` said.
"""

# pyright: reportUnknownArgumentType=false
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, Final, cast

from amqp_sansio import Limits
from amqp_sansio.broker import BrokerLimits

MANY: Final = 1_200
"""Entries that no book keeps of what is only remembered."""
_ALIKE: Final = 6
"""Objects of one class that are harmed."""
_OFF: Final = (1, -1, 1 << 20, -(1 << 20), 1 << 40, -(1 << 40))
_ROOMS: Final = ("model", "frontends", "endpoint", "observer", "_watching", "_core", "_ground", "broker")
_APART: Final = ("amqp_sansio.broker.settings", "amqp_sansio.metrics")
_PLAIN: Final = (int, str, bytes, float, bool, type(None))


class Kept:
    """Objects with books that are reached from one: all by their class, and those of each that are harmed."""

    def __init__(self, root: object, many: int = MANY) -> None:
        self.many = many
        self.objects: list[Any] = []
        self.of: dict[type, list[Any]] = {}
        self._seen: dict[int, object] = {}
        waiting = [root]
        while waiting:
            each = waiting.pop()
            if id(each) in self._seen or isinstance(each, (*_PLAIN, type, Enum)):
                continue
            self._seen[id(each)] = each
            if isinstance(each, dict):
                book = cast("dict[object, object]", each)
                waiting += [*book, *book.values()]
            elif isinstance(each, (list, tuple, deque, set, frozenset)):
                waiting += cast("list[object]", each)
            elif _has_books(each):
                alike = self.of.setdefault(type(each), [])
                alike.append(each)
                if len(alike) <= _ALIKE:
                    self.objects.append(each)
                waiting += [value for _, value in attributes(each)]

    def near(self, name: str) -> list[list[Any]]:
        """What an attribute of that name may be meant for: objects of a class that is called so, or of a few."""
        kinds = sorted(self.of.values(), key=len)
        called = [each for each in kinds if type(each[0]).__name__.lower().strip("_") in name.lower()]
        return called or kinds[:3]


def _has_books(each: object) -> bool:
    if isinstance(each, Limits | BrokerLimits):
        return True
    modules = [kind.__module__ for kind in type(each).__mro__ if kind.__module__.startswith("amqp_sansio.")]
    if not modules or modules[0].startswith(_APART) or hasattr(type(each), "__match_args__"):
        return False
    return any(room in module.split(".") for module in modules for room in _ROOMS)


def attributes(each: object) -> Iterator[tuple[str, Any]]:
    names = [name for kind in type(each).__mro__ for name in vars(kind).get("__slots__", ())]
    names += list(getattr(each, "__dict__", {}))
    for name in dict.fromkeys(names):
        if hasattr(each, name):
            yield name, getattr(each, name)


def harms(root: object, check: Callable[[], object], module: str, many: int = MANY) -> Iterator[tuple[str, str]]:
    """Do each harm in turn to the objects whose classes are in `module`, and to limits; what was harmed, and what
    `check` said of it. What it says nothing of is left out."""
    check()
    kept = Kept(root, many)
    for each in sorted(kept.objects, key=lambda one: len(kept.of[type(one)])):
        if not isinstance(each, Limits | BrokerLimits) and not any(
            [kind.__module__.startswith(module) for kind in type(each).__mro__]
        ):
            continue
        for name, value in list(attributes(each)):
            for way, undo in _ways(kept, each, name, value):
                said = _said(check)
                undo()
                if said:
                    yield f"{type(each).__name__}.{name}: {way}", said
    check()


def _said(check: Callable[[], object]) -> str:
    try:
        check()
    except AssertionError as error:
        return str(error)
    except (AttributeError, KeyError, TypeError, IndexError, ValueError, ArithmeticError, RuntimeError):
        # The check itself can't read on: a fault is found, but not named.
        return ""
    return ""


Undo = Callable[[], object]


def _ways(kept: Kept, each: object, name: str, value: object) -> Iterator[tuple[str, Undo]]:
    def put(other: object) -> Undo:
        object.__setattr__(each, name, other)
        return lambda: object.__setattr__(each, name, value)

    if isinstance(value, bool):
        yield "the other way", put(not value)
    elif isinstance(value, int):
        for off in _OFF:
            yield f"off by {off}", put(value + off)
        yield "nothing", put(0)
        yield "not known", put(None)
    elif isinstance(value, Enum):
        for other in type(value):
            if other is not value:
                yield other.name, put(other)
    elif isinstance(value, dict):
        yield from _harmed_book(kept, _book(value))
    elif isinstance(value, (list, deque)):
        yield from _harmed_row(kept, cast("list[Any]", value))
    elif isinstance(value, tuple):
        yield "reversed", put(cast("tuple[object, ...]", value)[::-1])
        yield "empty", put(())
        if value and all([isinstance(one, int) for one in cast("tuple[object, ...]", value)]):
            yield "more", put(tuple([one + 5 for one in cast("tuple[int, ...]", value)]))
    elif isinstance(value, set):
        yield "empty", put(set[object]())
        yield "many", put(set(range(kept.many)))
    elif isinstance(value, str):
        yield "another text", put(value + "x")
    elif value is not None and not isinstance(value, _PLAIN):
        yield "none", put(None)
        for other in kept.of.get(type(value), ()):
            if other is not value:
                yield "another", put(other)
                break
    elif value is None:
        for kind in kept.near(name):
            yield f"a {type(kind[0]).__name__}", put(kind[-1])
        yield "a number", put(1 << 20)
        yield "a small number", put(-1)


def _book(value: object) -> dict[Any, Any]:
    return cast("dict[Any, Any]", value)


def _kind(value: object) -> type[object]:
    return type(value)


def _harmed_book(kept: Kept, book: dict[Any, Any]) -> Iterator[tuple[str, Undo]]:
    before = dict(book)

    def undo() -> None:
        book.clear()
        book.update(before)

    if before:
        first, last = next(iter(before)), next(reversed(before))
        del book[last]
        yield "one less", undo
        book.clear()
        yield "empty", undo
        book[_like(first)] = before[first]
        yield "once more under another key", undo
        book[_like(first)] = book.pop(first)
        yield "under another key", undo
        other = next((each for each in kept.of.get(_kind(before[first]), ()) if each is not before[first]), None)
        if other is not None:
            book[first] = other
            yield "another under this key", undo
            book[_like(first)] = other
            yield "a strange one", undo
        if len(before) > 1:
            book.clear()
            book.update(reversed(before.items()))
            yield "reversed", undo
    else:
        for kind in sorted(kept.of.values(), key=len):
            one = kind[-1]
            for key in (getattr(one, "number", 1 << 20), getattr(one, "name", ""), one):
                try:
                    book[key] = one
                except TypeError:
                    continue
                yield f"a {type(one).__name__}", undo
        book["strange"] = None
        yield "a text", undo
        book[1 << 20] = 1 << 20
        yield "a number", undo
    for key, value in before.items():
        if isinstance(value, dict):
            for way, undo_inner in _harmed_book(kept, _book(value)):
                yield f"of {key}, {way}", undo_inner
        elif isinstance(value, (list, deque)):
            for way, undo_inner in _harmed_row(kept, cast("list[Any]", value)):
                yield f"of {key}, {way}", undo_inner
    value = next(iter(before.values()), None)
    book.update({("many", number): value for number in range(kept.many)})
    yield "many", undo


def _like(key: Any) -> object:
    """Another key that may stand beside this one."""
    if isinstance(key, int):
        return key + 1_000
    if isinstance(key, (str, bytes)):
        return key[:-1] + b"~" if isinstance(key, bytes) else key[:-1] + "~"
    if isinstance(key, tuple):
        return tuple([_like(each) for each in cast("tuple[object, ...]", key)])
    return key


def _harmed_row(kept: Kept, row: list[Any]) -> Iterator[tuple[str, Undo]]:
    before = list(row)

    def undo() -> None:
        row.clear()
        row.extend(before)

    if before:
        row.pop()
        yield "one less", undo
        row.append(before[0])
        yield "the first once more", undo
        row.reverse()
        yield "reversed", undo
        row.clear()
        yield "empty", undo
        row.extend(before * kept.many)
        yield "many", undo
    else:
        row.append(1)
        yield "a number", undo
        row.append(None)
        yield "none", undo
        row.extend([None] * kept.many)
        yield "many", undo
    row.append(b"")
    yield "no octets", undo
