"""docs/events.md: the fields of every event, and the results of every command, from the code."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable
from importlib import import_module
from types import ModuleType
from typing import Final

from amqp_sansio import Event
from tools.docs.pages import run
from tools.engine_only import engine_only

HEAD: Final = """# Events and commands

Written by `python -m tools.docs.events` from the code; a test compares the two. [Your own event
loop](integrating.md) says how they are used: `next_event` returns an event or a `Signal`, and a command is a plain
call, whose octets `data_to_send` gives out.

A command that returns a `Pending` is answered later: exactly one of `Replied`, `Opened`, `Settled`, `Failed` or
`Abandoned` has it as its `handle` (or among its `handles`), and then `pending.done` is true, and `pending.result`
is the answer or raises the error. A command that returns `None` is done when it returns. Each raises
`LocalProtocolError` if the call is wrong, and `EndpointClosed` if what it is called on is gone; then nothing has
changed.
"""
VERSIONS: Final = {
    "AMQP 0-8 and 0-9-1": ("amqp_sansio.amqp_0_9_1", ("Connection", "Channel")),
    "AMQP 0-10": ("amqp_sansio.amqp_0_10", ("Connection", "Session")),
    "AMQP 1.0": ("amqp_sansio.amqp_1_0", ("Connection", "Session", "Sender", "Receiver")),
}
"""The module of each version, and its classes that have commands."""


def page() -> str:
    """Return the text of docs/events.md."""
    shared = import_module("amqp_sansio")
    observed = import_module("amqp_sansio.observer").__all__
    parts = [HEAD, "\n## Events of every version\n\n", *_events(shared, observed)]
    for title, (name, classes) in VERSIONS.items():
        module = import_module(name)
        parts += [f"\n## {title}\n\n", *_events(module, shared.__all__)]
        for each in classes:
            parts += [f"\n### Commands of `{each}`\n\n", "| command | returns | |\n|---|---|---|\n"]
            parts += _commands(getattr(module, each))
    return "".join(parts)


def _events(module: ModuleType, known: Iterable[str]) -> Iterable[str]:
    yield "| event | fields | |\n|---|---|---|\n"
    for name in sorted(set(module.__all__) - set(known)):
        found = getattr(module, name)
        if inspect.isclass(found) and issubclass(found, Event) and found.__match_args__:
            fields = ", ".join([f"`{field}`" for field in found.__match_args__])
            yield f"| `{name}` | {fields} | {_sentence(found)} |\n"


def _commands(found: type) -> Iterable[str]:
    for name, method in inspect.getmembers(found, inspect.isfunction):
        # What a model's class does is for the endpoint that derives from it.
        if name.startswith("_") or name in engine_only(found) or not method.__doc__ or ".model." in method.__module__:
            continue
        signature = inspect.signature(method)
        given = [each for each in signature.parameters.values() if each.name != "self"]
        returns = _cell(str(signature.return_annotation))
        call = _cell(f"{name}{signature.replace(parameters=given, return_annotation=inspect.Signature.empty)}")
        yield f"| `{call}` | `{returns}` | {_sentence(method)} |\n"


def _cell(signature: str) -> str:
    """Return a signature as a cell of a table: annotations are texts, which Python would show in quotes."""
    return re.sub(r": '([^']*)'", r": \1", signature).replace("|", "\\|")


def _sentence(found: object) -> str:
    """Return the first sentence of a docstring."""
    text = " ".join((inspect.getdoc(found) or "").split("\n\n")[0].split())
    return text.replace("|", "\\|")


def main(arguments: list[str] | None = None) -> int:
    """Write or check docs/events.md; return the exit status."""
    return run("events.md", page, arguments)


if __name__ == "__main__":
    sys.exit(main())
