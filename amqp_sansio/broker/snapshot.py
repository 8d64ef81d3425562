"""Snapshots of a broker: pickles whose depth doesn't grow with the broker's content.

Owners have consumers, these have queues, these have further consumers, and so on: a pickler that follows such
references as it meets them runs out of stack. Here each of these objects is first written empty, and the contents of
all follow in flat lists.
"""

from __future__ import annotations

import pickle
from io import BytesIO
from typing import Any, Final

from .._ground.layouts import BROKER
from .model.consumer import Consumer, Window
from .model.content import Message
from .model.entry import Entry
from .model.exchange import Binding, Exchange
from .model.owner import Owner, Transaction
from .model.queue import Queue

_LINKED: Final = (Binding, Consumer, Entry, Exchange, Message, Owner, Queue, Transaction, Window)
"""Classes that refer to one another in chains of any length."""


class Whole:
    """The base of objects that pickle as one snapshot: Broker, Hub. Their parts, if pickled beside them without
    `dumps`, become copies."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return loads, (dumps(self),)


def dumps(value: object) -> bytes:
    """Pickle `value`: a Broker or Hub, or a tuple of one with objects that stay parts of it."""
    target = BytesIO()
    target.write(b"layout %d\n" % BROKER)
    pickler = _Pickler(target)
    pickler.dump(value)
    while pickler.met:
        met, pickler.met = pickler.met, []
        pickler.dump([(each, _contents(each)) for each in met])
    pickler.dump(None)
    return target.getvalue()


def loads(octets: bytes) -> Any:
    """Return the value given to `dumps`. As with every pickle: only for octets from a trusted source.

    Raises ValueError for another layout, before its content is read.
    """
    source = BytesIO(octets)
    layout, _, number = source.readline(32).strip().partition(b" ")
    if layout != b"layout":
        raise ValueError("these octets are no snapshot of a broker")
    if number != b"%d" % BROKER:
        found = number.decode("ascii", "replace")
        raise ValueError(f"this snapshot of a broker has layout {found}, this release reads {BROKER}")
    unpickler = pickle.Unpickler(source)
    value = unpickler.load()
    while (filled := unpickler.load()) is not None:
        for each, contents in filled:
            for name, content in contents.items():
                setattr(each, name, content)
    return value


class _Pickler(pickle.Pickler):
    def __init__(self, target: BytesIO) -> None:
        super().__init__(target, pickle.HIGHEST_PROTOCOL)
        self.met: list[object] = []

    def reducer_override(self, obj: object) -> Any:
        if isinstance(obj, _LINKED):
            self.met.append(obj)
            return _empty, (type(obj),)
        if isinstance(obj, Whole):
            return _empty, (type(obj),), vars(obj)
        return NotImplemented


def _empty(kind: type[object]) -> object:
    return object.__new__(kind)


def _contents(value: object) -> dict[str, object]:
    contents: dict[str, object] = {}
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, name):
                contents[name] = getattr(value, name)
    contents.update(getattr(value, "__dict__", {}))
    return contents


__all__ = ["Whole", "dumps", "loads"]
