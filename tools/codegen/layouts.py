"""Writes the layout numbers of pickled states: a snapshot names the one that it was written in.

A number is made of the names and slots of every class in the rooms whose objects such a state may hold, so it changes
whenever a snapshot might mean something else. That it changes more often than needed costs nothing: a snapshot is read
by the release that wrote it.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Final
from zlib import crc32

from tools.trees import module_name

ROOT: Final = Path(__file__).resolve().parents[2]
TARGET: Final = "amqp_sansio/_ground/layouts.py"
SHARED: Final = ("_ground", "_core", "sasl", "errors.py", "events.py", "limits.py")
ENGINES: Final = ("_classic", "amqp_0_10", "amqp_1_0")
HISTORY: Final = (*SHARED, "_watching", *ENGINES, "observer.py")
ROOMS: Final[dict[str, tuple[str, ...]]] = {
    "CLASSIC": (*SHARED, "_classic/codec", "_classic/endpoint", "_classic/model"),
    "AMQP_0_10": (*SHARED, "amqp_0_10/codec", "amqp_0_10/endpoint", "amqp_0_10/model"),
    "AMQP_1_0": (*SHARED, "amqp_1_0/codec", "amqp_1_0/endpoint", "amqp_1_0/model"),
    "SESSION_0_10": (*SHARED, "amqp_0_10/codec", "amqp_0_10/endpoint/session_state.py", "amqp_0_10/model"),
    "OBSERVER": HISTORY,
    "LIFECYCLE": (*HISTORY, "recorded/lifecycle.py"),
    "REPLAY": (*HISTORY, "recorded", "capture"),
    "REASSEMBLER": ("_ground", "capture"),
    "BROKER": (*SHARED, *ENGINES, "broker"),
}
"""By the name of the number: what its states are made of, below `amqp_sansio`."""
WORDS: Final = {
    "CLASSIC": "A connection of 0-8 or 0-9-1.",
    "AMQP_0_10": "A connection of 0-10.",
    "AMQP_1_0": "A connection of 1.0.",
    "SESSION_0_10": "The state of a detached session of 0-10.",
    "OBSERVER": "An observer of any version.",
    "LIFECYCLE": "A lifecycle of messages.",
    "REPLAY": "A replay of a flow into tables.",
    "REASSEMBLER": "A reassembler of TCP streams.",
    "BROKER": "A broker with its clients.",
}
HEAD: Final = '''"""The layout numbers of pickled states: they change with the slots of what is pickled."""

# Generated; edit the generator (tools/codegen).

from __future__ import annotations

from .._checking import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Final

'''


def layout(modules: Iterable[ModuleType]) -> int:
    """Return the number of what these modules define."""
    return crc32("\n".join(line for module in modules for line in _lines(module)).encode())


def _lines(module: ModuleType) -> Iterator[str]:
    """The classes of a module with their slots, by name: the order in the file says nothing."""
    for name, found in sorted(vars(module).items()):
        if isinstance(found, type) and found.__module__ == module.__name__:
            slots = vars(found).get("__slots__", ())
            yield f"{name}: {' '.join(sorted((slots,) if isinstance(slots, str) else slots))}"


def _modules(room: str) -> Iterator[ModuleType]:
    base = ROOT / "amqp_sansio" / room
    for path in [base] if base.suffix else sorted(base.rglob("*.py")):
        if path != ROOT / TARGET:
            yield importlib.import_module(module_name(path, ROOT))


def generate() -> dict[str, str]:
    """Return the module's text by its path."""
    text = HEAD
    for name, rooms in ROOMS.items():
        number = layout(module for room in rooms for module in _modules(room))
        text += f'{name}: Final = {number}\n"""{WORDS[name]}"""\n'
    names = "".join(f'    "{name}",\n' for name in sorted(ROOMS))
    return {TARGET: f"{text}\n__all__ = [\n{names}]\n"}
