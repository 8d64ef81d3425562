"""The two forms of a dtx.xid: both are read, each is written again as it came, and a dialect chooses one."""

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import CodecError
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.amqp_0_10.codec.dialect import Dialect, PlainXid, adapt
from amqp_sansio.amqp_0_10.codec.record import decode_command
from amqp_sansio.amqp_0_10.codec.types import decode_value, encode_value

CODED = b"\x00\x00\x00\x0c\x06\x04\x07\x00\x00\x00\x00\x01\x01g\x01b"
PLAIN = b"\x00\x0a\x07\x00\x00\x00\x00\x01\x01g\x01b"
XID = spec.Xid(1, b"g", b"b")
WITH_XID = [kind for kind in spec.COMMANDS.values() if ("xid", "dtx.xid") in kind.FIELDS]


def _read(octets: bytes) -> spec.Command[Any]:
    return decode_command(octets, 0, len(octets))[0]


def test_the_names_of_the_dialects() -> None:
    assert Dialect("0-10") is Dialect.SPECIFICATION
    assert Dialect("0-10-errata") is Dialect.ERRATA


@pytest.mark.rule("0-10/wire/struct-size-includes")
def test_the_octets_of_both_forms() -> None:
    assert XID.encode_sized() == CODED
    assert PlainXid(1, b"g", b"b").encode_sized() == PLAIN


@pytest.mark.parametrize("form", [CODED, PLAIN], ids=["errata", "specification"])
@pytest.mark.parametrize("kind", WITH_XID, ids=lambda kind: kind.NAME)
def test_every_command_with_an_xid_is_read_in_both_forms(kind: type[spec.Command[Any]], form: bytes) -> None:
    head = kind.CODE.to_bytes(2, "big") + b"\x01\x00"
    # Behind the xid only dtx.set-timeout has octets.
    octets = head + b"\x01\x00" + form
    found = _read(octets)
    xid = getattr(found, "xid")  # noqa: B009
    assert type(xid) is (spec.Xid if form == CODED else PlainXid)
    assert (xid, xid.encode_sized(), found.encode_segment()) == (XID, form, octets)
    # Written anew, not from the kept octets.
    found.wire = None
    xid.wire = None
    assert found.encode_segment() == octets
    for cut in range(len(head) + 2, len(octets)):
        with pytest.raises(CodecError, match=kind.NAME):
            _read(octets[:cut])


def test_there_are_eight_commands_with_an_xid() -> None:
    assert len(WITH_XID) == 8


@given(
    number=st.integers(0, (1 << 32) - 1) | st.none(),
    global_id=st.binary(max_size=255) | st.none(),
    branch_id=st.binary(max_size=255) | st.none(),
)
def test_any_xid_in_both_forms(number: int | None, global_id: bytes | None, branch_id: bytes | None) -> None:
    for kind in (spec.Xid, PlainXid):
        sent = spec.DtxEnd(kind(number, global_id, branch_id), suspend=True)
        found = _read(sent.encode_segment())
        assert isinstance(found, spec.DtxEnd)
        assert found == sent
        assert type(found.xid) is kind


def test_the_form_makes_no_difference_but_on_the_wire() -> None:
    plain = PlainXid(1, b"g", b"b")
    for one, other in ((plain, XID), (XID, plain)):
        assert one == other
    assert hash(plain) == hash(XID)
    assert plain != spec.Xid(2, b"g", b"b")
    assert spec.Xid(2, b"g", b"b") != plain
    assert plain != "g"
    assert len({plain, XID}) == 1
    assert spec.DtxPrepare(plain) == spec.DtxPrepare(XID)
    again = pickle.loads(pickle.dumps(plain))
    assert type(again) is PlainXid
    assert again.encode_sized() == PLAIN
    assert repr(plain) == "PlainXid(format=1, global_id=b'g', branch_id=b'b')"


def test_adapt_replaces_the_xid_alone() -> None:
    start = spec.DtxStart(XID, join=True)
    plain = adapt(start, Dialect.SPECIFICATION)
    assert (type(plain.xid), plain.join, plain.resume) == (PlainXid, True, False)
    assert plain.encode() == b"\x03\x00" + PLAIN
    assert type(start.xid) is spec.Xid
    back = adapt(plain, Dialect.ERRATA)
    assert (type(back.xid), back.encode()) == (spec.Xid, b"\x03\x00" + CODED)
    assert back == plain == start


def test_adapt_leaves_alone_what_is_right() -> None:
    transfer, empty = spec.MessageTransfer("q"), spec.DtxPrepare()
    for dialect in Dialect:
        assert adapt(transfer, dialect) is transfer
        assert adapt(empty, dialect) is empty
    found = _read(b"\x06\x07\x01\x00\x01\x00" + PLAIN)
    assert adapt(found, Dialect.SPECIFICATION) is found
    # Spare flags and all: from the flags on, the octets are the peer's.
    odd = _read(b"\x06\x07\x01\x00\x01\x00\x00\x02\x00\x80")
    assert adapt(odd, Dialect.ERRATA).encode() == b"\x01\x00\x00\x00\x00\x04\x06\x04\x00\x80"


def test_within_values_an_xid_has_its_code() -> None:
    plain = PlainXid(1, b"g", b"b")
    assert encode_value(plain) == encode_value(XID) == b"\xab" + CODED
    result = spec.RecoverResult([plain, XID])
    assert result.encode() == b"\x01\x00\x00\x00\x00\x25\xab\x00\x00\x00\x02" + CODED + CODED
    found = decode_value(b"\xab" + CODED)[0]
    assert (type(found), found) == (spec.Xid, plain)
    assert spec.RecoverResult.decode(result.encode()).in_doubt == [XID, XID]


def test_an_xid_of_another_code_is_refused() -> None:
    with pytest.raises(CodecError, match=r"struct 6\.5 where dtx\.xid belongs"):
        _read(b"\x06\x07\x01\x00\x01\x00" + CODED.replace(b"\x06\x04", b"\x06\x05"))
