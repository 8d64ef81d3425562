"""docs/states.md: the state tables of every engine as diagrams."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from amqp_sansio._classic.model import states as classic
from amqp_sansio._ground.state_table import TableEnum, mermaid
from amqp_sansio.amqp_0_10.model import dtx_states
from amqp_sansio.amqp_0_10.model import session_model as amqp_0_10_rules
from amqp_sansio.amqp_0_10.model import states as amqp_0_10
from amqp_sansio.amqp_1_0.model import states as amqp_1_0
from amqp_sansio.broker.model import states as broker_states
from amqp_sansio.client import recovery
from tools.docs.pages import run


class Machine(NamedTuple):
    """One table: its subject, its initial state, and notes for the reader."""

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
        "named (blocked, unblocked, update-secret). Once a side has sent its close, everything from the other "
        "side except close and close-ok is dropped.",
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
        "The frames of one side on a channel: nothing may come between a method with content, its header and its body.",
    ),
    Machine(
        "Channel mode",
        classic.MODE,
        classic.Mode.NORMAL,
        "The mode of a channel, set by the client. Transactions and RabbitMQ's publisher confirms exclude each other.",
    ),
)


AMQP_0_10 = (
    Machine(
        "Connection",
        amqp_0_10.CONNECTION,
        amqp_0_10.Connection.START,
        "Both ends together. `other` is every control of sessions, and every frame of a command. Once an end has sent "
        "its close, everything from the other one except close and close-ok is dropped.",
    ),
    Machine(
        "Attachment of a session",
        amqp_0_10.ATTACHMENT,
        amqp_0_10.Attachment.DETACHED,
        "Both ends together, `I` the one that sent session.attach, `A` the one that accepted it. The session itself "
        "outlives its attachments: both ends' knowledge of its commands is no state but two sets of numbers "
        "(`amqp_sansio.amqp_0_10.model.command_ids`).",
    ),
    Machine(
        "Transfer",
        amqp_0_10.TRANSFER,
        amqp_0_10.Transfer.START,
        "One message, from the sender `S` to the recipient `R`.",
    ),
    Machine(
        "Mode of a session",
        amqp_0_10_rules.MODE,
        amqp_0_10_rules.Mode.NORMAL,
        "The mode of a session, selected by the client; the two kinds of transactions exclude each other.",
    ),
    Machine(
        "Transaction branch",
        dtx_states.BRANCH,
        dtx_states.Branch.NON_EXISTENT,
        "A branch of a distributed transaction, on the server, independent of the sessions that work for it.",
    ),
    Machine(
        "Association with a branch",
        dtx_states.ASSOCIATION,
        dtx_states.Association.NOT_ASSOCIATED,
        "The relation of one session to one branch.",
    ),
)


AMQP_1_0 = (
    Machine(
        "Connection",
        amqp_1_0.CONNECTION,
        amqp_1_0.Connection.START,
        "The frames of one peer; the other one steps its own copy of the same table, so pipelining needs no rows. "
        "`frame` is every performative from begin to end.",
    ),
    Machine(
        "SASL",
        amqp_1_0.SASL,
        amqp_1_0.Sasl.START,
        "Both peers together, in a layer with its own protocol header on either side.",
    ),
    Machine(
        "Session",
        amqp_1_0.SESSION,
        amqp_1_0.Session.UNMAPPED,
        "The frames of one peer. A begin answers the other peer's when it names its channel. A peer that ends a "
        "session with an error drops everything until the other peer's end.",
    ),
    Machine(
        "Link",
        amqp_1_0.LINK,
        amqp_1_0.Link.DETACHED,
        "The frames of one peer. Only the sending end sends transfers, within the credit that the other end granted. A "
        "peer that detached while the other one closed attaches once more, and closes.",
    ),
    Machine(
        "Delivery",
        amqp_1_0.DELIVERY,
        amqp_1_0.Delivery.NOT_SENT,
        "The frames of the sending end. Only a resumed delivery is aborted by its first transfer.",
    ),
)


BROKER = (
    Machine(
        "Message in a queue",
        broker_states.MESSAGE,
        broker_states.State.AVAILABLE,
        "One message in one queue, in any versions (1.0 part 3 section 2.2). A browser "
        "gets it while it stays available.",
    ),
    Machine(
        "Transaction",
        broker_states.TRANSACTION,
        broker_states.TransactionState.ACTIVE,
        "The basis of tx, dtx and the coordinator of 1.0: work waits for the commit.",
    ),
)


CLIENT = Machine(
    "Recovery",
    recovery.RECOVERY,
    recovery.State.CONNECTED,
    "A lost connection of a client that recovers. ENDED: given up, or closed by the user.",
)


def _named_states() -> list[str]:
    """Return the states of part 2 section 2.4.6, composed of the two halves."""
    lines = [
        "The states that part 2 section 2.4.6 names follow from both halves (`connection_state`), seen by the peer in "
        "the left column:",
        "",
        "| sent by this peer | by the other | state |",
        "|---|---|---|",
    ]
    for own in amqp_1_0.Connection:
        for other in amqp_1_0.Connection:
            name = amqp_1_0.connection_state(own, other)
            lines.append(f"| {own.value} | {other.value} | {name} |")
    return lines


def page() -> str:
    """Return the whole page."""
    lines = [
        "# State tables",
        "",
        "Written by `python -m tools.docs.states` from the tables in the code; a test compares the two.",
        "",
        "`C` marks what the client sends, `S` what the server sends: a client, a server and an observer step the same "
        "row of the same table; the observer of 0-10 steps only some of them. Everything without an arrow is a "
        "violation. Guards beyond the tables are listed at the head of the module that has the table.",
        "",
        "## 0-8 and 0-9-1",
        "",
        "Module `amqp_sansio._classic.model.states`.",
    ]
    for machine in CLASSIC:
        lines += ["", f"### {machine.title}", "", machine.text, ""]
        lines += ["```mermaid", _diagram(machine), "```"]
    lines += ["", "## 0-10", ""]
    lines += ["Modules `amqp_sansio.amqp_0_10.model.states`, `session_model` and `dtx_states`."]
    for machine in AMQP_0_10:
        lines += ["", f"### {machine.title} of 0-10", "", machine.text, ""]
        lines += ["```mermaid", _diagram(machine), "```"]
    lines += ["", "## 1.0", "", "Module `amqp_sansio.amqp_1_0.model.states`: a table for each sending half."]
    for machine in AMQP_1_0:
        lines += ["", f"### {machine.title} of 1.0", "", machine.text, ""]
        lines += ["```mermaid", _diagram(machine), "```"]
        if machine.table is amqp_1_0.CONNECTION:
            lines += ["", *_named_states()]
    lines += ["", "## The broker's model", "", "Module `amqp_sansio.broker.model.states`."]
    for machine in BROKER:
        lines += ["", f"### {machine.title}", "", machine.text, ""]
        lines += ["```mermaid", _diagram(machine), "```"]
    lines += ["", "## The client's recovery", "", "Module `amqp_sansio.client.recovery`.", ""]
    lines += [CLIENT.text, "", "```mermaid", _diagram(CLIENT), "```"]
    return "\n".join(lines) + "\n"


def _diagram(machine: Machine) -> str:
    diagram = mermaid(machine.table, machine.start)
    lines = diagram.splitlines()
    # A state whose identifier differs from its value has the value as its label.
    labels = [
        f'    state "{state.value}" as {state.name}'
        for state in machine.table
        if str(state.value).replace(" ", "_").upper() != state.name
    ]
    return "\n".join([lines[0], *labels, *lines[1:]])


def main(arguments: list[str] | None = None) -> int:
    """Write or check the page; return the exit status."""
    return run("states.md", page, arguments)


if __name__ == "__main__":
    sys.exit(main())
