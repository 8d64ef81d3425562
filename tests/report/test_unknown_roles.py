"""The report of captures from the middle: nothing tells who is the client, and a size may be cut away."""

from pathlib import Path

import pytest

from amqp_sansio.capture import Segment
from amqp_sansio.recorded.histories import steps_of
from amqp_sansio.recorded.tables import replay_segments
from amqp_sansio_report import Bounds, diagrams
from amqp_sansio_report.report import LiveReport, report_segments
from tests.kit.captures import named, sampled
from tests.kit.less import cut
from tests.kit.tables import segments_of


@pytest.mark.parametrize("path", sampled("*.pcap"))
def test_any_part_of_a_capture_has_a_report(path: Path) -> None:
    segments = [each for each in segments_of([path]) if isinstance(each, Segment)]
    late = [each for each in segments if not each.flags & 0x02]
    for part in (late[len(late) // 3 :], late[len(late) // 2 + 1 :], [cut(each, 60) for each in segments]):
        assert "WHAT STANDS OUT" in report_segments(part).text("text")
    live = LiveReport()
    for each in late[len(late) // 3 :]:
        live.add(each)
    assert live.report().html


def test_it_says_how_to_tell_who_is_the_client() -> None:
    segments = [each for each in segments_of([named("o10_proton_rabbit_basic.pcap")]) if isinstance(each, Segment)]
    late = segments[29:]
    text = " ".join(report_segments(late).text("text").split())
    assert "nothing tells the client of 1 connection" in text and "--port names the port of the server" in text
    text = " ".join(report_segments(late, ports={56720}).text("text").split())
    assert "nothing tells" not in text


def test_diagrams_know_the_client_by_what_the_tables_know_it_by() -> None:
    segments = [each for each in segments_of([named("o10_proton_rabbit_basic.pcap")]) if isinstance(each, Segment)]
    late = segments[29:]
    (row,) = [row for table, row in replay_segments(late, ports={56720}) if table == "connections"]
    connection, *_ = row
    (alone,) = diagrams(late, [connection], Bounds())
    assert (alone.client, alone.server) == ("client", "server")
    server = next(f"{each.dst}:{each.dport}" for each in late if each.dport == 56720)
    (by_port,) = diagrams(late, [connection], Bounds(), ports=(56720,))
    (by_server,) = diagrams(late, [connection], Bounds(), servers=(server,))
    assert by_port.server == by_server.server == server
    report = report_segments(late, wanted=[connection], ports={56720})
    assert [each.server for each in report.diagrams] == [server]


def test_publishes_whose_confirms_cannot_be_matched_are_said_to_be_that() -> None:
    segments = [each for each in segments_of([named("o091_pika_confirms.pcap")]) if isinstance(each, Segment)]
    text = " ".join(report_segments(segments[29:]).text("text").split())
    assert "the outcome of 196 publishes can't be told: confirms count the publishes of a channel" in text
    assert "without a confirm" not in text


def test_histories_have_no_message_of_which_too_little_is_known() -> None:
    segments = [each for each in segments_of([named("o10_proton_rabbit_basic.pcap")]) if isinstance(each, Segment)]
    assert len(list(steps_of(replay_segments(segments[29:], ports={56720})))) > 0
    assert not list(steps_of(replay_segments(segments[29:])))
