"""Columns of tables: each is declared once, and what names it is generated from that."""

import ast
import sys
from types import ModuleType
from typing import Any

import pytest

from amqp_sansio import AMQP_0_9_1, Side
from amqp_sansio._watching.outcomes import MessageRecord
from amqp_sansio.recorded.tables import COLUMNS, ROWS
from tools.codegen import columns, rows
from tools.codegen.__main__ import ROOT
from tools.codegen.columns import Column

NEW = (
    Column("colour", "string", "what it looks like", attribute="colour"),
    Column("weight", "int64", "grams", value="None if u.colour is None else len(u.colour)"),
    Column("shade", "string", "a darker one", attribute="shade", of_roles=True),
)


def module_of(name: str, package: str, text: str) -> ModuleType:
    """What a generated text defines, as a module of a package."""
    made = ModuleType(name)
    made.__package__ = package
    exec(compile(text, name, "exec"), vars(made))
    return made


@pytest.fixture
def more() -> dict[str, str]:
    """The texts that are generated of a copy of the declaration with columns more."""
    declared = dict(columns.COLUMNS)
    return rows.generate({**declared, "messages": (*declared["messages"], *NEW)})


def test_a_new_column_of_messages_is_declared_and_filled_and_no_more(
    more: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = module_of("columns_copy", "amqp_sansio.recorded", more[rows.NAMES_AND_TYPES])
    assert kinds.COLUMNS["messages"] == (*COLUMNS["messages"], *[(each.name, each.kind) for each in NEW])
    record = module_of("record_copy", "amqp_sansio._watching", more[rows.RECORD])
    monkeypatch.setitem(sys.modules, "amqp_sansio.recorded._columns", kinds)
    found = module_of("amqp_sansio.recorded._row_types", "amqp_sansio.recorded", more[rows.ROWS])
    assert found.MessagesRow._fields == tuple([name for name, _ in kinds.COLUMNS["messages"]])

    class Record(record.MessageColumns):  # type: ignore[misc, name-defined]
        """As `MessageRecord` with the new columns."""

        version, sender, channel, ts_ns, seq = AMQP_0_9_1, Side.CLIENT, 1, 5, 2
        outcome, settled_ns, settled_seq, ended_ns, body_size, body_sha256 = "settled", 7, 3, None, 2**70, None

    message: Any = Record()
    message.fill("publish", exchange="caf\udce9", colour="r\udce9d", shade="x", tag=2**63)
    texts = ("id", None, None, None, "{}")
    for roles in (True, False):
        values = found.message_values(message, "c", AMQP_0_9_1, "0-9-1", "/", roles, texts)
        row = found.MessagesRow._make(values)
        assert (row.colour, row.weight, row.shade) == ("r\\xe9d", 3, "x" if roles else None)
        assert (row.exchange, row.tag, row.body_size, row.latency_ns) == ("caf\\xe9", None, 2**63 - 1, 2)
        assert (row.kind, row.sender) == (("publish", "client") if roles else (None, None))
    meanings = module_of("meanings_copy", "amqp_sansio_spark", more[rows.MEANINGS])
    assert meanings.MEANINGS["messages"]["weight"] == "grams"


def test_what_is_generated_has_every_column_that_is_declared() -> None:
    for table, declared in columns.COLUMNS.items():
        names = [each.name for each in declared]
        assert [name for name, _ in COLUMNS[table]] == names
        assert list(ROWS[table]._fields) == names
    for each in columns.COLUMNS["messages"]:
        assert bool(each.attribute or each.value), each.name
        assert not each.attribute or hasattr(MessageRecord, each.attribute), each.name


def test_nothing_written_by_hand_repeats_the_columns_of_messages() -> None:
    """But what has a meaning of its own there: the answer of a reply-to, the text of a rejection, what is shown."""
    own = {"kind", "code", "text", "tag", "exchange", "routing_key"}
    names = {each.attribute for each in columns.COLUMNS["messages"] if each.attribute} - own
    assert len(names) > 4
    for file in ("_watching/outcomes.py", "recorded/_rows.py", "recorded/tables.py", "recorded/lifecycle.py"):
        found: set[str] = set()
        for node in ast.walk(ast.parse((ROOT / "amqp_sansio" / file).read_text(encoding="utf-8"))):
            if isinstance(node, (ast.Name, ast.Attribute)):
                found.add(node.id if isinstance(node, ast.Name) else node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
        # A consumer has a queue as well.
        assert found & names <= {"queue"}, file
