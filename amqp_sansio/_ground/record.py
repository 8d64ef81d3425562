"""Small slotted value classes: what every event and configuration of the library is made of.

A record is written like a dataclass and behaves like a frozen one for static checkers. At run time its attributes are
plain slots: a frozen dataclass takes four times as long to build, and importing `dataclasses` costs more
than the whole core may cost.

`__init__` of each record of the package is in `initializers.py`, which `python -m tools.codegen` writes. A record that
isn't there yet is made by `general_initializer`, which is slower and does the same.

`__record_texts__` names the fields that are sentences for people, which may quote a peer: they become
`printing.printable`. `repr` leaves out the fields that `__record_hidden__` names.
"""

from __future__ import annotations

from .._checking import TYPE_CHECKING, TypeVar
from ..printing import printable
from .initializers import INITIALIZERS

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

    from typing_extensions import dataclass_transform

_T = TypeVar("_T")
_SET: Final = object.__setattr__


def _equal(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return all(getattr(self, name) == getattr(other, name) for name in self.__match_args__)


def _hash(self: Any) -> int:
    return hash((self.__class__, *[getattr(self, name) for name in self.__match_args__]))


def _repr(self: Any) -> str:
    fields = ", ".join(
        f"{name}={getattr(self, name)!r}" for name in self.__match_args__ if name not in self.__record_hidden__
    )
    return f"{self.__class__.__qualname__}({fields})"


def _reduce(self: Any) -> tuple[Any, ...]:
    return self.__class__, tuple([getattr(self, name) for name in self.__match_args__])


def general_initializer(
    owner: str,
    names: tuple[str, ...],
    defaults: dict[str, Any],
    texts: tuple[str, ...],
    later: dict[str, Callable[[Any], object]],
) -> Callable[..., None]:
    """Return the `__init__` of any record, which the generated ones are compared with.

    It takes six times as long as those, so every record of the package has a generated one.
    """
    required = [name for name in names if name not in defaults]

    def __init__(self: Any, *values: Any, **named: Any) -> None:
        if len(values) > len(names):
            raise TypeError(f"{owner}.__init__() takes {len(names)} arguments but {len(values)} were given")
        given = dict(zip(names, values, strict=False))
        for name in named:
            if name not in names:
                raise TypeError(f"{owner}.__init__() got an unexpected keyword argument '{name}'")
            if name in given:
                raise TypeError(f"{owner}.__init__() got multiple values for argument '{name}'")
        given |= named
        if missing := [name for name in required if name not in given]:
            raise TypeError(f"{owner}.__init__() missing required arguments: {', '.join(missing)}")
        for name in names:
            value = given[name] if name in given else defaults[name]
            _SET(self, name, printable(value) if name in texts else value)
        for name, make in later.items():
            _SET(self, name, make(self))

    return __init__


def _build(cls: type[Any]) -> type[Any]:
    names: list[str] = []
    defaults: dict[str, Any] = {}
    hidden: set[str] = set(cls.__dict__.get("__record_hidden__", ()))
    for base in reversed(cls.__mro__[1:]):
        hidden.update(base.__dict__.get("__record_hidden__", ()))
        if "__record_defaults__" in base.__dict__:
            names += [name for name in base.__dict__["__match_args__"] if name not in names]
            defaults.update(base.__dict__["__record_defaults__"])
    inherited = len(names)
    body = dict(cls.__dict__)
    annotations: dict[str, str] = vars(cls).get("__annotations__", {})
    for name, annotation in annotations.items():
        if str(annotation).startswith("ClassVar"):
            continue
        if name in body:
            defaults[name] = body.pop(name)
        if name not in names:
            names.append(name)
    slots = tuple(names[inherited:])
    body["__qualname__"] = cls.__qualname__
    body.pop("__dict__", None)
    body.pop("__weakref__", None)
    body["__slots__"] = slots
    body["__match_args__"] = tuple(names)
    body["__record_defaults__"] = defaults
    body["__record_hidden__"] = frozenset(hidden)
    if "__init__" not in body:
        needed = len(names) - len(defaults)
        for name in names[:needed]:
            if name in defaults:
                raise TypeError(f"{cls.__qualname__}: a field without a default follows {name}, which has one")
        # Attributes that aren't fields, made of those that are.
        later: dict[str, Callable[[Any], object]] = {}
        for base in cls.__mro__[1:]:
            later.update(base.__dict__.get("__record_later__", {}))
        texts = body.get("__record_texts__", ())
        make = INITIALIZERS.get(f"{cls.__module__}.{cls.__qualname__}")
        if make is None:
            made = general_initializer(cls.__qualname__, tuple(names), defaults, texts, later)
        else:
            made = make(*[defaults[name] for name in names[needed:]], *later.values())
        made.__qualname__ = f"{cls.__qualname__}.__init__"
        body["__init__"] = made
    for name, function in (("__eq__", _equal), ("__hash__", _hash), ("__repr__", _repr), ("__reduce__", _reduce)):
        if body.get(name) is None:
            body[name] = function
    metaclass: Any = type(cls)
    built: type[Any] = metaclass(cls.__name__, cls.__bases__, body)
    return built


if TYPE_CHECKING:

    @dataclass_transform(frozen_default=True, eq_default=True)
    def record(cls: type[_T]) -> type[_T]:
        """Make `cls` a slotted value class; see the module's docstring."""
        ...

else:
    record: Callable[[type[_T]], type[_T]] = _build
