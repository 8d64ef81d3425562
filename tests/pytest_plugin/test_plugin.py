"""What pytest knows of the plug-in: its fixtures, and its mark with its arguments."""

import pytest

from tests.kit.rule_runs import ALONE

pytest_plugins = ["pytester"]


def test_the_mark_and_the_fixtures_are_known(pytester: pytest.Pytester) -> None:
    marks = pytester.runpytest_inprocess(*ALONE, "--markers")
    marks.stdout.fnmatch_lines(["@pytest.mark.amqp_broker(users=*"])
    fixtures = pytester.runpytest_inprocess(*ALONE, "--fixtures").stdout.str()
    for name in ("amqp_broker ", "amqp_broker_url ", "amqp_broker_factory "):
        assert name in fixtures


def test_a_mark_takes_arguments_by_name(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.amqp_broker("real")
        def test_it(amqp_broker): ...
        """
    )
    result = pytester.runpytest_inprocess(*ALONE)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*takes arguments by name only*"])


def test_a_typing_error_in_a_mark_is_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.amqp_broker(definition={"queues": ["jobs"]})
        def test_it(amqp_broker): ...
        """
    )
    result = pytester.runpytest_inprocess(*ALONE)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*the mark amqp_broker has no 'definition'; did you mean 'definitions'?*"])


def test_a_typing_error_in_a_fixture_is_named_when_it_is_made(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from amqp_sansio_pytest import broker_fixture

        amqp_broker = broker_fixture("module", usres={"me": "secret"})
        """
    )
    result = pytester.runpytest_inprocess(*ALONE)
    result.stdout.fnmatch_lines(["*EmbeddedBroker has no argument 'usres'; did you mean 'users'?*"])


def test_a_typing_error_in_a_call_of_the_factory_is_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        def test_it(amqp_broker_factory):
            with pytest.raises(TypeError, match="no argument 'clok'; did you mean 'clock'"):
                amqp_broker_factory(clok="real")
        """
    )
    pytester.runpytest_inprocess(*ALONE).assert_outcomes(passed=1)
