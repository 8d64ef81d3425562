"""Every conversion of the 4 x 4: nothing fails, and there and back is kept what docs/conversions.md says."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqp_sansio.broker.contents.amqp_1_0 import Content_1_0
from amqp_sansio.broker.contents.classic import ClassicContent
from amqp_sansio.broker.conversion.common import Common
from amqp_sansio.broker.conversion.values import Value, octets_of
from amqp_sansio.versions import AMQP_0_10, AMQP_1_0, Version
from tests.kit.broker_contents import CELLS, cell_id, contents, converted, said, sections_check
from tools.docs import conversions
from tools.docs.pages import ROOT, run

DIFFERENT = tuple([cell for cell in CELLS if cell[0] is not cell[1]])
_LATEST = 1 << 63


@pytest.mark.parametrize("cell", CELLS, ids=cell_id)
@given(data=st.data())
def test_a_message_of_the_same_version_is_the_same_and_others_are_sound(
    cell: tuple[Version, Version], data: st.DataObject
) -> None:
    source, target = cell
    content: Any = data.draw(contents(source))
    there = converted(content, target)
    if source is target:
        assert there is content
    assert there.version is target
    sections_check(there)
    again = pickle.loads(pickle.dumps(there))
    assert again.octets == there.octets and again.size == there.size


@pytest.mark.parametrize("cell", DIFFERENT, ids=cell_id)
@given(data=st.data())
@settings(max_examples=40)
def test_there_and_back_keeps_all_but_what_is_documented(cell: tuple[Version, Version], data: st.DataObject) -> None:
    source, target = cell
    content: Any = data.draw(contents(source))
    back = converted(converted(content, target), source)
    sections_check(back)
    assert _kept(said(back), target) == _kept(said(content), target)


@pytest.mark.parametrize("cell", CELLS, ids=cell_id)
def test_every_line_of_the_page(cell: tuple[Version, Version]) -> None:
    source, target = cell
    page = (ROOT / "docs" / "conversions.md").read_text()
    part = page.partition(f"## From {source.label}\n")[2].partition("\n## ")[0]
    lines = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("| ")]
    rows = [[each.strip() for each in line] for line in lines]
    column = rows[0].index(f"to {target.label}")
    written = {row[0]: row[column] for row in rows[1:]}
    found = {each.name: conversions.outcome(each, source, target) for each in conversions.samples(source)}
    assert written == found


def test_the_page_is_what_the_code_says() -> None:
    assert run("conversions.md", conversions.page, ["--check"]) == 0


@pytest.mark.parametrize("cell", DIFFERENT, ids=cell_id)
@given(body=st.binary(max_size=2_000))
@settings(max_examples=20, deadline=None)
def test_a_binary_body_keeps_its_octets(cell: tuple[Version, Version], body: bytes) -> None:
    source, target = cell
    content: Any = conversions.content_1_0(body)
    if source is not AMQP_1_0:
        content = conversions.content_0_10(body) if source is AMQP_0_10 else conversions.classic(source, body)
    there: Any = converted(content, target)
    assert (there.message.body if isinstance(there, Content_1_0) else there.body) == body
    assert there.size == len(body)


def _kept(common: Common, through: Version) -> Any:
    """What a message says, with what a conversion to `through` can't keep replaced by what becomes of it."""
    properties = dict(common.properties)
    if through is AMQP_1_0:
        if properties.get("priority") == ("uint8", 4):
            del properties["priority"]
        if properties.get("delivery-mode") == ("uint8", 1):
            del properties["delivery-mode"]
    elif through is not AMQP_0_10:
        if len(properties.get("user-id", ("binary", b""))[1]) > 255:
            del properties["user-id"]
        for name in ("message-id", "correlation-id"):
            kind, number = properties.get(name, ("", 0))
            if kind == "uint64" and number >= _LATEST:
                properties[name] = ("text", str(number))
    return (
        repr(sorted(properties.items())),
        sorted([repr((name, _nearest(value))) for name, value in common.headers]),
        sorted([repr((key, _nearest(value))) for key, value in common.annotations]),
        (common.footer, common.form, common.body, common.deaths),
    )


def _nearest(value: Value) -> Value:
    kind, content = value
    if kind == "map":
        return kind, [(key, _nearest(each)) for key, each in content]
    if kind in ("list", "array"):
        return kind, [_nearest(each) for each in content]
    if kind == "other":
        return "binary", content
    if kind == "text" and not content.isprintable() and octets_of(content) != content.encode("utf-8", "ignore"):
        return "binary", octets_of(content)
    if kind == "time" and not -_LATEST <= content < _LATEST:
        return "number", content // 1000
    if kind in ("int64", "uint64") and not -_LATEST // 1000 <= content < _LATEST // 1000:
        return "number", content
    return value


def test_octets_of_0_9_1_go_out_unchanged_in_0_8() -> None:
    content = conversions.classic(CELLS[5][0], headers={"a": [1, {"b": b"x"}]}, expiration="7")
    there = converted(content, CELLS[0][0])
    assert isinstance(there, ClassicContent)
    assert there.raw_properties == content.raw_properties
