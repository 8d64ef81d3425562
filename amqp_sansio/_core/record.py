"""Small slotted value classes: what every event and configuration of the library is made of.

A record is written like a dataclass and behaves like a frozen one for static checkers. At run time its attributes are
plain slots: a frozen dataclass takes four times as long to build, and importing `dataclasses` costs more
than the whole core may cost.

`__record_texts__` names the fields that are sentences for people, which may quote a peer: they become
`printing.printable`. `repr` leaves out the fields that `__record_hidden__` names.
"""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ..printing import printable

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType

    from typing_extensions import dataclass_transform

_T = TypeVar("_T")
_COMPILED: Final[dict[tuple[int, tuple[int, ...], tuple[str, ...]], CodeType]] = {}
"""The code of `__init__` by number of fields, which are sentences and what is made later, before it has their names."""


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


def _initializer(
    owner: str,
    names: list[str],
    defaults: dict[str, Any],
    texts: tuple[str, ...],
    later: dict[str, Callable[[Any], object]],
) -> FunctionType:
    """Make the function that sets the fields `names`. Compiling one for each record would take a tenth of the core's
    import time: it is compiled for the number of fields, and given their names.
    """
    needed = len(names) - len(defaults)
    for name in names[:needed]:
        if name in defaults:
            raise TypeError(f"{owner}: a field without a default follows {name}, which has one")
    sentences = tuple([names.index(name) for name in texts])
    shape = (len(names), sentences, tuple(later))
    code = _COMPILED.get(shape)
    if code is None:
        fields = [f"f{index}" for index in range(len(names))]
        lines = [f" self.{field} = {field}" for field in fields] or [" pass"]
        lines += [f" self.{fields[index]} = _printable({fields[index]})" for index in sentences]
        lines += [f" self.{name} = _later_{name}(self)" for name in later]
        found: dict[str, Any] = {}
        exec(f"def __init__({', '.join(['self', *fields])}):\n" + "\n".join(lines), found)
        code = _COMPILED[shape] = found["__init__"].__code__
    named = code.replace(
        co_varnames=("self", *names), co_names=(*names, *code.co_names[len(names) :]), co_qualname=f"{owner}.__init__"
    )
    space: dict[str, Any] = {"_printable": printable}
    space |= {f"_later_{name}": make for name, make in later.items()}
    return FunctionType(named, space, "__init__", tuple([defaults[name] for name in names[needed:]]))


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
        # Attributes that aren't fields, made of those that are.
        later: dict[str, Callable[[Any], object]] = {}
        for base in cls.__mro__[1:]:
            later.update(base.__dict__.get("__record_later__", {}))
        texts = body.get("__record_texts__", ())
        body["__init__"] = _initializer(cls.__qualname__, names, defaults, texts, later)
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
