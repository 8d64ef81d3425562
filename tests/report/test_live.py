"""The live page of a broker: escaped, bounded, with rates since the state before; and what is kept of its traffic."""

import pickle

import pytest

from amqp_sansio.capture import PcapngWriter, Segment
from amqp_sansio_report import Bounds
from amqp_sansio_report.live import LiveBounds, LivePage, look
from amqp_sansio_report.report import report_segments
from amqp_sansio_report.traffic import Traffic, TrafficBounds, TrafficView, moved_to
from tests.kit.captures import named
from tests.kit.hub_classic import World
from tests.report.making import Outline, segments_in
from tests.report.test_page import EVIL, NAMES

SECOND, MASK, WHOLE = 1_000_000_000, 0xFFFF_FFFF, TrafficBounds(head=1 << 24)
NOW, SERVER = 1_700_000_000 * SECOND, "127.0.0.1:5672"


def drawn(world: World, **bounds: int) -> Outline:
    pages: list[str] = []
    for hub in (world.hub, pickle.loads(pickle.dumps(world.hub))):
        page = LivePage(SERVER, LiveBounds(**bounds))
        page.take(look(hub, NOW, bounds=LiveBounds(**bounds)))
        pages.append(page.html(TrafficView()))
    assert pages[0] == pages[1], "a broker in the same state has the same page"
    return Outline(pages[0])


def test_every_text_is_escaped_and_cut_and_a_message_told_with_what_became_of_it() -> None:
    world = World(history=100, history_octets=8000, vhosts=("/", EVIL))
    channel = world.channel(properties={"product": EVIL, "connection_name": "n" * 900}, vhost=EVIL)
    channel.declare(EVIL)
    channel.consume(EVIL, tag=EVIL)
    for body, key in ((b"early", "nowhere"), (EVIL.encode() + b"x" * 900, EVIL), (bytes(range(200, 256)), "nowhere")):
        channel.publish(body, key)
    channel.accept(channel.deliveries()[0].delivery_tag)
    outline = drawn(world)
    assert not {tag for tag, _ in outline.elements} & {"img", "b", "link", "iframe"}
    text = outline.text()
    assert text.count("</script><img src=x onerror=alert(1)>") >= 6 and "x" * 100 not in text
    assert "n" * 119 + "…" in text and "n" * 120 not in text
    assert ": accepted" in text and "unroutable" in text and "c8 c9 ca" in text and "early" in text
    channel.publish(b"y" * 7990, "nowhere")
    assert "early" not in drawn(world).text(), "the history has so many octets"


def test_rates_are_differences_over_the_time_between() -> None:
    world = World()
    channel = world.channel()
    channel.declare("jobs")
    page = LivePage(SERVER)

    def rates(at: float) -> list[str]:
        page.take(look(world.hub, NOW + round(at * SECOND)))
        tiles = Outline(page.html(TrafficView())).tiles()
        return [tiles[f"{name} per s"] for name in ("in", "delivered", "gone")]

    assert rates(0) == ["-", "-", "-"]
    channel.publish(b"x", "jobs")
    assert rates(4) == ["0.2", "0", "0"]
    channel.get("jobs", no_ack=True)
    assert rates(5) == ["0", "1.0", "1.0"]
    channel.call("queue.delete", queue="jobs")
    channel.declare("jobs")
    channel.publish(b"x", "jobs")
    assert rates(6) == ["1.0", "0", "0"], "a queue of that name begins again"
    assert rates(60) == ["-", "-", "-"], "nobody looked for a minute"


def test_of_many_queues_the_fullest_are_shown_and_the_others_counted() -> None:
    channel = World(history=50).channel()
    for number in range(30):
        channel.declare(f"q{number}")
        channel.consume(f"q{number}", tag=f"c{number}")
    channel.publish(b"x", "q17")
    text = drawn(channel.world, queues=2, consumers=2, connections=1).text()
    assert "2 of 30 queues: those with the most messages" in text and "2 of 30 consumers" in text
    assert "q17" in text and "q5" not in text


def segments_of(name: str) -> list[Segment]:
    return [each for each in segments_in([named(name)]) if isinstance(each, Segment)]


@pytest.mark.parametrize("name", NAMES)
def test_a_diagram_is_that_of_the_report_but_for_what_is_not_kept(name: str) -> None:
    size = 6000
    whole, short = Traffic(WHOLE), Traffic(TrafficBounds(head=size, tail=size))
    for each in segments_of(name):
        whole.add(each)
        short.add(each)
    expected = report_segments(segments_of(name), Bounds(diagrams=99)).diagrams
    chosen = [[traffic.view(each.connection).chosen for each in expected] for traffic in (whole, short)]
    assert [kept and kept.diagram(400) for kept in chosen[0]] == list(expected)
    assert any([kept and kept.missing for kept in chosen[1]])
    for all_, kept in zip(expected, chosen[1], strict=True):
        assert kept is not None and kept.head_size <= size and kept.tail_size <= size
        diagram = kept.diagram(400)
        assert diagram is not None and (diagram.total < all_.total if kept.missing else diagram == all_)
        assert bool(kept.missing) == any(signal.text.endswith("of both sides aren't kept") for signal in diagram.tcp)
        for at in (0, -1):
            assert (diagram.units[at].event, diagram.units[at].lines) == (all_.units[at].event, all_.units[at].lines)


def test_a_gap_of_gigabytes_is_no_other_connection() -> None:
    some = segments_of("o091_pika_channel_errors.pcap")
    segments = [each for each in some if each.flow == some[0].flow]
    at = next(index for index, each in enumerate(segments) if index > 12 and each.src == some[0].src and each.payload)
    head, tail = [sum(len(each.payload) + 512 for each in part) for part in (segments[:at], segments[at:])]
    traffic, wide, writer = Traffic(TrafficBounds(head=head, tail=tail)), (1 << 30) + 999, segments[at]
    for each in segments[:at]:
        traffic.add(each)
    for number in range(3):
        values = (writer.src, writer.sport, writer.dst, writer.dport, writer.seq + number * wide & MASK, writer.ack)
        traffic.add(Segment(writer.ts_ns, "", 0, *values, writer.flags, wide, b""))
    for each in segments[at:]:
        from_client = each.sport == writer.sport
        seq, ack = each.seq + 3 * wide * from_client, each.ack + 3 * wide * (not from_client)
        traffic.add(moved_to(each, seq & MASK, ack & MASK))
    chosen = traffic.view().chosen
    assert chosen is not None and chosen.missing == 3 * wide
    diagram = chosen.diagram(400)
    assert diagram is not None and diagram.units[-1].event == "connection.close-ok"


def test_connections_that_ended_go_first_and_the_silent_ones_next() -> None:
    traffic, writer = Traffic(TrafficBounds(connections=2)), PcapngWriter()
    traffic.feed(writer.header())

    def after(port: int, more: bytes = b"") -> tuple[list[str], int]:
        traffic.feed(more + writer.open(f"127.0.0.1:{port}", SERVER, NOW)[1])
        view = traffic.view()
        return [each.client.rpartition(":")[2] for each in view.connections], view.forgotten

    assert [after(1), after(2)] == [(["1"], 0), (["1", "2"], 0)]
    assert after(3, writer.data(0, "client", b"AMQP", NOW)) == (["1", "3"], 1)
    more = writer.close(0, "client", NOW) + writer.data(1, "client", b"AMQP", NOW)
    assert after(4, more) == (["3", "4"], 2)
    assert after(3) == (["4", "3"], 3), "a port that is used again is another connection"
