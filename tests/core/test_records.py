"""Records: written like dataclasses, built of slots."""

import inspect
import pickle
from types import ModuleType
from typing import Any

import pytest

import amqp_sansio
from amqp_sansio import events
from amqp_sansio._core.record import record
from amqp_sansio.amqp_0_9_1 import Config


@record
class Point:
    """Two fields, one with a default."""

    x: int
    y: int = 2


@record
class Named(Point):
    """Fields of its own behind those it inherits."""

    name: str = "here"
    note: str = ""


@record
class Nothing:
    """No field."""


def test_fields_are_set_by_position_and_by_name() -> None:
    assert (Point(1).x, Point(1).y) == (1, 2)
    assert Point(y=1, x=3) == Point(3, 1) != Point(1, 3)
    found = Named(1, name="there")
    assert (found.x, found.y, found.name, found.note) == (1, 2, "there", "")
    assert repr(found) == "Named(x=1, y=2, name='there', note='')"
    assert Nothing() == Nothing()
    assert repr(Nothing()) == "Nothing()"


def test_records_of_one_size_keep_their_own_names() -> None:
    two: Any = Point
    with pytest.raises(TypeError, match=r"^Point\.__init__\(\) got an unexpected keyword argument 'name'$"):
        two(1, name="x")
    with pytest.raises(TypeError, match=r"^Point\.__init__\(\) missing 1 required positional argument: 'x'$"):
        two()
    with pytest.raises(TypeError, match="takes from 2 to 3 positional arguments but 4 were given"):
        two(1, 2, 3)
    nothing: Any = Nothing
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        nothing(1)


def test_signatures_tell_names_and_defaults() -> None:
    assert str(inspect.signature(Point)) == "(x, y=2)"
    assert str(inspect.signature(Named)) == "(x, y=2, name='here', note='')"
    assert list(inspect.signature(Config).parameters) == list(Config.__match_args__)
    assert [*inspect.signature(events.Opened).parameters] == list(events.Opened.__match_args__)


def test_they_have_no_dict_and_pickle() -> None:
    with pytest.raises(AttributeError):
        object.__setattr__(Point(1), "z", 1)
    assert pickle.loads(pickle.dumps(Named(1, note="n"))) == Named(1, note="n")
    assert hash(Named(1)) == hash(Named(1))


def test_a_field_without_a_default_comes_first() -> None:
    with pytest.raises(TypeError, match="Wrong: a field without a default follows x, which has one"):

        @record
        class Wrong:
            x: int = 1
            y: int  # type: ignore[misc]  # pyright: ignore[reportGeneralTypeIssues]

        del Wrong


@pytest.mark.parametrize("module", [amqp_sansio, events], ids=["amqp_sansio", "amqp_sansio.events"])
def test_the_old_name_of_a_pending_answer_warns(module: ModuleType) -> None:
    with pytest.warns(DeprecationWarning, match="Handle is called Pending now"):
        assert module.Handle is events.Pending
    with pytest.raises(AttributeError, match="Handles"):
        assert module.Handles


@pytest.mark.parametrize(
    "event",
    [events.Replied(events.Pending((1, 1))), events.Settled((events.Pending((1, 1)),), None)],
    ids=["one", "many"],
)
def test_a_pending_can_be_read_by_its_former_name(event: Any) -> None:
    former, name = ("handle", "pending") if hasattr(event, "pending") else ("handles", "pendings")
    with pytest.warns(DeprecationWarning, match=f"{former} is called {name} now"):
        assert getattr(event, former) is getattr(event, name)
