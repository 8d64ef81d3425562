"""Mutants in processes of their own, as `make mutants` runs them: over the tests of one module."""

from __future__ import annotations

import pytest

from tools.mutants.mutations import Mutation
from tools.mutants.running import Mutant, MutantsError, all_mutants, reached, tried

MODULE = "amqp_sansio/amqp_0_10/model/session_model.py"
TESTS = ("tests/amqp_0_10/model/test_seen_bounds.py",)


def mutant(before: str, after: str) -> Mutant:
    """Return the only mutant of the module that makes one line of another."""
    [found] = [each for each in all_mutants(MODULE) if (each.mutation.before, each.mutation.after) == (before, after)]
    return found


def test_a_mutant_dies_by_the_first_test_that_notices_it_and_lives_without_one() -> None:
    dies = mutant("trim(self.prepared, self.most)", "pass")
    missed = mutant("self.flushed = self.flushed or expected", "pass")
    lives = mutant("_FILE: Final = 2304", "_FILE: Final = 2305")
    reach = reached([dies, missed, lives], TESTS)
    assert not reach.failed
    result = tried(dies, reach)
    test = "test_the_branches_that_were_prepared_last_are_known"
    assert (result.outcome, result.test.partition("[")[0]) == ("killed", f"{TESTS[0]}::{test}")
    assert tried(missed, reach).outcome == "not reached"
    assert reach.tests[lives.name] == list(reach.costs)
    assert tried(lives, reach).outcome == "lives"


def test_a_mutant_that_cannot_be_made_is_an_error() -> None:
    [some, *_] = all_mutants(MODULE)
    reach = reached([some], TESTS)
    unknown = Mutant(MODULE, Mutation(10**6, "number", 1, "", "", ""))
    reach.tests[unknown.name] = list(reach.costs)
    with pytest.raises(MutantsError, match="IndexError"):
        tried(unknown, reach)


def test_tests_that_do_not_run_tell_nothing() -> None:
    with pytest.raises(MutantsError, match="nothing_of_this_name"):
        reached(all_mutants(MODULE)[:1], ("tests/nothing_of_this_name.py",))
