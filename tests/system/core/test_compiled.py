"""The module in C at large: what a million calls leave behind, pickles between processes, and wheels with and without.

It isn't built for the default suite: `make test-compiled` builds it, and runs this.
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import zipfile
from array import array
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

import amqp_sansio
from amqp_sansio import COMPILED
from amqp_sansio._classic.codec import methods
from amqp_sansio._classic.codec.table import RABBIT, Timestamp
from amqp_sansio.amqp_0_9_1 import BasicProperties
from tests.core.test_compiled import (
    CONSTRUCTORS,
    ENTRIES,
    FORMS,
    FORMS_1_0,
    FRAMES_1_0,
    INSTANT,
    KINDS,
    LISTS,
    MAKERS_1_0,
    OPENED,
    PLANS,
    PROPERTIES,
    SECTIONS,
    TAKEN,
    TEXTS,
    UNITS,
    VALUES,
    Named,
    Slotted,
    field,
    layouts_1_0,
    sized,
)

if TYPE_CHECKING or COMPILED:
    from amqp_sansio._classic.endpoint.fastpath import MAKERS as OF_DELIVERIES
    from amqp_sansio._classic.observer.fastpath import MAKERS as OF_METHODS
    from amqp_sansio._compiled import (
        maker,
        scan_content,
        scan_frames,
        scan_list,
        scan_map,
        scan_properties,
        scan_rows,
        scan_table,
    )

ROOT: Final = Path(__file__).resolve().parents[3]
if not COMPILED:
    pytest.skip("the module in C isn't built: make test-compiled builds and tests it", allow_module_level=True)

CALLS: Final = 1_000_000


def _used() -> int:
    """Memory blocks in use by Python."""
    gc.collect()
    return sys.getallocatedblocks()


def test_a_million_calls_leave_nothing_behind() -> None:
    """Units, what is none, and arguments that raise; a reference too many or too few would count up a million times."""
    given: list[tuple[Any, ...]] = []
    for octets in UNITS:
        unit: Any = scan_content(octets, 0, 131_064, 131_064, None)
        names: Any = {40: unit[2], 60: unit[1]}.get(unit[0]) if unit is not None else None
        given += [(octets, 0, 131_064, 131_064, known) for known in (None, names, (1, "tag", "other", "key"))]
        given += [(octets[:-1], 0, 131_064, 131_064, names), (octets, 0, 2**70, -(2**70), None)]
        for makers in (OF_DELIVERIES, OF_METHODS, (None,) * 4, (*OF_METHODS[:3], OF_METHODS[0])):
            given.append((octets, 0, 131_064, 131_064, names, RABBIT, makers))
    # Text that isn't UTF-8, and arguments that are refused.
    given += [(octets.replace(b"key", b"\xff\xfe\xfd"), 0, 131_064, 131_064, None) for octets in UNITS]
    given += [(b"", "", 0, 0, None), (UNITS[0], -1, 0, 0, None), (UNITS[0], 0, 2000, 2000, (1, "\ud800", "", ""))]
    _leaves_nothing(scan_content, given)


def test_a_million_makers_and_records_leave_nothing_behind() -> None:
    """Makers that are refused too."""
    made: Any = maker(Slotted, ("a", "b"), ("rest",))
    _leaves_nothing(made, [("a",), ("b",), ()])
    names = ("a", "b")
    _leaves_nothing(maker, [(Slotted, names, ()), (Slotted, ("a", "c"), ()), (dict, names, ()), (Slotted, names)])


def test_a_million_rows_leave_nothing_behind() -> None:
    """Runs of units, forms and texts that are refused, makers that raise; each call has a list of its own."""

    def refuse(*_: object) -> None:
        raise LookupError

    whole = b"".join(UNITS[:2] * 2 + UNITS[-3:-2])
    texts: dict[bytes, Any] = {b"\0\0": b"none"}
    given: list[tuple[Any, ...]] = []
    for stop in (1 << 40, 100):
        for forms, make, found in (
            (FORMS, None, TEXTS),
            (FORMS, _kept, TEXTS),
            (FORMS, refuse, TEXTS),
            (((("a", 99),),) * 3, None, TEXTS),
            (((99,),) * 3, None, TEXTS),
            (((("a",) * 65,),) * 3, None, TEXTS),
            (FORMS, None, texts),
            (FORMS, None, {}),
        ):
            plan = (*forms, make, found, Named(), "events")
            given.append((whole, 0, 2000, 2000, 2000, 7, stop, 3, {1, 7}, INSTANT, plan))
    given += [(*given[0][:-1], ()), (*given[0][:-2], (1, 2), given[0][-1]), ("", *given[0][1:])]

    def scan(*arguments: Any) -> None:
        *others, plan = arguments
        rows: Any = scan_rows
        rows(*others, plan, [])

    _leaves_nothing(scan, given)


def test_a_million_properties_leave_nothing_behind() -> None:
    """Whole, cut, with text that isn't UTF-8, and with a kind that there isn't."""
    given: list[tuple[Any, ...]] = []
    into = BasicProperties()
    for each in PROPERTIES:
        raw = each.encode(RABBIT)
        for octets in (raw, raw[:-1], raw.replace(b"id", b"\xff\xfe"), raw.replace(b"cluster", b"\xff" * 7)):
            given.append((octets, KINDS, methods._TABLES, RABBIT, into, methods._BASICPROPERTIES))
    given += [(b"\x80\0", b"?" * 14, *given[0][2:]), (*given[0][:4], None, given[0][5]), ("", *given[0][1:])]
    _leaves_nothing(scan_properties, given)


def test_a_million_frames_leave_nothing_behind() -> None:
    """Runs of frames, forms and layouts that are refused, makers that raise; each call has a list of its own."""

    def refuse(*_: object) -> None:
        raise LookupError

    whole = b"".join(FRAMES_1_0[:2] + FRAMES_1_0[-2:])
    given: list[tuple[Any, ...]] = []
    refused: dict[bytes, Any] = {whole[8:16]: (1, 2)}
    for stop, layouts in ((1 << 40, layouts_1_0()), (100, layouts_1_0()), (100, refused)):
        for forms, make, found in (
            (FORMS_1_0, None, SECTIONS),
            (FORMS_1_0, refuse, SECTIONS),
            (((("a", 99),),) * 2, None, SECTIONS),
            (FORMS_1_0, None, {b"": 5}),
            (FORMS_1_0, None, {}),
        ):
            plan: Any = (*forms, None, make, found, Named(), "events")
            given.append((whole, 0, 2000, 2000, layouts, 7, stop, 3, {*OPENED}, INSTANT, plan))
    given += [(*given[0][:-1], ()), (*given[0][:4], (), *given[0][5:]), ("", *given[0][1:])]

    def scan(*arguments: Any) -> None:
        frames: Any = scan_frames
        frames(*arguments, [])

    _leaves_nothing(scan, given)


def test_a_million_tables_leave_nothing_behind() -> None:
    """Every type, whole, cut and with text that isn't UTF-8; makers that raise."""

    def refuse(*_: object) -> None:
        raise LookupError

    given: list[tuple[Any, ...]] = []
    for tag, octets in VALUES:
        raw = field("k", "F", sized(field("k", "t", b"\1"))) + field("k", tag, octets)
        for each in (
            raw,
            raw[:-1],
            field("k", "A", sized(b"t\1" + tag.encode() + octets)),
            field("k", "S", sized(b"\xff")),
        ):
            for first_wins, make in ((False, refuse), (True, _kept), (False, _kept)):
                given.append((each, first_wins, False, tag == "s", 1000, 32, RABBIT, make, Timestamp))
    given += [(b"", False, False, False, "", 32, None, refuse, refuse), (bytearray(), *given[0][1:])]
    _leaves_nothing(scan_table, given)


