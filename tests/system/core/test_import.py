"""Import: what importing one version loads, and what it must not."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

ALLOWED = "__future__, enum, collections.abc, types, struct, math, zlib"
"""The modules of the standard library that a core for one version may load, with what they load."""


def loaded(module: str) -> set[str]:
    """What `module` loads in a fresh interpreter beside what is allowed."""
    script = (
        f"import {ALLOWED}, sys; sys.path.insert(0, {str(ROOT)!r}); before = set(sys.modules); "
        f"import {module}; print(*sorted(set(sys.modules) - before))"
    )
    run = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return set(run.stdout.split())


@pytest.mark.parametrize(
    ("module", "other"),
    [("amqp_sansio.amqp_0_9_1", "amqp_sansio.amqp_0_8"), ("amqp_sansio.amqp_0_8", "amqp_sansio.amqp_0_9_1")],
)
def test_a_version_loads_itself_only(module: str, other: str) -> None:
    found = loaded(module)
    assert module in found
    assert not {name for name in found if not name.startswith("amqp_sansio")}
    assert not {name for name in found if name.startswith(other)}


@pytest.mark.parametrize("version", ["amqp_0_8", "amqp_0_9_1", "amqp_0_10", "amqp_1_0"])
def test_a_connection_loads_no_typing(version: str) -> None:
    found = loaded(f"amqp_sansio.sasl, amqp_sansio.{version} as version; version.Connection")
    assert f"amqp_sansio.{version}" in found
    assert "typing" not in found


@pytest.mark.parametrize("unwanted", ["observer", "recorded", "capture", "amqp_0_8"])
def test_a_client_does_not_load_what_only_others_need(unwanted: str) -> None:
    found = loaded("amqp_sansio.amqp_0_9_1")
    assert not {name for name in found if name.startswith(f"amqp_sansio.{unwanted}")}


def test_the_shared_names_load_no_engine() -> None:
    found = loaded("amqp_sansio")
    assert "amqp_sansio.negotiation" in found
    assert not {name for name in found if name.startswith("amqp_sansio._classic")}


ENGINES = ("_classic", "amqp_0_10", "amqp_1_0")
PARTS = frozenset({"broker", "capture", "client", "messaging", "observer", "testing"})
"""Parts of the core that not everybody needs; a client's own modules for one version are parts of their own."""
SASL = frozenset({"_key_book", "_saslprep", "_scram", "_scram_math", "_scram_server", "_server", "_steps", "_tokens"})
"""The modules of `sasl` that a login by a password needs none of."""
CLASSIC = frozenset({"_classic.codec", "_classic.model", "_classic.endpoint"})
TEN = frozenset({"amqp_0_10.codec", "amqp_0_10.model", "amqp_0_10.endpoint"})
ONE = frozenset({"amqp_1_0.codec", "amqp_1_0.model", "amqp_1_0.endpoint"})
REPLAY = frozenset({"capture", "observer", "recorded.tables"})
DEFAULT = frozenset({"sasl._scram"})
"""Mechanisms of a client that is told none, beside a password in plain text."""
TABLES = frozenset({"histories", "instants", "lifecycle", "tables"})
"""The parts of what is recorded."""
CLIENT = """
from amqp_sansio import Version
from amqp_sansio.client.connecting import new_connection
from amqp_sansio.uri import parse
new_connection(Version.{}, parse("amqp://h"), {{}}, lambda octets: "a" * octets)
"""
COMMAND = """
import contextlib, io
from amqp_sansio_cli.main import main
with contextlib.redirect_stdout(io.StringIO()):
    assert main(["replay", {!r}, "--table", "events"]) == 0
"""
CAPTURES = ROOT / "tests" / "data" / "captures"


def _client(version: str) -> str:
    return CLIENT.format(version)


def _replay(capture: str) -> str:
    return COMMAND.format(str(CAPTURES / capture))


ENTRIES: dict[str, tuple[str, frozenset[str]]] = {
    "0-9-1": ("import amqp_sansio.amqp_0_9_1", CLASSIC),
    "0-10, records only": ("from amqp_sansio.amqp_0_10 import Message", frozenset({"amqp_0_10.codec"})),
    "0-10": ("from amqp_sansio.amqp_0_10 import Connection", TEN),
    "1.0, messages only": ("from amqp_sansio.amqp_1_0 import Message", frozenset({"amqp_1_0.codec"})),
    "1.0": ("from amqp_sansio.amqp_1_0 import Connection", ONE),
    "captures": ("import amqp_sansio.capture", frozenset({"capture"})),
    "tables": ("import amqp_sansio.recorded.tables", REPLAY),
    "a client in asyncio": ("from amqp_sansio_asyncio import connect", frozenset({"client"})),
    "a client of 0-8": (_client("AMQP_0_8"), CLASSIC | {"client", "client.classic"} | DEFAULT),
    "a client of 0-9-1": (_client("AMQP_0_9_1"), CLASSIC | {"client", "client.classic"} | DEFAULT),
    "a client of 0-10": (_client("AMQP_0_10"), TEN | {"client", "client.amqp_0_10"} | DEFAULT),
    "a client of 1.0": (_client("AMQP_1_0"), ONE | {"client", "client.amqp_1_0"} | DEFAULT),
    "a client of SCRAM": (
        "from amqp_sansio.sasl import client_mechanisms\nclient_mechanisms(['scram-sha-256'])",
        frozenset({"sasl._scram"}),
    ),
    "a client of OAuth 2.0": (
        "from amqp_sansio.sasl import client_mechanisms\nclient_mechanisms(['oauthbearer'])",
        frozenset({"sasl._tokens"}),
    ),
    "a blocking client": ("from amqp_sansio_sync import connect", CLASSIC | {"client", "client.classic"}),
    "a replay of 0-9-1": (
        _replay("o091_pika_ipv6.pcap"),
        REPLAY | {"_classic.codec", "_classic.model", "_classic.observer"},
    ),
    "a replay of 0-10": (
        _replay("o010_messaging_release_reject.pcap"),
        REPLAY | {"amqp_0_10.codec", "amqp_0_10.model", "amqp_0_10.observer"},
    ),
    "a replay of 1.0": (
        _replay("o10_proton_rabbit_dispositions.pcap"),
        REPLAY | {"amqp_1_0.codec", "amqp_1_0.model", "amqp_1_0.observer"},
    ),
}
"""What each entry loads of the engines and of what not everybody needs."""


def _part(name: str) -> str | None:
    """The part that a module belongs to, if not everybody needs it."""
    _, part, room, *_ = *name.split("."), "", ""
    if part in ENGINES or (part == "client" and room in {"classic", *ENGINES}):
        return f"{part}.{room}" if room else None
    if part == "recorded":
        return f"{part}.{room}" if room in TABLES else None
    if part == "sasl":
        return f"{part}.{room}" if room in SASL else None
    return part if part in PARTS else None


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_loads_what_it_needs(entry: str) -> None:
    """An endpoint doesn't load observers, an observer no endpoint, and nobody the version of somebody else."""
    code, expected = ENTRIES[entry]
    script = f"{code}\nimport sys\nprint(*sorted(sys.modules))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    names = [name for name in run.stdout.split() if name.startswith("amqp_sansio.")]
    assert {part for part in map(_part, names) if part} == expected
    if entry == "a client of 0-9-1":
        assert not {name for name in names if "0_8" in name}
