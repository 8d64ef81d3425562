"""Every field of 1.0 in every form: what tests/data/forms-1.0.csv says ends by it, and nothing above."""

import csv

import pytest

from amqp_sansio import Side
from amqp_sansio.amqp_1_0 import Config, Delivery, Source, Symbol
from amqp_sansio.amqp_1_0.model.harm import Harm
from amqp_sansio.amqp_1_0.spec import Attach, Map
from tests.kit.forms_1_0 import beside, observed, sent_to
from tests.kit.links_1_0 import BODY, Mapped, attach, transfer
from tools.docs.forms import BASES, HEADER, PATH, SECTIONS, Form, forms, table

ROWS = {tuple(row[:3]): row[3:] for row in csv.reader(PATH.read_text(encoding="utf-8").splitlines()[1:])}
FORMS: dict[str, list[Form]] = {name: [each for each in forms() if each.type == name] for name in (*BASES, *SECTIONS)}
SIDES = {"client": Side.CLIENT, "server": Side.SERVER}


def test_the_table_is_the_one_that_the_tool_writes() -> None:
    """Each difference is to be judged as code is: may so much end by that?"""
    assert PATH.read_text(encoding="utf-8") == table()
    assert len(ROWS) == len(table().splitlines()) - 1
    assert HEADER == ("type", "field", "form", "client", "server", "observer")


@pytest.mark.parametrize("name", FORMS)
def test_an_endpoint_ends_no_more_than_the_table_says(name: str) -> None:
    for form in FORMS[name]:
        for cell, (end, side) in zip(ROWS[form.row[:3]], SIDES.items(), strict=False):
            if cell:
                told = sent_to(side, form)
                assert (form.row, end, told.harm) == (form.row, end, Harm[cell.upper()])
                assert told.goes_on, (form.row, end)


@pytest.mark.parametrize("name", FORMS)
def test_an_observer_loses_no_more_than_the_table_says(name: str) -> None:
    for form in FORMS[name]:
        talk = observed(form)
        unit = talk.last(Side.CLIENT if name not in ("sasl-mechanisms", "sasl-challenge", "sasl-outcome") else None)
        assert isinstance(unit.content, bytes) == (form.observed == "frame"), form.row
        if form.harm is not Harm.NONE:
            assert talk.rules, form.row
        if name not in ("open", "end", "close") and not name.startswith("sasl-") and form.observed == "none":
            assert beside(talk).body == b"hello", form.row


@pytest.mark.parametrize("side", SIDES.values(), ids=SIDES)
def test_what_is_meant_is_taken(side: Side) -> None:
    """A symbol for a string, a list for an array: the record that comes of it is the one that was meant."""
    plain = [each for each in FORMS["open"] if each.form in ("symbol", "list", "array of strings", "ulong")]
    plain = [each for each in plain if each.field != "properties"]
    for form in plain:
        end = sent_to(side, form).facing.end
        assert end.peer_open is not None, form.row
        assert end.peer_open.container_id == "p"
        assert end.peer_open.idle_time_out == 30_000
        given = getattr(end.peer_open, form.field)
        assert given in ("p", "x", ("x",), ("x", "x"), 1, 30_000), form.row


def test_a_session_of_service_bus_is_asked_for_and_granted() -> None:
    """The filter is a plain string, null for the next free session; the answer has the session's name."""
    wanted = Symbol("com.microsoft:session-filter")
    for asked in ("A", None):
        facing = Mapped.begun()
        link = facing.session.open_receiver(Source("q", filter={wanted: asked}), name="in", credit=1)
        told = facing.frames()[0]
        assert isinstance(told, Attach)
        assert isinstance(told.source, Source)
        assert told.source.filter == {wanted: asked}
        granted = Source("q", filter=Map({wanted: "A"}))
        facing.get(attach("in", 0, False, source=granted, properties={Symbol("com.microsoft:locked-until-utc"): 7}))
        assert link.is_open
        assert isinstance(link.source, Source)
        assert link.source.filter == {wanted: "A"}
        assert link.remote is not None
        assert link.remote.properties == {"com.microsoft:locked-until-utc": 7}
        facing.get(transfer(0), BODY)
        assert len(facing.of(Delivery)) == 1


def test_a_strict_end_takes_no_odd_field() -> None:
    facing = Mapped.begun(config=Config(container_id="strict", strict=True))
    facing.get(attach("in", 0, False, source=Source("q", filter=Map({Symbol("com.microsoft:session-filter"): "A"}))))
    facing.closes("amqp:decode-error", "filter-set/keys-values")
