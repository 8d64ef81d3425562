"""The states of a stream, as its workers take them up."""

import pytest

pytest.importorskip("pyspark", reason="needs the extra `spark`")

import pyarrow as pa

from amqp_sansio.capture import flow_key
from amqp_sansio.errors import LocalProtocolError


@pytest.mark.parametrize(
    ("schema", "pickled"),
    [
        (2, b""),
        (1, b"nonsense"),
        (1, b"camqp_sansio.tables\nGone\n."),
        (1, b"camqp_sansio.tables\nFlowReplay\n)\x81(I0\ntb."),
    ],
)
def test_a_state_that_another_release_wrote_is_refused_in_one_line(schema: int, pickled: bytes) -> None:
    from amqp_sansio_spark.stream_worker import FinishTask

    flow = flow_key("192.0.2.1", 1, "192.0.2.2", 2, "")
    state = pa.RecordBatch.from_pylist([{"flow": flow, "schema": schema, "replay": pickled}])
    with pytest.raises(LocalProtocolError, match="start the query with a new checkpoint") as caught:
        list(FinishTask("events")(iter([state])))
    assert "\n" not in str(caught.value)
    assert flow in str(caught.value)
