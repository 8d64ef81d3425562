"""The captures of the tests: those that the repository carries, and the big set where it is there."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
CARRIED = ROOT / "tests" / "data" / "captures"
BIG = Path(os.environ.get("AMQP_SANSIO_CAPTURES", ROOT.parent / "shared" / "captures"))

SAMPLE = (
    "o08_amqplib_brokerj_errors.pcap",
    "o08_amqplib_rabbit_tables.pcapng",
    "o09_qpidclient_brokerj.pcap",
    "o010_messaging_authfail.pcap",
    "o010_messaging_release_reject.pcap",
    "o091_pika_channel_errors.pcap",
    "o091_pika_ipv6.pcap",
    "o091_pika_mid_connection.pcap",
    "o091_pika_rst_midframe.pcapng",
    "o091_raw_wrong_headers.pcapng",
    "o091d_exchange_bigendian.pcap",
    "o091d_exchange_dup.pcap",
    "o091d_exchange_gaps_nosyn.pcap",
    "o091d_exchange_nsec.pcap",
    "o091d_exchange_reorder.pcapng",
    "o091d_exchange_reseg_overlap.pcap",
    "o091d_exchange_seqwrap.pcap",
    "o091d_exchange_snap200.pcap",
    "o10_proton_brokerj_tx.pcap",
    "o10_proton_rabbit_dispositions.pcap",
    "o10_proton_rabbit_basic.pcapng",
    "o10d_types_gap.pcap",
    "o_mixed_4_protocols.pcap",
)
"""Carried captures: of each version, format and kind of damage one, none of them long."""


def carried(pattern: str = "*.pcap*") -> list[Path]:
    """The carried capture files whose names match, sorted."""
    return sorted(CARRIED.glob(pattern))


def sampled(pattern: str = "*.pcap*") -> list[Any]:
    """Parameters: the captures of `SAMPLE` whose names match."""
    return [pytest.param(path, id=path.name) for path in carried(pattern) if path.name in SAMPLE]


def everywhere(pattern: str = "*.pcap*") -> list[Any]:
    """Parameters: every capture file there is, the carried ones first; one skip without the big set."""
    paths = carried(pattern)
    names = {path.name for path in paths}
    params = [pytest.param(path, id=path.name) for path in paths]
    if not BIG.is_dir():
        skip = pytest.mark.skip(reason=f"the big set of captures isn't there: {BIG}")
        return [*params, pytest.param(BIG, id="the-big-set", marks=skip)]
    others = sorted(path for path in BIG.glob(pattern) if path.name not in names)
    return [*params, *[pytest.param(path, id=path.name) for path in others]]


def truth(path: Path) -> dict[str, Any]:
    """What is known of a capture; `path` is any of its files."""
    return _json(path, ".json")


def oracle(path: Path) -> dict[str, Any]:
    """What tshark says of a capture; `path` is any of its files."""
    return _json(path, ".oracle.json")


def named(name: str) -> Path:
    """The capture file of that name, suffix included; skips the test where it is nowhere."""
    for folder in (CARRIED, BIG):
        if (folder / name).exists():
            return folder / name
    pytest.skip(f"{name} is not carried, and the big set of captures isn't there: {BIG}")


def _json(path: Path, suffix: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(path.with_name(path.stem + suffix).read_text())
    return loaded
