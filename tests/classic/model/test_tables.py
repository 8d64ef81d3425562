"""Tables: every state and input is used, every state can be reached, and the diagrams are those of the tables."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from amqp_sansio import Limits
from amqp_sansio._classic.codec.dialect import DIALECTS, get_dialect
from amqp_sansio._classic.model import states
from amqp_sansio._ground.state_table import TableEnum, mermaid, unreachable
from amqp_sansio.endpoint import Side
from tools.docs import limits as limits_page
from tools.docs import states as states_page

TABLES = [
    pytest.param(
        states.CONNECTION, states.Connection, states.ConnectionInput, states.Connection.START, id="connection"
    ),
    pytest.param(states.CHANNEL, states.Channel, states.ChannelInput, states.Channel.CLOSED, id="channel"),
    pytest.param(states.CONTENT, states.Content, states.ContentInput, states.Content.IDLE, id="content"),
    pytest.param(states.MODE, states.Mode, states.Select, states.Mode.NORMAL, id="mode"),
]

Table = Mapping[Any, Mapping[Any, Any]]


@pytest.mark.parametrize(("table", "kind", "inputs", "start"), TABLES)
def test_tables_are_total_and_every_state_is_reached_and_left(
    table: Table, kind: type[TableEnum], inputs: type[TableEnum], start: TableEnum
) -> None:
    assert set(table) == set(kind)
    assert not unreachable(table, start)
    assert {given for row in table.values() for given in row} == set(inputs)
    assert {after for row in table.values() for after in row.values()} <= set(kind)
    stuck = [state.name for state, row in table.items() if not row]
    assert stuck == (["END"] if kind is states.Connection else [])


def test_a_close_always_leads_to_the_end() -> None:
    closing = {state for state in states.Connection if "CLOS" in state.name}
    for state in closing:
        reached = {state}
        frontier = [state]
        while frontier:
            for after in states.CONNECTION[frontier.pop()].values():
                if after not in reached:
                    reached.add(after)
                    frontier.append(after)
        assert states.Connection.END in reached
        assert states.Connection.OPEN not in reached


@pytest.mark.parametrize("name", DIALECTS)
def test_the_inputs_name_methods_and_who_sends_them(name: str) -> None:
    dialect = get_dialect(name)
    for inputs in (states.CONNECTION_INPUTS, states.CHANNEL_INPUTS):
        for method, (client, server) in inputs.items():
            if method not in dialect.named:
                assert (method, dialect.version.label) == ("connection.redirect", "0-9-1")
                continue
            senders = dialect.senders[dialect.named[method].ID]
            assert (client is not None) == (Side.CLIENT in senders), method
            assert (server is not None) == (Side.SERVER in senders), method


def test_the_diagrams_are_those_of_the_tables() -> None:
    assert states_page.main(["--check"]) == 0


def test_the_limits_page_is_that_of_the_limits() -> None:
    assert set(limits_page.rows()) == set(Limits.__match_args__)
    assert limits_page.main(["--check"]) == 0


def test_a_page_that_is_out_of_date_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "docs").mkdir()
    monkeypatch.setattr("tools.docs.pages.ROOT", tmp_path)
    assert states_page.main(["--check"]) == 1
    assert "python -m tools.docs.states" in capsys.readouterr().err
    assert states_page.main([]) == 0
    assert states_page.main(["--check"]) == 0


def test_unreachable_states_are_found() -> None:
    table = {states.Mode.NORMAL: {}, states.Mode.CONFIRM: {states.Select.TX_SELECT: states.Mode.NORMAL}}
    assert unreachable(table, states.Mode.NORMAL) == {states.Mode.CONFIRM}


def test_a_diagram_has_an_arrow_for_every_pair_of_states() -> None:
    diagram = mermaid(states.MODE, states.Mode.NORMAL)
    assert diagram.splitlines()[0] == "stateDiagram-v2"
    assert "    NORMAL --> CONFIRM: confirm.select" in diagram
    assert "    TRANSACTED --> TRANSACTED: tx.select, tx.commit, tx.rollback" in diagram
