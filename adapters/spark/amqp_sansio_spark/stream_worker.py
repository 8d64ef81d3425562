"""The tasks of `replay_stream`: the new segments of a flow, and its replay's state from the last batch."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Iterator
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from amqp_sansio.capture import CaptureDamage, Segment, sort_key
from amqp_sansio.errors import LocalProtocolError
from amqp_sansio.recorded.tables import FlowReplay, damage_row
from amqp_sansio_arrow.builders import arrow_schema

from .columns import carried
from .plans import Setting
from .worker import Output

INPUT: Final = (
    *("flow", "ts_ns", "file", "packet", "src", "sport", "dst", "dport", "seq", "ack", "flags"),
    *("wire_len", "payload", "point", "damage"),
)
SCHEMA: Final = 1
"""Version of a flow's state; the replay in it has its own."""
_STATE: Final = "schema int, last_ns long, file string, packet long, replay binary"
_UNREADABLE: Final = (LocalProtocolError, AttributeError, ImportError, TypeError, ValueError, pickle.UnpicklingError)
_MILLISECOND: Final = 1_000_000
_MICROSECOND: Final = 1000


class StreamTask(StatefulProcessor):
    """Replays each flow batch by batch; the state is its pickled `FlowReplay` and the place of its last segment."""

    def __init__(self, tables: tuple[str, ...], setting: Setting, idle_seconds: int) -> None:
        self.tables = tables
        self.setting = setting
        self.idle_ms = idle_seconds * 1000

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Called first in a task."""
        self._handle = handle
        self._state: Any = handle.getValueState("replay", _STATE)
        self._makers = {table: Row(*names) for table, names in carried(self.tables).items()}

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: TimerValues) -> Iterator[Row]:
        """Take a batch of a flow."""
        flow: str | None = key[0]
        if flow is None:
            yield from self._damages(rows)
            return
        segments = sorted([Segment(*row[1:14]) for row in rows], key=sort_key)
        if not segments:
            return
        replay, last = self.load(flow)
        for segment in segments:
            place = sort_key(segment)[1:]
            if last is not None and place < last:
                if "violations" in self.tables:
                    yield self._row("violations", _late(segment, last[0]))
            else:
                last = place
        for found in replay.push_all(segments):
            for table, values in found:
                yield self._row(table, values)
        assert last is not None
        self._save(replay, last)

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Row]:
        """Give up a flow that was silent for too long."""
        flow: str = key[0]
        if self._state.exists():
            replay, _ = self.load(flow)
            for table, values in replay.finish():
                yield self._row(table, values)
            self._state.clear()

    def close(self) -> None:
        """Called last in a task."""

    def load(self, flow: str) -> tuple[FlowReplay, tuple[Any, ...] | None]:
        """Return a flow's replay and its last segment's place. Raises LocalProtocolError for another release's."""
        if not self._state.exists():
            return self.setting.flow(flow, tables=carried(self.tables)), None
        schema, last_ns, file, packet, pickled = self._state.get()
        return _read(flow, schema, pickled), (last_ns, file, packet)

    def _save(self, replay: FlowReplay, last: tuple[Any, ...]) -> None:
        pickled = pickle.dumps(replay, pickle.HIGHEST_PROTOCOL)
        self._state.update((SCHEMA, *last, pickled))
        for timer in self._handle.listTimers():
            self._handle.deleteTimer(timer)
        self._handle.registerTimer(last[0] // _MILLISECOND + self.idle_ms)

    def _damages(self, rows: Iterable[Row]) -> Iterator[Row]:
        if "violations" not in self.tables:
            return
        for row in rows:
            damage: dict[str, Any] = json.loads(row["damage"])
            found = CaptureDamage(
                row["file"], row["packet"], row["ts_ns"], damage["offset"], damage["kind"], damage["text"]
            )
            yield self._row("violations", damage_row(found)[1])

    def _row(self, table: str, values: tuple[object, ...]) -> Row:
        made: Row = self._makers[table](*values)
        if len(self.tables) == 1:
            return made
        return Row(**{name: made if name == table else None for name in self.tables})


class FinishTask:
    """A function for `mapInArrow`: turns states (flow, schema, replay) into the rows at the end of their captures."""

    def __init__(self, table: str) -> None:
        self.table = table

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Finish the flows of one partition, whose states stay as they are."""
        out = Output({self.table: arrow_schema(self.table, carried((self.table,))[self.table])})
        finished = (_read(**state).finish() for batch in batches for state in batch.to_pylist())
        yield from out.collect([row for row in rows if row[0] == self.table] for rows in finished)
        yield from out.flush()


def _read(flow: str, schema: int, replay: bytes) -> FlowReplay:
    """Return a replay from its state. Raises LocalProtocolError for another release's."""
    try:
        if schema != SCHEMA:
            raise LocalProtocolError(f"it has schema {schema}, this release reads {SCHEMA}")
        read: FlowReplay = pickle.loads(replay)
    except _UNREADABLE as error:
        raise LocalProtocolError(
            f"amqp-capture: the checkpoint's state of flow {flow} is of another release and can't be read "
            f"({error}); start the query with a new checkpoint"
        ) from None
    return read


def _late(segment: Segment, last_ns: int) -> tuple[object, ...]:
    by = (last_ns - segment.ts_ns) // _MICROSECOND
    text = (
        f"{segment.file}: packet {segment.packet} of {segment.flow} with {len(segment.payload)} octets came in a later "
        f"batch than one that is {by} microseconds younger"
    )
    return (None, None, segment.ts_ns, None, "capture/late-segment", "warning", text, None, None)


__all__ = ["INPUT", "FinishTask", "StreamTask"]