def test_a_million_maps_leave_nothing_behind() -> None:
    """Whole ones and cut ones with every format code, makers that raise, and other arguments."""

    def refuse(*_: object) -> None:
        raise LookupError

    given: list[tuple[Any, ...]] = []
    for entry in ENTRIES:
        octets = b"\xa1\1a\xa3\1b\xa1\1b" + entry
        value = bytes((0xC1, len(octets) + 1, 4)) + octets
        for end, makers in ((len(value), (_kept,) * 5), (len(value) - 1, (_kept,) * 5), (len(value), (refuse,) * 5)):
            given.append((value, 0, end, 0xA1, makers))
    given += [(b"", "", 0, 0, None), (b"", 0, 2**70, 0, None), (b"", 0, 0, 0, None), (bytearray(), *given[0][1:])]
    _leaves_nothing(scan_map, given)


def test_a_million_lists_leave_nothing_behind() -> None:
    """Whole ones, cut ones, every kind of field with every constructor, makers that raise, and other arguments."""

    def refuse(*_: object) -> None:
        raise LookupError

    given: list[tuple[Any, ...]] = []
    for record in LISTS:
        octets, plan = record.encode(), PLANS[type(record)]
        for end in (len(octets), len(octets) - 1):
            given += [(octets, 0, 3, end, plan, MAKERS_1_0[type(record)])]
            given += [(octets, 0, 3, end, plan), (octets, 0, 3, end, (plan[0], {}, refuse, refuse, None))]
    for letter in TAKEN:
        for items in CONSTRUCTORS[::7]:
            value = bytes((0xC0, len(items) + 1, 1)) + items
            given.append((value, 0, 0, len(value), (letter.encode(), {b"ab": refuse}, refuse, _kept, PLANS)))
    given += [(b"", "", 0, 0, None), (b"", 0, 0, 2**70, None), (b"", 0, 0, 0, None), (bytearray(), *given[0][1:])]
    _leaves_nothing(scan_list, given)


