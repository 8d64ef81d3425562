"""The tasks of `histories` and `topology`: sorted rows in, rows out, in bounded batches."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, starmap
from typing import Any, ClassVar, Final

import pyarrow as pa

from amqp_sansio.capture import Segment
from amqp_sansio.recorded.histories import (
    EVENTS,
    TOPOLOGY_COLUMNS,
    Happening,
    Matcher,
    Message,
    Topology,
    TopologyFold,
    fold_topology,
)
from amqp_sansio.recorded.histories.matching import body_key
from amqp_sansio.recorded.tables import Row
from amqp_sansio_arrow.builders import arrow_schema, batch_of

from .plans import Setting
from .worker import FlowRows, Output, ReplayTask, seldom_collected

_ROWS: Final = 2000
_ACT: Final = tuple([name for name, _ in TOPOLOGY_COLUMNS])


class EventsTask(ReplayTask):
    """Makes the events of a replay that matter to the topology."""

    events: ClassVar = EVENTS


class StepsTask(EventsTask):
    """Makes the rows that histories are joined from, in one pass: messages, and acts of the topology as JSON."""

    def __init__(self, setting: Setting) -> None:
        # The row of a connection says that it has ended.
        tables = {"messages": Message._fields, "events": Happening._fields, "connections": ("connection",)}
        super().__init__(tables, setting)

    def output(self) -> Output:
        """Return what collects the rows of a partition."""
        return Output({"steps": arrow_schema("messages", Message._fields, "act")})

    def flow(self, flow: str) -> FlowRows:
        """Return the replay of a flow."""
        return _Steps(super().flow(flow))


class _Steps:
    """Folds the events in a flow's rows."""

    def __init__(self, rows: FlowRows) -> None:
        self._rows = rows
        self._folds: dict[str, TopologyFold] = {}

    def push_all(self, segments: Sequence[Segment]) -> Iterator[list[Row]]:
        return map(self._fold, self._rows.push_all(segments))

    def finish(self) -> list[Row]:
        return self._fold(self._rows.finish())

    def _fold(self, rows: list[Row]) -> list[Row]:
        made: list[Row] = []
        for table, values in rows:
            if table == "messages":
                made.append(("steps", (*values, None)))
                continue
            connection: str = values[0]
            if table == "events":
                fold = self._folds.get(connection)
                if fold is None:
                    fold = self._folds[connection] = TopologyFold(connection)
                acts = fold.push(Happening(*values))
            else:
                fold = self._folds.pop(connection, None)
                acts = [] if fold is None else fold.finish()
            made += [("steps", (*_NO_MESSAGE, json.dumps(dict(zip(_ACT, act, strict=True))))) for act in acts]
        return made


_NO_MESSAGE: Final = (None,) * len(Message._fields)


class TopologyTask:
    """A function for `mapInArrow`: turns batches of events, sorted by connection and seq, into acts of the topology."""

    @seldom_collected
    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Fold one partition."""
        events = (event for batch in batches for event in starmap(Happening, zip(*_columns(batch), strict=True)))
        yield from _batches(fold_topology(events), "topology")


class HistoryTask:
    """A function for `mapInArrow`: turns batches of a message's columns and an act as JSON into steps of histories.

    In a partition the topology comes first, then the messages body by body.
    """

    @seldom_collected
    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Join one partition."""
        yield from _batches(self._steps(batches), "histories")

    def _steps(self, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Any, ...]]:
        acts: list[tuple[Any, ...]] = []
        topology: Topology | None = None
        body: tuple[str, int] | None = None
        matcher: Matcher | None = None
        for batch in batches:
            *columns, told = _columns(batch)
            for message, act in zip(starmap(Message, zip(*columns, strict=True)), told, strict=True):
                if act is not None:
                    acts.append(tuple(map(json.loads(act).get, _ACT)))
                    continue
                if topology is None:
                    topology = Topology(acts)
                key = body_key(message)
                if matcher is None or key != body:
                    body, matcher = key, Matcher(topology)
                yield from matcher.push(message)


def _columns(batch: pa.RecordBatch) -> Sequence[list[Any]]:
    return list(batch.to_pydict().values())


def _batches(rows: Iterable[tuple[Any, ...]], table: str) -> Iterator[pa.RecordBatch]:
    schema = arrow_schema(table)
    rows = iter(rows)
    while pending := list(islice(rows, _ROWS)):
        yield batch_of(list(zip(*pending, strict=True)), schema)
