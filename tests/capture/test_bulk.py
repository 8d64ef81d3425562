"""What parsers tell readers in bulk, and what those tell them: layouts, records taken, where only they can go on."""

import pickle

import pytest

from amqp_sansio.capture import NotACapture, Segment, read_segments
from amqp_sansio.capture.bulk import HEAD, Output, PcapLayout, PcapngLayout, may_begin_capture, open_parser
from tests.kit.packets import block, enhanced, ethernet, interface, ipv4, pcap, section, tcp

FRAME = ethernet(ipv4(tcp(5, 6, b"abc")))
OTHERS = [ethernet(ipv4(tcp(7, 8, b"de"))), FRAME, FRAME]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("magic", "unit"), [(0xA1B2C3D4, 1000), (0xA1B23C4D, 1)])
def test_the_layout_of_pcap(order: str, magic: int, unit: int) -> None:
    data = pcap([(1, 2, FRAME)], order=order, magic=magic, link=113)
    parser = open_parser(data[:HEAD])
    assert parser.layout() is None
    assert parser.parse(data[:24], [], True) == 24
    assert parser.layout() == PcapLayout(order == ">", 16, 262_144, unit, 113, True)


def test_the_layout_of_pcapng_is_that_of_the_section() -> None:
    options = [(9, b"\x09"), (14, (5).to_bytes(8, "little"))]
    data = section() + interface(options=options) + interface(147)
    parser = open_parser(data, "f")
    parser.parse(data, [], True)
    layout = parser.layout()
    assert isinstance(layout, PcapngLayout) and not layout.big
    first, second = layout.interfaces
    assert (first.link, first.multiplier, first.divisor, first.offset_ns) == (1, 1, 1, 5 * 10**9)
    assert (first.known, second.known, second.silent) == (True, False, False)
    out: Output = []
    parser.parse(enhanced(FRAME, number=1) + section(">"), out, True)
    assert len(out) == 1
    assert parser.layout() == PcapngLayout(True, ())


@pytest.mark.parametrize("plain", [True, False])
def test_records_that_were_taken_are_as_if_they_were_parsed(plain: bool) -> None:
    if plain:
        records = [pcap([(at, 0, frame)])[24:] for at, frame in enumerate(OTHERS)]
        head = pcap([])
    else:
        records = [enhanced(frame, at * 10**6) for at, frame in enumerate(OTHERS)]
        head = section() + interface()
    wanted = list(read_segments(head + b"".join(records), file="f"))
    parser = open_parser(head, "f")
    parser.parse(head, [], True)
    out: Output = []
    parser.parse(records[0], out, True)
    # The second: where its packet lies is what a layout tells.
    start = len(records[1]) - len(FRAME) if plain else 28
    where = (10**9, parser.packet, parser.offset)
    parser.decode(records[1], start, start + len(FRAME), len(FRAME), 1, where, out)
    parser.take(len(records[1]), 1, 10**9)
    parser = pickle.loads(pickle.dumps(parser))
    parser.parse(records[2], out, True)
    parser.finish(b"", out)
    assert out == wanted and all(isinstance(row, Segment) for row in out)
    assert parser.offset == len(head) + sum(map(len, records))


def test_nothing_is_plain_where_a_parser_is_lost() -> None:
    data = pcap([(1, 0, FRAME)])
    parser = open_parser(data)
    parser.parse(data + bytes(8) + b"\xff" * 8, [], True)
    assert parser.layout() is None
    data = section() + interface() + b"\xff" * 40
    parser = open_parser(data)
    parser.parse(data, [], True)
    assert parser.layout() is None
    parser.parse(section() + interface() + block(5, b""), [], True)
    assert parser.layout() is not None


def test_an_unknown_link_type_is_reported_before_its_packets_are_plain() -> None:
    data = pcap([(1, 0, FRAME)] * 2, link=147)
    parser = open_parser(data)
    parser.parse(data[:24], [], True)
    assert parser.layout() is None
    out: Output = []
    parser.parse(data[24 : 40 + len(FRAME)], out, True)
    layout = parser.layout()
    assert len(out) == 1 and isinstance(layout, PcapLayout) and not layout.known


def test_a_section_of_very_many_interfaces_is_not_plain() -> None:
    data = section() + interface() * 1025
    parser = open_parser(data)
    parser.parse(data, [], True)
    assert parser.layout() is None


def test_waiting_fragments_are_known() -> None:
    body = tcp(5, 6, bytes(100))
    parser = open_parser(pcap([]))
    parser.parse(pcap([(1, 0, ethernet(ipv4(body[:64], more=True)))]), [], True)
    assert parser.waiting
    parser.parse(pcap([(1, 0, ethernet(ipv4(body[64:], offset=64)))])[24:], [], True)
    assert not parser.waiting


def test_what_begins_a_capture() -> None:
    for whole in (pcap([]), pcap([], order=">"), section(), section(">")):
        assert all(may_begin_capture(whole[:size]) for size in range(HEAD))
        open_parser(whole[:HEAD])
    assert not may_begin_capture(b"PK")
    with pytest.raises(NotACapture, match=r"a\.zip: begins with 504b0304"):
        open_parser(b"PK\x03\x04" + bytes(8), "a.zip")
