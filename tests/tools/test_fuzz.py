"""The fuzzer: what it found stays mended, bombs cost what their octets allow, each oracle sees what it is for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from tools.fuzz import __main__ as command
from tools.fuzz.bombs import Bomb, bombs
from tools.fuzz.cases import Cases
from tools.fuzz.ends import client, record, server
from tools.fuzz.mutations import split
from tools.fuzz.oracles import Failure, check, check_bounded, check_cost, check_memory
from tools.fuzz.targets import TARGETS, Lines, Target, packed, pieces_of
from tools.steps import collisions, count_steps

KEPT = Path(__file__).resolve().parents[1] / "data" / "fuzz"
VERSIONS = (AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0)


@pytest.mark.parametrize("path", sorted(KEPT.glob("*.bin")), ids=lambda path: path.stem)
def test_what_was_found_stays_mended(path: Path) -> None:
    target = TARGETS[path.name.partition("--")[0]]
    for attempt in range(3):
        failure = check(target, path.read_bytes(), Random(attempt))
        assert failure is None, failure.text


def bomb_id(bomb: Bomb) -> str:
    """What a bomb is called among the tests."""
    return f"{bomb.target}: {bomb.name}"


# One for each target and kind; all of them: tests/system/tools/test_every_bomb.py.
@pytest.mark.parametrize("bomb", {(each.target, each.bounded): each for each in bombs()}.values(), ids=bomb_id)
def test_more_octets_take_no_more_steps_and_memory_than_they_may(bomb: Bomb) -> None:
    failure = command.run_bomb(bomb)
    assert failure is None, failure.text


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.label)
def test_the_sessions_to_begin_with_are_long_ones(version: Version) -> None:
    """Else all that is made of them ends before it says anything."""
    sent, received, order = record(version)
    peer = client(version)
    peer.feed(received)
    assert bytes(peer.sent) == sent
    assert len(peer.lines) > 10
    assert not [line for line in peer.lines if line.startswith(("Failed", "refused"))]
    other = server(version)
    other.feed(sent)
    assert len(other.lines) > 10
    assert pieces_of(packed(order)) == order
    assert b"".join(split(sent, version)) == sent
    assert len(split(sent, version)) > 15


def test_an_input_comes_out_of_the_seed_and_its_number() -> None:
    def some(seed: int) -> list[bytes]:
        cases = Cases(seed, [], drawn_each=3)
        targets = [TARGETS[name] for name in ("table-0-8", "struct-0-10", "selector")]
        return [cases.octets(target, Random(f"{seed} {n}")) for n, target in enumerate(targets)]

    found = some(3)
    assert some(3) == found
    assert some(4) != found


# The oracles.


def _raising(pieces: Sequence[bytes]) -> Lines:
    if b"!" in b"".join(pieces):
        raise KeyError("x")
    return []


def _counting_pieces(pieces: Sequence[bytes]) -> Lines:
    return [f"Seen {len(pieces) if b'?' in b''.join(pieces) else 0}"]


def _quadratic(pieces: Sequence[bytes]) -> Lines:
    found = 0
    for one in pieces[0]:
        for other in pieces[0]:
            found += one == other
    return [str(found)]


def _searching(pieces: Sequence[bytes]) -> Lines:
    found = list(pieces[0])
    return [str([found.count(each) for each in pieces[0]])]


def _linear(pieces: Sequence[bytes]) -> Lines:
    return [str([each + 1 for each in pieces[0]])]


def _dear(pieces: Sequence[bytes]) -> Lines:
    return [str([each + more for each in pieces[0] for more in range(1000)])]


def test_an_exception_is_found_and_its_input_made_short() -> None:
    target = Target("raising", _raising, False)
    failure = check(target, b"a lot of text! and more", Random(1))
    assert failure is not None
    assert failure.kind.startswith("KeyError in ")
    assert check(target, b"a lot of text", Random(1)) is None


def test_events_that_depend_on_cuts_are_found() -> None:
    target = Target("counting", _counting_pieces, True)
    assert check(target, b"nothing", Random(1)) is None
    failure = check(target, b"what is it?", Random(1))
    assert failure is not None
    assert failure.kind == "cuts matter: Seen or Seen"


@pytest.mark.parametrize("run", [_quadratic, _searching, _dear])
def test_a_cost_that_grows_too_fast_is_found(run: object) -> None:
    target = Target("bad", run, False)  # type: ignore[arg-type]
    failure = check_cost(target, "bad", [bytes(size) for size in (100, 200, 400)])
    assert failure is not None


def test_a_linear_cost_is_right() -> None:
    target = Target("good", _linear, False)
    assert check_cost(target, "good", [bytes(size) for size in (100, 200, 400)]) is None
    assert count_steps(lambda: target.run([bytes(400)]), 10_000) < 2000


def test_a_cost_without_octets_is_found() -> None:
    def counted(pieces: Sequence[bytes]) -> Lines:
        return [str(n) for n in range(int.from_bytes(pieces[0], "big"))]

    target = Target("counted", counted, False)
    assert check_cost(target, "counted", [size.to_bytes(4, "big") for size in (1000, 2000, 4000)])


def test_what_the_garbage_collector_calls_isnt_counted() -> None:
    class Left:
        def __del__(self) -> None:
            self.gone = True

    counts: list[int] = []
    for _ in range(2):
        counts.append(count_steps(lambda: [[each] for each in range(20_000)]))
        left: list[object] = [Left()]
        left.append(left)
        del left
    assert counts[0] == counts[1]


def test_keys_of_one_hash_are_counted() -> None:
    assert collisions({(-1,) * n: None for n in range(100)}) == 0
    alike = [tuple([-1 if n >> bit & 1 else -2 for bit in range(5)]) for n in range(32)]
    assert collisions(dict.fromkeys(alike)) == 31 * 32 // 2


def _holding(pieces: Sequence[bytes]) -> Lines:
    return [str(number).zfill(10_000) for number in range(len(pieces[0]))]


def _keeping(octets: bytes) -> tuple[object, int]:
    return list(range(len(octets))), 0


def _keeping_few(octets: bytes) -> tuple[object, int]:
    return [*range(50), octets], len(octets)


def test_memory_that_grows_too_fast_is_found() -> None:
    failure = check_memory(Target("bad", _holding, False), "input", bytes(1000))
    assert failure is not None and failure.kind == "peak input"
    many = Target("bad", _linear, False, lambda octets: ("x" * 50_000 + octets.hex() * 10, 0))
    failure = check_memory(many, "input", bytes(500))
    assert failure is not None and failure.kind == "kept input"
    assert check_memory(Target("good", _linear, False, _keeping_few), "input", bytes(1000)) is None


def test_what_is_kept_without_a_bound_is_found() -> None:
    sizes = [bytes(size) for size in (200, 400, 800)]
    failure = check_bounded(Target("bad", _linear, False, _keeping), "numbers", sizes)
    assert failure is not None and "what is kept grows" in failure.text
    assert check_bounded(Target("good", _linear, False, _keeping_few), "numbers", sizes) is None


# The command.


def test_a_target_that_nobody_knows_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["--target=nothing"])
    assert "no target begins with 'nothing'" in capsys.readouterr().err


def test_a_finding_knows_where_it_is_kept() -> None:
    failure = Failure("hub-1.0", "KeyError in x.py f", "text", b"octets")
    assert command.path_of(failure).name.startswith("hub-1.0--KeyError-in-x-py-f-")
    assert "--replay build/fuzz/hub-1.0--" in command.command(command.path_of(failure))