def _kept(*given: object) -> object:
    return given


def _leaves_nothing(scan: Callable[..., object], given: list[tuple[Any, ...]]) -> None:
    """Call it a million times, with each of these arguments in turn."""
    shared = [value for arguments in given for value in arguments]

    def called(times: int) -> None:
        for _ in range(times):
            for arguments in given:
                with suppress(TypeError, ValueError, LookupError, OverflowError, AttributeError):
                    scan(*arguments)

    called(10)
    gc.collect()
    # Arrays hold no reference to a count, which may be one of the arguments.
    counts = array("q", map(sys.getrefcount, shared))
    blocks, times = _used(), CALLS // len(given) + 1
    called(times)
    # Each of the calls that leaves something does so `times` times; caches of the interpreter hold a few blocks.
    assert abs(_used() - blocks) < times // 10
    now = array("q", map(sys.getrefcount, shared))
    assert max(abs(after - before) for before, after in zip(counts, now, strict=True)) < times // 10


_WRITE = """
import pickle, sys
from amqp_sansio import AMQP_0_9_1, COMPILED
from amqp_sansio.endpoint import Side
from tests.classic.endpoint.test_fast_path import receiving, recorded
ends = [receiving(AMQP_0_9_1, side) for side in Side]
for end, side in zip(ends, Side):
    end.receive_data(recorded(AMQP_0_9_1, side)[:50_000], 0.0)
    for _ in range(20):
        end.next_event()
sys.stdout.buffer.write(pickle.dumps((COMPILED, ends)))
"""


def _written(pure: bool) -> tuple[bool, list[Any]]:
    """Both ends in the middle of traffic, from another process, and whether that one had the module."""
    paths = [str(Path(amqp_sansio.__file__).parents[1]), str(ROOT)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "AMQP_SANSIO_PURE": "1" if pure else ""}
    run = subprocess.run(
        [sys.executable, "-P", "-c", _WRITE], env=environment, cwd=ROOT, capture_output=True, check=True
    )
    found: tuple[bool, list[Any]] = pickle.loads(run.stdout)
    return found


def test_ends_of_processes_with_and_without_it_go_on_alike() -> None:
    from amqp_sansio import Signal
    from tests.kit.pair import structure, told

    outcomes: list[object] = []
    for pure in (True, False):
        has, ends = _written(pure)
        assert has is not pure
        events: list[str] = []
        for end in ends:
            while not isinstance(event := end.next_event(), Signal):
                events.append(told(event))
        outcomes.append((events, [structure(end) for end in ends]))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0]


def _wheel(folder: Path, compile_: str) -> tuple[str, set[str]]:
    """The name of a new wheel, and of the files in it."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    environment = {**os.environ, "AMQP_SANSIO_COMPILE": compile_}
    subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, check=True)
    (path,) = folder.iterdir()
    with zipfile.ZipFile(path) as archive:
        return path.name, set(archive.namelist())


def test_a_compiled_wheel_is_the_other_one_and_the_module(tmp_path: Path) -> None:
    name, pure = _wheel(tmp_path / "pure", "")
    assert name.endswith("-py3-none-any.whl")
    name, files = _wheel(tmp_path / "compiled", "1")
    assert "none-any" not in name
    (module,) = files - pure
    assert module.startswith("amqp_sansio/_speedups.")
    with zipfile.ZipFile(tmp_path / "compiled" / name) as archive:
        archive.extractall(tmp_path / "installed")
    command = [sys.executable, "-P", "-c", "import amqp_sansio; print(amqp_sansio.COMPILED)"]
    for pure_wanted, expected in (("", "True"), ("1", "False"), ("0", "True")):
        environment = {**os.environ, "PYTHONPATH": str(tmp_path / "installed"), "AMQP_SANSIO_PURE": pure_wanted}
        run = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert run.stdout.strip() == expected
