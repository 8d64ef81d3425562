"""Conversions from numpy to Arrow, and the calls of pyarrow whose published types are wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Column: TypeAlias = "pa.Array[Any]"
Ints: TypeAlias = npt.NDArray[np.int64]

_PA: Final[Any] = pa
_PC: Final[Any] = pc


def integers(values: npt.NDArray[np.int64] | npt.NDArray[np.int32]) -> Column:
    """Return integers of the same width."""
    return _column(_PA.array(values))


def narrow(values: Ints) -> Column:
    """Return integers of 32 bits."""
    return _column(_PA.array(values.astype(np.int32)))


def texts(values: Sequence[str]) -> Column:
    """Return strings."""
    return _column(_PA.array(values, pa.string()))


def repeated(value: str, count: int) -> Column:
    """Return a string, repeated."""
    return _column(_PA.repeat(_PA.scalar(value, pa.string()), count))


def nulls(count: int, schema: pa.Schema, name: str) -> Column:
    """Return nulls of the type that a schema names."""
    every: Any = schema
    return _column(_PA.nulls(count, every.field(name).type))


def chosen(values: Column, indices: Column) -> Column:
    """Return the values at these indices."""
    return _column(_PC.take(values, indices))


def slices(buf: bytearray, start: Ints, stop: Ints) -> Column:
    """Return the octets of `buf` from each start to its stop, without overlaps, copied once.

    It takes every second item of a list of the slices and the octets between them.
    """
    count = len(start)
    edges = np.empty(2 * count, dtype=np.int32)
    edges[0::2] = start
    edges[1::2] = stop
    buffers = [None, _PA.py_buffer(edges), _PA.py_buffer(buf)]
    every = _PA.BinaryArray.from_buffers(pa.binary(), 2 * count - 1, buffers)
    return _column(every.take(_PA.array(np.arange(0, 2 * count - 1, 2, dtype=np.int32))))


def encoded(keys: npt.NDArray[np.void]) -> tuple[list[bytes], npt.NDArray[np.int32]]:
    """Return the different keys, and the index of each key among them."""
    size = keys.dtype.itemsize
    buffers = [None, _PA.py_buffer(np.ascontiguousarray(keys))]
    array = _PA.FixedSizeBinaryArray.from_buffers(pa.binary(size), len(keys), buffers)
    found = _PC.dictionary_encode(array)
    different: list[bytes] = found.dictionary.to_pylist()
    indices: npt.NDArray[np.int32] = found.indices.to_numpy()
    return different, indices


def side_by_side(batches: Mapping[str, pa.RecordBatch], schemas: Mapping[str, pa.Schema]) -> pa.RecordBatch:
    """Return the rows of tables as structs in columns of their names, row beside row, and nulls where one has no more.

    A null takes as many octets as a row of numbers, in the batch and on its way to the JVM: rows of a table beside
    nulls for all others would take twice as long.
    """
    count = max([batch.num_rows for batch in batches.values()])
    columns: dict[str, Column] = {}
    for table, schema in schemas.items():
        batch: Any = batches.get(table)
        parts = [] if batch is None else [batch.to_struct_array()]
        if left := count - sum(map(len, parts)):
            parts.append(_PA.nulls(left, _PA.struct(schema)))
        # The longest table isn't copied.
        columns[table] = _PA.concat_arrays(parts) if len(parts) > 1 else parts[0]
    made: pa.RecordBatch = _PA.RecordBatch.from_pydict(columns)
    return made


def batch_of(columns: Mapping[str, Column], schema: pa.Schema) -> pa.RecordBatch:
    """Return the columns as a batch of that schema."""
    arrays = [columns[name] for name in schema.names]
    made: pa.RecordBatch = _PA.RecordBatch.from_arrays(arrays, schema=schema)
    return made


def sorted_rows(batches: Sequence[pa.RecordBatch], order: Ints) -> pa.RecordBatch:
    """Return the rows of all batches, in that order."""
    taken = _PA.Table.from_batches(batches).take(_PA.array(order)).combine_chunks()
    made: pa.RecordBatch = taken.to_batches()[0]
    return made


def sizes(batch: pa.RecordBatch, name: str) -> Ints:
    """Return the octets of each value of a binary column; 0 for a null."""
    found = _PC.fill_null(_PC.binary_length(batch.column(name)), 0).to_numpy()
    return np.asarray(found, dtype=np.int64)


def only(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    """Return these fields of a schema, in this order."""
    every: Any = schema
    made: pa.Schema = _PA.schema([every.field(name) for name in names])
    return made


def content(batch: pa.RecordBatch, place: int, row: int) -> Any:
    """Return a binary value as a file in memory, without copying it; None for a null."""
    every: Any = batch
    value = every.column(place)[row]
    return _PA.BufferReader(value.as_buffer()) if value.is_valid else None


def _column(made: Any) -> Column:
    column: Column = made
    return column
