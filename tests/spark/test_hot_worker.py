"""The packets of one flow in the order of reassembly, as the task reads them that replays a hot flow alone."""

from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="needs the extra `spark`")

from amqp_sansio.capture import Segment, sort_key
from amqp_sansio_arrow.files import CaptureFile
from amqp_sansio_spark.hot_worker import in_order
from amqp_sansio_spark.options import parse_options
from amqp_sansio_spark.plans import Plan, Setting
from tests.kit.rotated import paths_of, rotate
from tests.kit.tables import segments_of

pytestmark = pytest.mark.usefixtures("reading_clock")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The captures, of which one is cut in three rotated files, and two have packets out of order."""
    rotate(tmp_path)
    return tmp_path


def plan(folder: Path, window: int) -> Plan:
    found = [each for each in segments_of(paths_of(folder)) if isinstance(each, Segment)]
    flow = next(each.flow for each in found if each.file.startswith("o091_pika_nack"))
    files = tuple([(0, CaptureFile(str(path), path.name), path.stat().st_size) for path in paths_of(folder)])
    return Plan(flow, files, parse_options({}), Setting(), window)


def test_the_order_is_that_of_reassembly(folder: Path) -> None:
    chosen = plan(folder, 10_000)
    expected = [
        each for each in segments_of(paths_of(folder)) if isinstance(each, Segment) and each.flow == chosen.flow
    ]
    assert list(in_order(chosen)) == sorted(expected, key=sort_key)


def test_packets_too_far_out_of_order_are_told(folder: Path) -> None:
    with pytest.raises(RuntimeError, match=r"packet \d+ of o091_pika_nack_reject_requeue.pcap is out of order"):
        list(in_order(plan(folder, 2)))
