"""The code generator: what is committed is what it writes, and it notices when it isn't."""

import os
import xml.etree.ElementTree as ElementTree
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from amqp_sansio._classic.codec.table import RABBIT
from amqp_sansio._ground import layouts as written_layouts
from tools.codegen import (
    blocking,
    composites,
    extract,
    field_writers,
    initializers,
    layouts,
    restrictions,
    rows,
    tellers,
    words,
)
from tools.codegen.__main__ import ROOT, TARGETS, main
from tools.codegen.facts import FACTS, to_text
from tools.codegen.methods import emit_methods
from tools.codegen.model import Field, Method, Spec, check, load, read
from tools.codegen.module import Module, call, docstring

SPECS = Path(os.environ.get("AMQP_SANSIO_SPECS", ROOT.parent / "shared" / "specs"))
MADE = tuple([generate() for generate in TARGETS])
GENERATED = tuple([name for texts in MADE for name in texts])

with_specs = pytest.mark.skipif(not SPECS.is_dir(), reason=f"the specifications aren't there: {SPECS}")


def test_what_is_committed_is_what_the_generator_writes(capsys: pytest.CaptureFixture[str]) -> None:
    before = [(ROOT / name).stat().st_mtime_ns for name in GENERATED]
    assert main(["--check"]) == 0
    assert [(ROOT / name).stat().st_mtime_ns for name in GENERATED] == before
    assert capsys.readouterr().err == ""


def test_the_check_fails_for_a_stale_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tools.codegen.__main__.ROOT", tmp_path)
    # What the generators write is the test's before this one; to write it three times more takes seconds.
    monkeypatch.setattr("tools.codegen.__main__.TARGETS", [partial(dict[str, str], texts) for texts in MADE])
    assert main(["--check"]) == 1
    assert "is stale; run python -m tools.codegen" in capsys.readouterr().err
    assert main([]) == 0
    assert main(["--check"]) == 0
    for name in GENERATED:
        assert (tmp_path / name).read_bytes() == (ROOT / name).read_bytes()


@with_specs
def test_the_facts_are_those_of_the_specifications(capsys: pytest.CaptureFixture[str]) -> None:
    assert {f"{name}.jsonl" for name in extract.SOURCES} == {path.name for path in FACTS.iterdir()}
    assert extract.main(["--check", "--specs", str(SPECS)]) == 0
    assert capsys.readouterr().err == ""


@with_specs
def test_facts_that_differ_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(extract, "FACTS", tmp_path)
    assert extract.main(["--specs", str(SPECS)]) == 0
    (tmp_path / "0-10.jsonl").write_text("", encoding="utf-8")
    assert extract.main(["--check", "--specs", str(SPECS)]) == 1
    assert "0-10.jsonl differs from the XML" in capsys.readouterr().err


def test_without_specifications_no_facts_can_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert extract.main(["--specs", str(tmp_path / "none")]) == 2
    assert "the specifications aren't there" in capsys.readouterr().err


