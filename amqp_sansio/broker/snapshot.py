"""Snapshots of a broker: pickles whose depth doesn't grow with what the broker holds.

Owners have consumers, these have queues, these have further consumers, and so on: a pickler that follows such
references as it meets them runs out of stack. Here each of these objects is written empty where it is met, and what is
in them comes behind, in flat lists.
"""

from __future__ import annotations

import pickle
from io import BytesIO
from typing import Any, Final

from .model.consumer import Consumer, Window
from .model.entry import Entry, Message
from .model.exchange import Binding, Exchange
from .model.owner import Owner
from .model.queue import Queue
from .model.transaction import Transaction

_LINKED: Final = (Binding, Consumer, Entry, Exchange, Message, Owner, Queue, Transaction, Window)
"""What refers to one another in chains of any length."""


class Whole:
    """The base of what pickles as one snapshot: a Broker, a Hub. Objects of theirs that are pickled beside them, and
    not through `dumps`, are copies."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return loads, (dumps(self),)


def dumps(value: object) -> bytes:
    """Pickle `value`, which may be a Broker or Hub, or a tuple of one with objects of it that stay its own."""
    target = BytesIO()
    pickler = _Pickler(target)
    pickler.dump(value)
    while pickler.met:
        met, pickler.met = pickler.met, []
        pickler.dump([(each, _contents(each)) for each in met])
    pickler.dump(None)
    return target.getvalue()


def loads(octets: bytes) -> Any:
    """What `dumps` was given. As with every pickle: only for octets from a source that is trusted."""
    unpickler = pickle.Unpickler(BytesIO(octets))
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
