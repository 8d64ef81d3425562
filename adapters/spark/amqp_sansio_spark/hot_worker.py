"""The tasks of `replay_hot`: files in the order of their time, one flow of them, rows out."""

from __future__ import annotations

import heapq
import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import EqualTo

from amqp_sansio.capture import Segment, sort_key

from .pieces import read_piece, whole
from .segments import ARROW_SCHEMA, from_batch
from .worker import IN_OCTETS

if TYPE_CHECKING:
    import pyarrow as pa

    from amqp_sansio_arrow.files import CaptureFile

    from .plans import Plan, Setting
    from .worker import ReplayTask

_SLACK_NS: Final = 60_000_000_000
"""Nanoseconds before a file's first packet at which the file is opened."""


class HotTask:
    """For `mapInArrow`: turns numbers of plans into the rows of their flows."""

    def __init__(self, plans: list[bytes], make: Callable[[Setting], ReplayTask]) -> None:
        self.plans = plans
        self.make = make

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Replay the flows of one partition."""
        for batch in batches:
            numbers: list[int] = batch.to_pydict()["id"]
            for number in numbers:
                plan: Plan = pickle.loads(self.plans[number])
                yield from self.make(plan.setting).run(plan.flow, in_order(plan))


def in_order(plan: Plan) -> Iterator[Segment]:
    """Yield the segments of the plan's flow in the order of reassembly, across files. Raises RuntimeError for a file
    whose packets are further out of order than the window.
    """
    waiting = sorted(plan.files, key=lambda each: (each[0], each[1].name), reverse=True)
    heads: list[tuple[tuple[Any, ...], int, Segment, Iterator[Segment]]] = []
    opened = 0
    last: tuple[Any, ...] | None = None
    while heads or waiting:
        while waiting and (not heads or waiting[-1][0] - _SLACK_NS <= heads[0][2].ts_ns):
            _, file, size = waiting.pop()
            rows = _sorted(_rows(file, size, plan), plan.window)
            segment = next(rows, None)
            if segment is not None:
                opened += 1
                heapq.heappush(heads, (sort_key(segment), opened, segment, rows))
        if not heads:
            continue
        place, number, segment, rows = heads[0]
        if last is not None and place < last:
            raise RuntimeError(
                f"amqp-capture: packet {segment.packet} of {segment.file} is out of order by more than {plan.window} "
                f"segments of {plan.flow}: replay(segments) sorts it"
            )
        last = place
        yield segment
        following = next(rows, None)
        if following is None:
            heapq.heappop(heads)
        else:
            heapq.heapreplace(heads, (sort_key(following), number, following, rows))


def _rows(file: CaptureFile, size: int, plan: Plan) -> Iterator[Segment]:
    selection = plan.options.selection.with_filters([EqualTo(("flow",), plan.flow)])
    options = plan.options._replace(selection=selection)
    for batch in read_piece(whole(file, size), options, tuple(ARROW_SCHEMA.names)):
        for flow, run in from_batch(batch, IN_OCTETS):
            if flow == plan.flow:
                for row in run:
                    assert isinstance(row, Segment)
                    yield row


def _sorted(rows: Iterable[Segment], window: int) -> Iterator[Segment]:
    """Yield the rows of one file, each of which may be up to `window` rows late, in order."""
    held: list[tuple[tuple[Any, ...], Segment]] = []
    for row in rows:
        # Rows of a file have different numbers, so segments are never compared.
        item = (sort_key(row), row)
        if len(held) < window:
            heapq.heappush(held, item)
        else:
            yield heapq.heappushpop(held, item)[1]
    while held:
        yield heapq.heappop(held)[1]


__all__ = ["HotTask", "in_order"]
