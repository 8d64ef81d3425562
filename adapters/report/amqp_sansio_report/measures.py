"""Statistics of bounded size that can be merged.

Each is a function of the set of added values: neither their order nor their distribution over merged instances makes a
difference. Therefore none of them evicts by order of arrival.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Generic, TypeVar

Item = TypeVar("Item")

_STEPS: Final = 5
"""A histogram has 2 to this power buckets for each power of two: each is at most 1/32 of its value wide."""


class Histogram:
    """Counts of integers from 0 on, in buckets that are narrow for small values.

    Below 64 a bucket is one value; above, it is 1/64 to 1/32 of its values wide. `least`, `most`, `total` and `count`
    are exact.

    >>> histogram = Histogram()
    >>> for value in (10, 20, 30, 1000):
    ...     histogram.add(value)
    >>> histogram.quantile(0.5), histogram.count, histogram.most
    (20, 4, 1000)
    """

    __slots__ = ("count", "counts", "least", "most", "total")

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        """By bucket, how many values are in it."""
        self.count = 0
        """Of all values."""
        self.total = 0
        """Their exact sum."""
        self.least: int | None = None
        """The smallest; None without values."""
        self.most: int | None = None
        """The largest."""

    def add(self, value: int) -> None:
        """Count a value; a negative one counts as 0."""
        value = max(value, 0)
        index = bucket(value)
        self.counts[index] = self.counts.get(index, 0) + 1
        self.count += 1
        self.total += value
        if self.least is None or value < self.least:
            self.least = value
        if self.most is None or value > self.most:
            self.most = value

    def merge(self, other: Histogram) -> None:
        """Merge `other`."""
        for index, count in other.counts.items():
            self.counts[index] = self.counts.get(index, 0) + count
        self.count += other.count
        self.total += other.total
        if other.least is not None and other.most is not None:
            self.least = other.least if self.least is None else min(self.least, other.least)
            self.most = other.most if self.most is None else max(self.most, other.most)

    def quantile(self, share: float) -> int | None:
        """Return the value that `share` of all values don't exceed (nearest rank), within 1/64; None: no values."""
        if self.least is None or self.most is None:
            return None
        rank = max(1, -int(-share * self.count // 1))
        seen = 0
        for index in sorted(self.counts):
            seen += self.counts[index]
            if seen >= rank:
                low, high = edges(index)
                return min(max((low + high - 1) // 2, self.least), self.most)
        return self.most

    @property
    def mean(self) -> float | None:
        """The mean of all values."""
        return self.total / self.count if self.count else None


def bucket(value: int) -> int:
    """Return the number of the bucket of `value`, 0 or more."""
    shift = value.bit_length() - _STEPS - 1
    if shift <= 0:
        return value
    return (shift << _STEPS) + (value >> shift)


def edges(index: int) -> tuple[int, int]:
    """Return the least value of a bucket, and the least one beyond it."""
    shift = (index >> _STEPS) - 1
    if shift <= 0:
        return index, index + 1
    low = index - (shift << _STEPS)
    return low << shift, (low + 1) << shift


def _widths() -> tuple[int, ...]:
    """Return the usual units of nanoseconds, each a multiple of the one before."""
    small = [step * 10**power for power in range(9) for step in (1, 5)]
    seconds = (1, 5, 10, 30, 60, 300, 600, 1800, 3600, 6 * 3600, 12 * 3600, 24 * 3600)
    days = (7, 28, 280, 2800, 28_000, 280_000)
    return (*small, *(s * 10**9 for s in seconds), *(d * 24 * 3600 * 10**9 for d in days))


WIDTHS: Final = _widths()
"""The possible step widths of a series, in nanoseconds: from 1 ns on, each divides the next."""


class Series:
    """Amounts over time, in at most `limit` non-empty steps.

    The steps begin one nanosecond wide; whenever more than `limit` of them are non-empty, all become wider. The final
    width is the smallest of `WIDTHS` that suffices, whatever the order of the amounts.

    >>> series = Series(2)
    >>> for ts_ns in (1, 2, 12):
    ...     series.add(ts_ns)
    >>> series.width, series.steps()
    (5, [(0, 2), (10, 1)])
    """

    __slots__ = ("cells", "level", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        """Most steps that aren't empty."""
        self.level = 0
        """The place in `WIDTHS` of the width of a step; it only rises."""
        self.cells: dict[int, int] = {}
        """The amount of each step that isn't empty, by its number."""

    @property
    def width(self) -> int:
        """The width of a step, in nanoseconds."""
        return WIDTHS[self.level]

    def add(self, ts_ns: int, amount: int = 1) -> None:
        """Add an amount at a time (nanoseconds since 1970)."""
        index = ts_ns // WIDTHS[self.level]
        cells = self.cells
        if index in cells:
            cells[index] += amount
            return
        cells[index] = amount
        while len(self.cells) > self.limit:
            self._widen(self.level + 1)

    def merge(self, other: Series) -> None:
        """Merge `other`, which has the same limit."""
        if other.level > self.level:
            self._widen(other.level)
        ratio = WIDTHS[self.level] // WIDTHS[other.level]
        cells = self.cells
        for index, amount in other.cells.items():
            index //= ratio
            cells[index] = cells.get(index, 0) + amount
        while len(self.cells) > self.limit:
            self._widen(self.level + 1)

    def steps(self) -> list[tuple[int, int]]:
        """Return begin (nanoseconds) and amount of every non-empty step, in order."""
        width = self.width
        return [(index * width, self.cells[index]) for index in sorted(self.cells)]

    def levels(self) -> list[tuple[int, int]]:
        """Return the sum of all amounts up to the end of each step, with its begin: for amounts that come and go."""
        found: list[tuple[int, int]] = []
        level = 0
        for begin, amount in self.steps():
            level += amount
            found.append((begin, level))
        return found

    @property
    def total(self) -> int:
        """The sum of all amounts."""
        return sum(self.cells.values())

    def _widen(self, level: int) -> None:
        ratio = WIDTHS[level] // WIDTHS[self.level]
        self.level = level
        cells: dict[int, int] = {}
        for index, amount in self.cells.items():
            index //= ratio
            cells[index] = cells.get(index, 0) + amount
        self.cells = cells


class Clouds:
    """Counts of values over time: a histogram with few buckets for each step of time, with steps like `Series`.

    A bucket is a quarter of a power of two.
    """

    __slots__ = ("cells", "level", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        """Most buckets that aren't empty, of all steps together."""
        self.level = 0
        """The place in `WIDTHS` of the width of a step; it only rises."""
        self.cells: dict[tuple[int, int], int] = {}
        """The count of each step and bucket."""

    @property
    def width(self) -> int:
        """The width of a step, in nanoseconds."""
        return WIDTHS[self.level]

    def add(self, ts_ns: int, value: int) -> None:
        """Count a value (0 or more) at a time (nanoseconds since 1970)."""
        key = (ts_ns // WIDTHS[self.level], quarter(value))
        cells = self.cells
        if key in cells:
            cells[key] += 1
            return
        cells[key] = 1
        while len(self.cells) > self.limit:
            self._widen(self.level + 1)

    def merge(self, other: Clouds) -> None:
        """Merge `other`, which has the same limit."""
        if other.level > self.level:
            self._widen(other.level)
        ratio = WIDTHS[self.level] // WIDTHS[other.level]
        cells = self.cells
        for (index, value), count in other.cells.items():
            key = (index // ratio, value)
            cells[key] = cells.get(key, 0) + count
        while len(self.cells) > self.limit:
            self._widen(self.level + 1)

    def _widen(self, level: int) -> None:
        if level >= len(WIDTHS):
            self.limit = len(self.cells)  # all of time is one step: the number of values is bounded
            return
        ratio = WIDTHS[level] // WIDTHS[self.level]
        self.level = level
        cells: dict[tuple[int, int], int] = {}
        for (index, value), count in self.cells.items():
            key = (index // ratio, value)
            cells[key] = cells.get(key, 0) + count
        self.cells = cells


def quarter(value: int) -> int:
    """Return the number of a value's bucket in `Clouds`: four for each power of two."""
    value = max(value, 1)
    shift = value.bit_length() - 1
    return (shift << 2) + (((value << 2) >> shift) & 3)


def quarter_edge(index: int) -> int:
    """Return the least value of a bucket in `Clouds`."""
    shift = index >> 2
    return ((4 + (index & 3)) << shift) >> 2


_MASK: Final = (1 << 64) - 1


def priority(connection: str, number: int) -> int:
    """Return a row's pseudo-random priority, the same on every run, for samples."""
    try:
        seed = int(connection[:16], 16)
    except ValueError:
        seed = int.from_bytes(connection.encode()[:8].ljust(8, b"\0"))
    mixed = (seed ^ (number * 0x9E37_79B9_7F4A_7C15)) & _MASK
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58_476D_1CE4_E5B9) & _MASK
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D0_49BB_1331_11EB) & _MASK
    return mixed ^ (mixed >> 31)


Key = tuple[str, ...]


class Top:
    """Counts of keys, with sums of amounts; exact while there are at most `limit` different keys.

    With more, they are estimated from a sample of `limit` rows: those with the smallest priority, which is a function
    of the row; `exact` says so. `rows` and `sums` are always exact.

    >>> top = Top(10, 1)
    >>> top.add(("a",), 1, (5,))
    >>> top.add(("a",), 2, (7,))
    >>> top.ranks(3)
    [(('a',), 2, (12,))]
    """

    __slots__ = ("_counts", "_sums", "_threshold", "limit", "rows", "sample")

    def __init__(self, limit: int, amounts: int = 0) -> None:
        self.limit = limit
        """Most keys that are counted exactly, and rows of the sample."""
        self.rows = 0
        """How many were added, exactly."""
        self._sums = [0] * amounts
        """Of the amounts of all rows, exactly."""
        # By key: its count, and the sums of its amounts.
        self._counts: dict[Key, list[int]] | None = {}
        self.sample: list[tuple[int, Key, tuple[int, ...]]] = []
        """The rows of the smallest priority, once there are too many keys: priority, key, amounts."""
        self._threshold = _MASK
        """Rows above it aren't in the sample."""

    def add(self, key: Key, row: int, amounts: tuple[int, ...] = ()) -> None:
        """Count a key; `row` is the row's priority, `amounts` has one amount for each sum."""
        self.rows += 1
        _increase(self._sums, amounts)
        if row <= self._threshold:
            self.sample.append((row, key, amounts))
            if len(self.sample) >= 2 * self.limit:
                self._prune()
        counts = self._counts
        if counts is None:
            return
        known = counts.get(key)
        if known is None:
            counts[key] = [1, *amounts]
            if len(counts) > self.limit:
                self._counts = None
            return
        known[0] += 1
        _increase(known, amounts, 1)

    def merge(self, other: Top) -> None:
        """Merge `other`, which has the same limit and number of amounts."""
        self.rows += other.rows
        _increase(self._sums, other._sums)
        self.sample += other.sample
        self._prune()
        counts = self._counts
        if counts is None or other._counts is None:
            self._counts = None
            return
        for key, figures in other._counts.items():
            known = counts.get(key)
            if known is None:
                counts[key] = list(figures)
            else:
                _increase(known, figures)
        if len(counts) > self.limit:
            self._counts = None

    @property
    def sums(self) -> tuple[int, ...]:
        """The sums of the amounts of all rows."""
        return tuple(self._sums)

    @property
    def exact(self) -> bool:
        """Whether every key was counted."""
        return self._counts is not None

    @property
    def keys(self) -> int | None:
        """Number of different keys; None if there are too many to count."""
        return None if self._counts is None else len(self._counts)

    def ranks(self, most: int) -> list[tuple[Key, int, tuple[int, ...]]]:
        """Return the most frequent keys, with their counts and sums, largest first and equal ones by name."""
        counts = self._counts if self._counts is not None else self._estimate()
        ranked = sorted(counts.items(), key=lambda item: (-item[1][0], item[0]))
        return [(key, figures[0], tuple(figures[1:])) for key, figures in ranked[:most]]

    def _estimate(self) -> dict[Key, list[int]]:
        self._prune()
        found: dict[Key, list[int]] = {}
        for _, key, amounts in self.sample:
            figures = found.setdefault(key, [0] * (1 + len(amounts)))
            figures[0] += 1
            _increase(figures, amounts, 1)
        size = len(self.sample)
        return {key: [figure * self.rows // size for figure in figures] for key, figures in found.items()}

    def _prune(self) -> None:
        self.sample.sort()
        if len(self.sample) > self.limit:
            del self.sample[self.limit :]
        if len(self.sample) == self.limit:
            self._threshold = self.sample[-1][0]

    def __getstate__(self) -> tuple[Any, ...]:
        self._prune()
        return tuple([getattr(self, name) for name in self.__slots__])

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        for name, value in zip(self.__slots__, state, strict=True):
            setattr(self, name, value)


def _increase(sums: list[int], amounts: Sequence[int], start: int = 0) -> None:
    """Add the amounts to the sums, from `start` on."""
    for at, amount in enumerate(amounts, start):
        sums[at] += amount


Rank = tuple[int | str, ...]


class Largest(Generic[Item]):
    """The `limit` items of the smallest rank, and the number of all; ranks are unique.

    >>> largest = Largest[str](2)
    >>> for length, text in ((3, "abc"), (1, "a"), (2, "ab")):
    ...     largest.add((-length, text), text)
    >>> largest.items(), largest.count
    (['abc', 'ab'], 3)
    """

    __slots__ = ("_held", "count", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        """How many items are kept."""
        self.count = 0
        """How many were added."""
        self._held: list[tuple[Rank, Item]] = []
        """The items of the smallest rank, with their ranks."""

    def add(self, rank: Rank, item: Item) -> None:
        """Offer an item; the one with the smallest rank comes first."""
        self.count += 1
        held = self._held
        held.append((rank, item))
        if len(held) >= 2 * self.limit + 8:
            self._prune()

    def merge(self, other: Largest[Item]) -> None:
        """Merge `other`."""
        self.count += other.count
        self._held += other._held
        self._prune()

    def items(self) -> list[Item]:
        """Return the items, smallest rank first."""
        self._prune()
        return [item for _, item in self._held]

    @property
    def cut(self) -> int:
        """Number of items left out."""
        return max(0, self.count - self.limit)

    def _prune(self) -> None:
        self._held.sort(key=_rank)
        del self._held[self.limit :]

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items())

    def __len__(self) -> int:
        return min(self.count, self.limit)

    def __getstate__(self) -> tuple[Any, ...]:
        self._prune()
        return tuple([getattr(self, name) for name in self.__slots__])

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        for name, value in zip(self.__slots__, state, strict=True):
            setattr(self, name, value)


def _rank(held: tuple[Rank, object]) -> Rank:
    return held[0]


def rates(series: Series, width: int) -> dict[int, int]:
    """Return a series in steps of `width`, by step number: one of `WIDTHS`, at least the series' own."""
    ratio = width // series.width
    found: dict[int, int] = {}
    for index, amount in series.cells.items():
        found[index // ratio] = found.get(index // ratio, 0) + amount
    return found


def width_for(span_ns: int, steps: int, series: Iterable[Series | Clouds] = ()) -> int:
    """Return the smallest width that divides a span into at most `steps` and is no finer than any of the series."""
    least = max([span_ns // steps, 1, *(one.width for one in series)])
    return next((width for width in WIDTHS if width >= least), WIDTHS[-1])


__all__ = [
    "WIDTHS",
    "Clouds",
    "Histogram",
    "Key",
    "Largest",
    "Rank",
    "Series",
    "Top",
    "bucket",
    "edges",
    "priority",
    "quarter",
    "quarter_edge",
    "rates",
    "width_for",
]
