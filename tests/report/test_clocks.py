"""What the report says of captures whose clocks differ."""

import pytest

from amqp_sansio.capture import Segment
from amqp_sansio.capture.records import ACK, SYN
from amqp_sansio_report import gather_segments
from amqp_sansio_report.findings import Finding, findings
from tests.kit.captures import named
from tests.kit.two_points import MS, SECOND, apart, moved, segment, segments_of


def halves(skew: int) -> list[Segment]:
    """A capture for each direction of a real one."""
    return apart(segments_of(named("o091_pika_nack_reject_requeue.pcap")), skew)


def of_clocks(skew: int, told: int = 0) -> list[Finding]:
    """The findings about the clocks of captures that are apart by `skew`, of which a replay was told `told`."""
    found = findings(gather_segments(halves(skew), skew_ns=told))
    return [each for each in found if "clocks" in each.text]


@pytest.mark.parametrize(("skew", "fast"), [(5 * SECOND, "b"), (-5 * SECOND, "a")])
def test_octets_given_up_for_it_are_put_down_to_it(skew: int, fast: str) -> None:
    [one] = of_clocks(skew)
    assert (one.level, one.section) == ("warning", "overview")
    assert one.text == "the clocks of a and b differ by 5 s"
    assert one.more == f"{fast} is ahead; octets may be missing for that: use --clock-skew 5.1"


def test_who_has_told_it_hears_only_of_the_times() -> None:
    [one] = of_clocks(5 * SECOND, 6 * SECOND)
    assert (one.level, one.more) == ("note", "b is ahead; times from one to the other are off by that")


def test_what_is_little_loses_nothing() -> None:
    [one] = of_clocks(-300 * MS)
    assert (one.level, one.more) == ("note", "a is ahead; times from one to the other are off by that")


def test_slow_answers_leave_a_range_and_one_answer_a_bound() -> None:
    begin = [
        segment(9 * SECOND, "c", 500, 0, SYN),
        segment(2 * SECOND, "s", 900, 501, SYN | ACK, file="b"),
        segment(10 * SECOND, "c", 501, 901, ACK),
    ]
    [one] = [each for each in findings(gather_segments(begin)) if "clocks" in each.text]
    assert one.text == "the clocks of a and b differ by 7 s to 8 s"
    [one] = [each for each in findings(gather_segments(begin[:2])) if "clocks" in each.text]
    assert one.text == "the clocks of a and b differ by 7 s or more"


def test_clocks_that_agree_are_no_finding() -> None:
    assert of_clocks(0) == []
    assert of_clocks(20_000) == []


@pytest.mark.parametrize("name", ["o091_librabbitmq_c_tools.pcap", "o091_concurrent_4_clients.pcap"])
def test_publishes_on_one_host_find_their_deliveries_on_another(name: str) -> None:
    """Where the publisher's clock is ahead, a message seems to be delivered before it's published."""
    segments = segments_of(named(name))
    wanted = gather_segments(segments).latencies["path"].count
    untold: list[int] = []
    for ahead in {each.flow for each in segments}:
        hosts = [moved(each, 5 * SECOND, "a") if each.flow == ahead else moved(each, 0, "b") for each in segments]
        untold.append(gather_segments(hosts).latencies["path"].count)
        assert gather_segments(hosts, skew_ns=6 * SECOND).latencies["path"].count == wanted, ahead
    assert min(untold) < wanted
