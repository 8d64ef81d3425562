"""Records: written like dataclasses, built of slots."""

import inspect
import pickle
from collections.abc import Mapping
from typing import Any, Final

import pytest

from amqp_sansio import events
from amqp_sansio._ground.initializers import INITIALIZERS
from amqp_sansio._ground.record import general_initializer, record
from amqp_sansio.amqp_0_9_1 import Config
from amqp_sansio.limits import Limits
from tools.codegen.initializers import made_later, records, sentences


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


@pytest.mark.parametrize(
    ("values", "named", "said"),
    [
        pytest.param((1,), {"name": "x"}, r"^Point\.__init__\(\) got an unexpected keyword .*'name'$", id="unknown"),
        pytest.param((), {"y": 1}, r"^Point\.__init__\(\) missing .*x", id="missing"),
        pytest.param((1,), {"x": 1}, r"^Point\.__init__\(\) got multiple values for argument 'x'$", id="twice"),
        pytest.param((1, 2, 3), {}, r"^Point\.__init__\(\) takes .* were given$", id="too many"),
    ],
)
def test_wrong_arguments_are_refused(values: tuple[int, ...], named: dict[str, object], said: str) -> None:
    kind: Any = Point
    with pytest.raises(TypeError, match=said):
        kind(*values, **named)


RECORDS: Final = dict(records())
"""Each record of the package whose `__init__` is generated."""


def _general(kind: Any, values: tuple[object, ...], named: Mapping[str, object]) -> Any:
    """Make a record as `general_initializer` does."""
    made = kind.__new__(kind)
    initialize = general_initializer(
        kind.__qualname__, kind.__match_args__, kind.__record_defaults__, sentences(kind), made_later(kind)
    )
    initialize(made, *values, **named)
    return made


def _same(one: Any, other: Any) -> bool:
    names = [*one.__match_args__, *[name for name in made_later(type(one)) if name != "_keys"]]
    return all(
        getattr(one, name) == getattr(other, name) or repr(getattr(one, name)) == repr(getattr(other, name))
        for name in names
    )


def test_every_generated_initializer_belongs_to_a_record() -> None:
    assert sorted(RECORDS) == sorted(INITIALIZERS)


@pytest.mark.parametrize("name", RECORDS)
def test_generated_initializers_do_what_the_general_one_does(name: str) -> None:
    kind = RECORDS[name]
    fields: tuple[str, ...] = kind.__match_args__
    # A text that printing escapes, other than every default.
    value = {field: f"\x1b{field}" for field in fields}
    needed = {field: value[field] for field in fields if field not in kind.__record_defaults__}
    assert kind.__init__.__module__ == "amqp_sansio._ground.initializers"
    assert _same(kind(**needed), _general(kind, (), needed))
    assert _same(kind(*needed.values()), _general(kind, tuple(needed.values()), {}))
    if "_spoken" not in made_later(kind):
        # What is made of a broker's settings takes real ones.
        assert _same(kind(**value), _general(kind, (), value))
        assert _same(kind(*value.values()), _general(kind, tuple(value.values()), {}))
    for field in needed:
        with pytest.raises(TypeError, match=field):
            kind(**{each: needed[each] for each in needed if each != field})
    with pytest.raises(TypeError, match="were given"):
        kind(*value.values(), None)


def test_signatures_tell_names_and_defaults() -> None:
    assert str(inspect.signature(events.SendPaused)) == "(backlog)"
    assert str(inspect.signature(Limits)).startswith("(unparsed=")
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
