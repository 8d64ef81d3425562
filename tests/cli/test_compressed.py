"""Captures compressed by gzip, zstd or lz4: read where a library is installed, else the pipe to use is named."""

import gzip
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import zstandard

from amqp_sansio.capture import CaptureDamage, NotACapture, read_segments
from amqp_sansio_arrow import compressed
from tests.kit.captures import named

BASIC = "o091_pika_basic.pcap"


def _zstd(data: bytes) -> bytes:
    octets: bytes = zstandard.ZstdCompressor().compress(data)
    return octets


def _lz4(data: bytes) -> bytes:
    # It has no stubs.
    octets: bytes = import_module("lz4.frame").compress(data)
    return octets


def _no_module(name: str) -> None:
    """No library is installed."""


PACK: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "zstd": _zstd, "lz4": _lz4}
each_compression = pytest.mark.parametrize("name", PACK)


def _rows(data: bytes) -> list[Any]:
    return list(read_segments(data, inflaters=compressed.installed()))


@each_compression
def test_a_compressed_capture_has_the_rows_of_the_plain_one(name: str) -> None:
    plain = named(BASIC).read_bytes()
    assert _rows(PACK[name](plain)) == _rows(plain)


@each_compression
def test_several_frames_are_one_capture_however_they_are_cut(name: str) -> None:
    plain = named(BASIC).read_bytes()
    packed = PACK[name](plain[:1000]) + PACK[name](plain[1000:])
    pieces = [packed[at : at + 7] for at in range(0, len(packed), 7)]
    assert list(read_segments(pieces, inflaters=compressed.installed())) == _rows(plain)


@each_compression
def test_what_is_before_damage_is_read(name: str) -> None:
    plain = named(BASIC).read_bytes()
    packed = PACK[name](plain[:3000]) + PACK[name](plain[3000:])
    whole = _rows(plain)
    *rows, damage = [row for row in _rows(packed[:-9]) if row in whole or isinstance(row, CaptureDamage)]
    assert isinstance(damage, CaptureDamage)
    assert damage.kind == "truncated-file"
    assert rows
    half = len(PACK[name](plain[:3000]))
    bad = packed[:half] + packed[half : half + 5] + b"\xff" * 40
    kinds = {row.kind for row in _rows(bad) if isinstance(row, CaptureDamage)}
    assert kinds & {f"bad-{name}", "truncated-file"}


@pytest.mark.parametrize("name", ["zstd", "lz4"])
def test_much_from_little_comes_in_small_pieces(name: str) -> None:
    packed = PACK[name](bytes(64 << 20))
    inflate = compressed.installed()[name]()
    sizes = [len(piece) for at in range(0, len(packed), 4096) for piece in inflate.feed(packed[at : at + 4096])]
    assert sum(sizes) == 64 << 20
    assert max(sizes) <= 33 << 20
    assert not inflate.finish()


@pytest.mark.parametrize("name", ["zstd", "lz4"])
def test_without_a_library_the_pipe_is_named(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = tmp_path / f"a.pcap.{name}"
    path.write_bytes(PACK[name](named(BASIC).read_bytes()))
    done = cli("lint", path)
    assert (done.returncode, done.stderr) == (0, "amqp-sansio: 0 errors, 0 warnings in 1 connection\n")
    monkeypatch.setattr(compressed, "_module", _no_module)
    done = cli("lint", path)
    library = {"zstd": "zstandard"}.get(name, name)
    assert done.returncode == 2
    assert done.stderr == (
        f"amqp-sansio: {path}: compressed by {name}; install {library}, or pipe it: "
        f"{name} -dc {path} | amqp-sansio replay -\n"
    )


def test_without_inflaters_the_core_says_so() -> None:
    with pytest.raises(NotACapture, match="a: compressed by zstd; pipe it: zstd -dc a"):
        list(read_segments(_zstd(b"x"), file="a"))
