"""docs/states.md: the state tables of every engine as diagrams."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from amqp_sansio._classic import states as classic
from amqp_sansio._machine import TableEnum, mermaid
from tools.docs.pages import run


class Machine(NamedTuple):
    """One table: what it is of, where it starts, and what a reader should know."""

    title: str
    table: Mapping[Any, Mapping[Any, Any]]
    start: TableEnum
    text: str


CLASSIC = (
    Machine(
        "Connection",
        classic.CONNECTION,
        classic.Connection.START,
        "Both ends together. `other` is every channel method and content frame, and the connection methods that aren't "
        "named (blocked, unblocked, update-secret). Once a side has sent its close, all that the other side still "
        "sends but close and close-ok is dropped.",
    ),
    Machine(
        "Channel",
        classic.CHANNEL,
        classic.Channel.CLOSED,
        "Both ends together. `other` is every method, header and body that isn't named.",
    ),
    Machine(
        "Content",
        classic.CONTENT,
        classic.Content.IDLE,
        "What one side sends on one channel: nothing may come between a method with content, its header and its body.",
    ),
    Machine(
        "Channel mode",
        classic.MODE,
        classic.Mode.NORMAL,
        "What the client selected a channel for. Transactions and RabbitMQ's publisher confirms exclude each other.",
    ),
)


def page() -> str:
    """The whole page."""
    lines = [
        "# State tables",
        "",
        "Written by `python -m tools.docs.states` from the tables in the code; a test compares the two.",
        "",
        "`C` marks what the client sends, `S` what the server sends: a client, a server and an observer step the same "
        "row of the same table. What has no arrow is a violation. Guards that no table can say are listed at the "
        "head of the module that has the table.",
        "",
        "## 0-8 and 0-9-1",
        "",
        "Module `amqp_sansio._classic.states`.",
    ]
    for machine in CLASSIC:
        lines += ["", f"### {machine.title}", "", machine.text, ""]
        lines += ["```mermaid", _diagram(machine), "```"]
    return "\n".join(lines) + "\n"


def _diagram(machine: Machine) -> str:
    diagram = mermaid(machine.table, machine.start)
    lines = diagram.splitlines()
    # A name that differs from the state's own word gets the word as its label.
    labels = [
        f'    state "{state.value}" as {state.name}'
        for state in machine.table
        if str(state.value).replace(" ", "_").upper() != state.name
    ]
    return "\n".join([lines[0], *labels, *lines[1:]])


def main(arguments: list[str] | None = None) -> int:
    """Write or check the page; the exit status."""
    return run("states.md", page, arguments)


if __name__ == "__main__":
    sys.exit(main())
