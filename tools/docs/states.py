"""docs/states.md: the state tables of every engine as diagrams."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from amqp_sansio._classic.model import states as classic
from amqp_sansio._core.state_table import TableEnum, mermaid
from amqp_sansio.amqp_0_10.model import command_rules as zero_ten_rules
from amqp_sansio.amqp_0_10.model import dtx_states
from amqp_sansio.amqp_0_10.model import states as zero_ten
from amqp_sansio.amqp_1_0.model import states as one_zero
from amqp_sansio.broker.model import entry, transaction
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


ZERO_TEN = (
    Machine(
        "Connection",
        zero_ten.CONNECTION,
        zero_ten.Connection.START,
        "Both ends together. `other` is every control of sessions, and every frame of a command. Once an end has sent "
        "its close, all that the other one still sends but close and close-ok is dropped.",
    ),
    Machine(
        "Attachment of a session",
        zero_ten.ATTACHMENT,
        zero_ten.Attachment.DETACHED,
        "Both ends together, `I` the one that sent session.attach, `A` the one that accepted it. The session itself "
        "outlives its attachments: what both ends know of its commands is no state but two sets of numbers "
        "(`amqp_sansio.amqp_0_10.model.command_ids`).",
    ),
    Machine(
        "Transfer",
        zero_ten.TRANSFER,
        zero_ten.Transfer.START,
        "One message, from the sender `S` to the recipient `R`.",
    ),
    Machine(
        "Mode of a session",
        zero_ten_rules.MODE,
        zero_ten_rules.Mode.NORMAL,
        "What the client selected a session for; the two kinds of transactions exclude each other.",
    ),
    Machine(
        "Transaction branch",
        dtx_states.BRANCH,
        dtx_states.Branch.NON_EXISTENT,
        "A branch of a distributed transaction, on the server, whatever sessions work for it.",
    ),
    Machine(
        "Association with a branch",
        dtx_states.ASSOCIATION,
        dtx_states.Association.NOT_ASSOCIATED,
        "What one session has to do with one branch.",
    ),
)


ONE_ZERO = (
    Machine(
        "Connection",
        one_zero.CONNECTION,
        one_zero.Connection.START,
        "What one peer sends; the other one steps its own copy of the same table, so pipelining needs no rows. "
        "`frame` is every performative from begin to end.",
    ),
    Machine(
        "SASL",
        one_zero.SASL,
        one_zero.Sasl.START,
        "Both peers together, in a layer that has a protocol header of its own on either side.",
    ),
    Machine(
        "Session",
        one_zero.SESSION,
        one_zero.Session.UNMAPPED,
        "What one peer sends. A begin answers the other peer's when it names its channel. Who ends a session with an "
        "error drops what still comes until the other peer's end.",
    ),
    Machine(
        "Link",
        one_zero.LINK,
        one_zero.Link.DETACHED,
        "What one peer sends. Only the sending end sends transfers, within the credit that the other end gave. Who "
        "detached while the other peer closed attaches once more, and closes.",
    ),
    Machine(
        "Delivery",
        one_zero.DELIVERY,
        one_zero.Delivery.NOT_SENT,
        "What the sending end sends. Only a resumed delivery is aborted by its first transfer.",
    ),
)


BROKER = (
    Machine(
        "Message in a queue",
        entry.MESSAGE,
        entry.State.AVAILABLE,
        "One message in one queue, whichever versions it came in and goes out by (1.0 part 3 section 2.2). A browser "
        "gets it while it stays available.",
    ),
    Machine(
        "Transaction",
        transaction.TRANSACTION,
        transaction.State.ACTIVE,
        "What tx, dtx and the coordinator of 1.0 stand on: work waits for the commit.",
    ),
)


def _named_states() -> list[str]:
    """The states of part 2 section 2.4.6, as the two halves give them."""
    lines = [
        "The states that part 2 section 2.4.6 names follow from both halves (`connection_state`), seen by the peer in "
        "the left column:",
        "",
        "| sent by this peer | by the other | state |",
        "|---|---|---|",
    ]
    for own in one_zero.Connection:
        for other in one_zero.Connection:
            name = one_zero.connection_state(own, other)
            lines.append(f"| {own.value} | {other.value} | {name} |")
    return lines


def page() -> str:
    """The whole page."""
    lines = [
        "# State tables",
        "",
        "Written by `python -m tools.docs.states` from the tables in the code; a test compares the two.",
        "",
        "`C` marks what the client sends, `S` what the server sends: a client, a server and an observer step the same "
        "row of the same table; the observer of 0-10 steps only some of them. What has no arrow is a violation. "
        "Guards that no table can say are listed at the head of the module that has the table.",
        "",
        "## 0-8 and 0-9-1",
        "",
        "Module `amqp_sansio._classic.model.states`.",
    ]
    for machine in CLASSIC:
        lines += ["", f"### {machine.title}", "", machine.text, ""]
        lines += ["```mermaid", _diagram(machine), "```"]
    lines += ["", "## 0-10", ""]
    lines += ["Modules `amqp_sansio.amqp_0_10.model.states`, `command_rules` and `dtx_states`."]
    for machine in ZERO_TEN:
        lines += ["", f"### {machine.title} of 0-10", "", machine.text, ""]
        lines += ["```mermaid", _diagram(machine), "```"]
    lines += ["", "## 1.0", "", "Module `amqp_sansio.amqp_1_0.model.states`: a table for each sending half."]
    for machine in ONE_ZERO:
        lines += ["", f"### {machine.title} of 1.0", "", machine.text, ""]
        lines += ["```mermaid", _diagram(machine), "```"]
        if machine.table is one_zero.CONNECTION:
            lines += ["", *_named_states()]
    lines += ["", "## The broker's model", "", "Modules `amqp_sansio.broker.model.entry` and `transaction`."]
    for machine in BROKER:
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