@pytest.mark.parametrize("name", GENERATED)
def test_a_generated_file_says_so(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert "Generated" in "".join(text.splitlines()[:5])


def test_a_specification_is_read_as_it_is_written(tmp_path: Path) -> None:
    root = ElementTree.fromstring(
        """<amqp major="8" minor="0">
          <constant name="not here" value="404" class="soft error"/>
          <constant name="frame end" value="206"/>
          <domain name="thing name" type="shortstr"/>
          <class name="thing" index="77">
            <field name="content type" type="shortstr"/>
            <chassis name="server" implement="MUST"/>
            <method name="make" synchronous="1" content="1" index="10">
              <chassis name="server" implement="MUST"/>
              <response name="make-ok"/>
              <field name="reserved-1" type="short" reserved="1"/>
              <field name="thing name" domain="thing name"/>
              <field name="global" type="bit"/>
              <field name="nowait" type="bit"/>
            </method>
            <method name="make-ok" index="11">
              <chassis name="client" implement="MUST"/>
              <chassis name="server" implement="MAY"/>
            </method>
          </class>
        </amqp>"""
    )
    (tmp_path / "made-up.jsonl").write_text(to_text(extract.classic_rows(root)), encoding="utf-8")
    spec = read("made-up", tmp_path)
    assert spec.codes == {404: ("not-here", False)}
    assert spec.properties == {"thing": (77, (Field("content_type", "shortstr"),))}
    make, made = spec.methods["thing.make"], spec.methods["thing.make-ok"]
    assert make == Method(
        "thing.make",
        77,
        10,
        (Field("", "short"), Field("thing_name", "shortstr"), Field("global_", "bit"), Field("no_wait", "bit")),
        frozenset({"client"}),
        ("thing.make-ok",),
        synchronous=True,
        content=True,
    )
    assert make.id == 77 << 16 | 10
    assert made.sides == {"client", "server"}


def test_generated_code_does_what_its_fields_say() -> None:
    fields = [
        Field("a", "octet"),
        Field("", "long"),
        Field("b", "longstr"),
        *[Field(f"bit_{n}", "bit") for n in range(9)],
        Field("c", "shortstr"),
        Field("", "shortstr"),
        Field("d", "table"),
    ]
    out = Module("Made up.", ".")
    out.typing("Final")
    method = Method("test.table", 7, 9, tuple(fields), frozenset({"client"}))
    emit_methods(out, {"test.table": method})
    namespace: dict[str, Any] = {
        "__name__": "amqp_sansio._classic.codec.made_up",
        "__package__": "amqp_sansio._classic.codec",
    }
    exec(compile(out.text(), "made-up", "exec"), namespace)
    made = namespace["TestTable"]
    rules = RABBIT
    bits = {f"bit_{n}": True for n in (0, 2, 8)}
    record = made(a=5, b=b"\xff", c="x", d={"t": True}, **bits)
    payload = b"\x00\x07\x00\x09\x05\0\0\0\0\0\0\0\x01\xff\x05\x01\x01x\x00\0\0\0\x04\x01tt\x01"
    assert record.encode(rules) == payload
    assert made.decode(payload, 4, len(payload), rules) == record
    odd = payload.replace(b"\x01x\x00", b"\x01x\x01y")
    kept = made.decode(odd, 4, len(odd), rules)
    assert kept.spare == odd[4:]
    assert kept.encode(rules) == odd


def test_lines_stay_within_their_width() -> None:
    # Fields that may be left out nest as deep as a record is long; the others are as wide as what people write.
    wide = {composites.PATH, *restrictions.generate(), *blocking.generate(), initializers.TARGET, layouts.TARGET}
    # The longest format string that stays in one piece is as long as a line.
    wide |= {tellers.TARGET, *field_writers.generate(), *rows.generate()}
    for name in GENERATED:
        width = 120 if name in wide else 100
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
            assert len(line) <= width, f"{name}: {line}"
    assert call("f(a, b)", 4) == ["f(a, b)"]
    assert call("f(" + "a" * 60 + ", " + "b" * 60 + ")", 4, "+ ") == [
        "+ f(",
        "    " + "a" * 60 + ",",
        "    " + "b" * 60 + ",",
        ")",
    ]
    assert docstring("One.", []) == ['"""One."""']
    assert docstring("One.", ["`a` two", "`b` three"]) == ['"""One.', "", "`a` two; `b` three.", '"""']


def test_a_composite_type_is_read_as_it_is_written(tmp_path: Path) -> None:
    root = ElementTree.fromstring(
        """<amqp xmlns="http://www.amqp.org/schema/amqp.xsd"><section name="s">
          <type class="restricted" name="seconds" source="uint"/>
          <type class="composite" name="thing-state" source="list" provides="delivery-state, outcome">
            <descriptor name="amqp:thing-state:list" code="0x00000001:0x00000002"/>
            <field name="class" type="symbol" requires="txn-capability" multiple="true"/>
            <field name="when" type="seconds" mandatory="true"/>
            <field name="any" type="*" requires="address" default="none"/>
          </type>
        </section></amqp>"""
    )
    for part in composites.PARTS:
        rows = extract.composite_rows(root) if part == 3 else ()
        (tmp_path / f"1.0-part-{part}.jsonl").write_text(to_text(rows), encoding="utf-8")
    assert '"seconds": "uint",' in restrictions.generate(tmp_path)[restrictions.SOURCES]
    (found,) = composites.load(tmp_path)
    assert (found.name, found.code, found.symbol) == ("thing-state", 1 << 32 | 2, "amqp:thing-state:list")
    assert (found.python_name, found.base, found.outcome, found.part) == ("ThingState", "DeliveryState", True, 3)
    first, second, third = found.items
    assert (first.name, first.type, first.multiple, first.default) == ("class_", "txn-capability*", True, "()")
    assert (second.kind, second.mandatory, second.annotation) == ("seconds", True, "int")
    assert (third.kind, third.default, third.argument) == ("address", "0", "str | Described")
    text = composites.generate(tmp_path)[composites.PATH]
    assert "class ThingState(DeliveryState):" in text
    assert "`when`: seconds." in text


def _module(code: str) -> ModuleType:
    made = ModuleType("made_up")
    exec(code, vars(made))
    return made


@pytest.mark.parametrize(
    ("code", "same"),
    [
        pytest.param('class A:\n    __slots__ = ("y", "x")', True, id="another order"),
        pytest.param('class A:\n    __slots__ = ("x", "y")\n    def f(self): ...', True, id="a method"),
        pytest.param('class A:\n    __slots__ = ("x", "y", "z")', False, id="one more"),
        pytest.param('class A:\n    __slots__ = ("x", "z")', False, id="another one"),
        pytest.param('class B:\n    __slots__ = ("x", "y")', False, id="another class"),
    ],
)
def test_a_layout_changes_with_the_slots(code: str, same: bool) -> None:
    before = layouts.layout([_module('class A:\n    __slots__ = ("x", "y")')])
    assert (layouts.layout([_module(code)]) == before) is same


def test_every_layout_is_made_of_something_and_no_two_are_equal() -> None:
    numbers = {name: getattr(written_layouts, name) for name in layouts.ROOMS}
    assert len(set(numbers.values())) == len(numbers)
    assert layouts.layout([]) not in numbers.values()


def _method(name: str, number: int, *replies: str) -> Method:
    return Method(name, 60, number, (), frozenset({"client"}), replies)


def test_two_methods_with_one_number_are_refused() -> None:
    spec = Spec({"basic.one": _method("basic.one", 10), "basic.two": _method("basic.two", 10)})
    with pytest.raises(ValueError, match=r"^made-up: basic\.one and basic\.two have one number, 60/10$"):
        check("made-up", spec)


def test_an_answer_that_there_is_not_is_refused() -> None:
    spec = Spec({"basic.one": _method("basic.one", 10, "basic.one-ok")})
    with pytest.raises(ValueError, match=r"^made-up: basic\.one is answered by basic\.one-ok"):
        check("made-up", spec)


def test_missing_words_are_named_with_their_file() -> None:
    with pytest.raises(ValueError, match=r"^basic\.made-up has no sentence: .*METHODS of tools/codegen/words\.py$"):
        words.method_words("basic.made-up")
    with pytest.raises(ValueError, match=r"^field made_up of basic\.ack has no words: .*tools/codegen/words\.py$"):
        words.field_words("basic.ack", "made_up")
    assert words.field_words("test.string", "string_1") == ""


def test_no_word_is_left_over() -> None:
    specs = load().values()
    methods = {name for spec in specs for name in spec.methods}
    fields = {item.name for spec in specs for method in spec.methods.values() for item in method.fields}
    fields |= {item.name for spec in specs for _, items in spec.properties.values() for item in items}
    assert set(words.METHODS) == methods
    assert set(words.FIELDS) <= fields
