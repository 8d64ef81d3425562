"""docs/reference: a page for each package, with what people look up first at its top.

`python -m tools.docs.reference` writes the pages, `--check` compares them, and `--site build/site` says which names of
docs/public-names.txt the built site doesn't have.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

from tools.docs.pages import ROOT
from tools.engine_only import engine_only
from tools.public_names import FILE, MODULES, listed_names, names_in

FOLDER: Final = ROOT / "docs" / "reference"


class Part(NamedTuple):
    """A module on a page: `first` are the names at its top, in this order; others follow by their kind."""

    module: str
    first: tuple[str, ...] = ()


class Page(NamedTuple):
    """A page of the reference."""

    file: str
    title: str
    parts: tuple[Part, ...]
    text: str = ""


_CLASSIC: Final = ("Connection", "Channel", "Config")
_0_10: Final = ("Connection", "Session", "Config")
_1_0: Final = ("Connection", "Session", "Sender", "Receiver", "Config")
_CLIENT: Final = ("connect", "Connection", "Channel", "Consumer", "Delivery", "PublishOutcome", "RecoveryPolicy")
_RECORDS: Final = "`spec` has the records of the specification: [its page]({}_spec.md)."

PAGES: Final = (
    Page(
        "core.md",
        "The core: what all versions share",
        (
            Part("amqp_sansio"),
            *[Part(f"amqp_sansio.{name}") for name in ("endpoint", "events", "errors", "limits", "versions", "uri")],
            Part("amqp_sansio.negotiation"),
        ),
    ),
    Page("amqp_0_9_1.md", "AMQP 0-9-1", (Part("amqp_sansio.amqp_0_9_1", _CLASSIC),), _RECORDS.format("amqp_0_9_1")),
    Page("amqp_0_9_1_spec.md", "AMQP 0-9-1: the records of its specification", (Part("amqp_sansio.amqp_0_9_1.spec"),)),
    Page("amqp_0_8.md", "AMQP 0-8", (Part("amqp_sansio.amqp_0_8", _CLASSIC),), _RECORDS.format("amqp_0_8")),
    Page("amqp_0_8_spec.md", "AMQP 0-8: the records of its specification", (Part("amqp_sansio.amqp_0_8.spec"),)),
    Page("amqp_0_10.md", "AMQP 0-10", (Part("amqp_sansio.amqp_0_10", _0_10),), _RECORDS.format("amqp_0_10")),
    Page("amqp_0_10_spec.md", "AMQP 0-10: the records of its specification", (Part("amqp_sansio.amqp_0_10.spec"),)),
    Page("amqp_1_0.md", "AMQP 1.0", (Part("amqp_sansio.amqp_1_0", _1_0),), _RECORDS.format("amqp_1_0")),
    Page("amqp_1_0_spec.md", "AMQP 1.0: the records of its specification", (Part("amqp_sansio.amqp_1_0.spec"),)),
    Page(
        "messaging.md",
        "One API for all versions",
        (Part("amqp_sansio.messaging", ("Message", "Connection", "Sender", "Receiver", "Delivery")),),
        "`connect` is in `amqp_sansio_asyncio.messaging` and `amqp_sansio_sync.messaging`.",
    ),
    Page(
        "sasl.md",
        "SASL, tokens and batches",
        (
            Part("amqp_sansio.sasl"),
            Part(
                "amqp_sansio.client.amqp_1_0.cbs",
                ("Token", "TokenProvider", "SharedAccessKey", "EntraCredential", "Cbs"),
            ),
            Part("amqp_sansio.client.amqp_1_0.batches"),
        ),
    ),
    Page(
        "asyncio.md",
        "asyncio: 0-9-1, 0-8, servers, and the broker",
        (Part("amqp_sansio_asyncio", (*_CLIENT, "serve", "Server", "ServerConnection", "serve_broker")),),
        "The classes of 0-10 and 1.0 are on pages of their own.",
    ),
    Page(
        "asyncio_messaging.md",
        "asyncio: one API for all versions",
        (Part("amqp_sansio_asyncio.messaging", ("connect",)),),
    ),
    Page(
        "asyncio_0_10.md",
        "asyncio: AMQP 0-10",
        (Part("amqp_sansio_asyncio.amqp_0_10", ("connect", "Connection", "Session", "Subscription")),),
    ),
    Page(
        "asyncio_1_0.md",
        "asyncio: AMQP 1.0",
        (Part("amqp_sansio_asyncio.amqp_1_0", ("connect", "Connection", "Session", "Sender", "Receiver")),),
    ),
    Page(
        "sync.md",
        "Blocking sockets: 0-9-1 and 0-8",
        (Part("amqp_sansio_sync", _CLIENT),),
        "The classes of 0-10 and 1.0 are on pages of their own.",
    ),
    Page(
        "sync_messaging.md",
        "Blocking sockets: one API for all versions",
        (Part("amqp_sansio_sync.messaging", ("connect",)),),
    ),
    Page(
        "sync_0_10.md",
        "Blocking sockets: AMQP 0-10",
        (Part("amqp_sansio_sync.amqp_0_10", ("connect", "Connection", "Session", "Subscription")),),
    ),
    Page(
        "sync_1_0.md",
        "Blocking sockets: AMQP 1.0",
        (Part("amqp_sansio_sync.amqp_1_0", ("connect", "Connection", "Session", "Sender", "Receiver")),),
    ),
    Page(
        "broker.md",
        "The broker",
        (
            Part("amqp_sansio.broker", ("Hub", "Settings", "BrokerLimits")),
            Part("amqp_sansio.broker.nodes"),
            Part("amqp_sansio.broker.management", ("Management", "Work", "Request", "Answer", "Line")),
        ),
    ),
    Page("metrics.md", "Metrics", (Part("amqp_sansio.client.metrics"), Part("amqp_sansio.metrics"))),
    Page(
        "driving.md",
        "A client without an event loop",
        (
            *[
                Part(f"amqp_sansio.client.{name}")
                for name in (
                    *("connecting", "base_driver", "driving", "hooks"),
                    *("classic.connection", "amqp_0_10.connection", "amqp_1_0.connection"),
                )
            ],
            Part("amqp_sansio.websocket"),
        ),
        "What the adapters for asyncio and for blocking sockets are made of, and a driver of your own.",
    ),
    Page(
        "replay.md",
        "Captures, observers and tables",
        tuple(
            [
                Part(f"amqp_sansio.{name}")
                for name in (
                    *("recorded.tables", "observer", "capture", "recorded.histories"),
                    *("recorded.histories.spans", "recorded.instants", "recorded.frame_lines"),
                )
            ]
        ),
    ),
    Page(
        "arrow.md",
        "Tables without Spark",
        (
            Part("amqp_sansio_arrow", ("tables", "write")),
            Part("amqp_sansio_arrow.database"),
            Part("amqp_sansio_arrow.queries"),
        ),
    ),
    Page(
        "spark.md",
        "Spark",
        (Part("amqp_sansio_spark", ("register", "replay", "histories")), Part("pyspark_amqp_capture")),
    ),
    Page("report.md", "The report", (Part("amqp_sansio_report"),)),
    Page("probe.md", "The conformance tester", (Part("amqp_sansio_probe", ("CASES", "Runner")),)),
    Page(
        "azure.md",
        "Azure Service Bus and Event Hubs for tests",
        (
            Part("amqp_sansio_azure", ("AzureNamespace", "settings_for")),
            Part("amqp_sansio_azure.servicebus", ("ServiceBusNamespace", "Options")),
            Part("amqp_sansio_azure.eventhubs", ("EventHubsNamespace", "EventHub", "Retention")),
        ),
        "The fixtures are in `amqp_sansio_pytest`.",
    ),
    Page(
        "testing.md",
        "Testing",
        (
            Part("amqp_sansio_pytest"),
            *[Part(f"amqp_sansio.testing.{name}") for name in ("simulate", "stateful")],
            Part("amqp_sansio.testing"),
            *[Part(f"amqp_sansio.testing.amqp_{name}") for name in ("0_8", "0_9_1", "0_10", "1_0")],
            Part("amqp_sansio_asyncio.simulated"),
            *[Part(f"amqp_sansio_sync.{name}") for name in ("simulated", "system")],
        ),
    ),
)
"""All pages, in the order of the site."""


def text_of(page: Page) -> str:
    """Return the text of a page."""
    lines = [f"# {page.title}", ""]
    if page.text:
        lines += [page.text, ""]
    for part in page.parts:
        loaded = import_module(part.module)
        lines.append(f"::: {part.module}")
        names = getattr(loaded, "__all__", None)
        if names is None:
            lines.append("")
            continue
        lines += ["    options:", "      members: false", ""]
        chosen = [name for name in names if f"{part.module}.{name}" not in MODULES]
        for name in sorted(chosen, key=lambda each: _rank(part, each, getattr(loaded, each))):
            lines.append(f"::: {part.module}.{name}")
            # A hundred records have the same methods, which their base shows.
            options = ["      inherited_members: false"] if _is_alike(part.module, name) else []
            found: object = getattr(loaded, name)
            if isinstance(found, type) and (hidden := engine_only(found)):
                options.append(f'      filters: ["!^_", "!^({"|".join(sorted(hidden))})$"]')
            lines += ["    options:", *options, ""] if options else [""]
    return "\n".join(lines).rstrip() + "\n"


def _is_alike(module: str, name: str) -> bool:
    """Whether docs/public-names.txt has a class's inherited members under the name of its base alone."""
    beginning = f"{module}.{name}."
    listed = [line.removeprefix(beginning) for line in listed_names(module) if line.startswith(beginning)]
    owner: object = getattr(import_module(module), name)
    own = vars(owner) if listed else {}
    return any("(" in each for each in listed) and all("(" in each or each in own for each in listed)


def _is_error(found: object) -> bool:
    return inspect.isclass(found) and issubclass(found, BaseException)


def _rank(part: Part, name: str, found: object) -> tuple[int, int, str]:
    if name in part.first:
        return 0, part.first.index(name), name
    if inspect.isclass(found):
        return (4 if _is_error(found) else 2), 0, name
    return (1 if inspect.isroutine(found) else 3), 0, name


def missing(site: Path) -> Iterator[str]:
    """Yield the public names that the built site has no anchor for, under that name or under a base's."""
    anchors: set[str] = set()
    for path in sorted((site / "reference").glob("*.html")):
        anchors.update(re.findall(r'\bid="([^"]+)"', path.read_text(encoding="utf-8")))
    for line in names_in(FILE.read_text(encoding="utf-8")):
        if "(" not in line and line not in anchors and not _is_inherited(line, anchors):
            yield line


def _is_inherited(line: str, anchors: set[str]) -> bool:
    """Whether a member of a class, or the class, stands under a name that it is made with."""
    for module in sorted(MODULES, key=len, reverse=True):
        if line.startswith(f"{module}."):
            owner: Any = import_module(module)
            *path, last = line.removeprefix(f"{module}.").split(".")
            for each in path:
                owner = getattr(owner, each)
            if not path:
                made = getattr(owner, last)
                return f"{getattr(made, '__module__', '')}.{getattr(made, '__qualname__', '')}" in anchors
            return any(f"{base.__module__}.{base.__qualname__}.{last}" in anchors for base in owner.__mro__)
    return False


def main(arguments: list[str] | None = None) -> int:
    """Write or check the pages, or check the built site; return the exit status."""
    parser = argparse.ArgumentParser(description="Writes docs/reference from the code.")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("--site", type=Path, help="the built site, to look for every public name")
    options = parser.parse_args(arguments)
    if options.site is not None:
        gone = list(missing(options.site))
        for name in gone[:20]:
            print(f"{name} isn't in the reference", file=sys.stderr)
        if gone:
            print(f"{len(gone)} public names aren't in the reference", file=sys.stderr)
        return int(bool(gone))
    wrong = 0
    for page in PAGES:
        path = FOLDER / page.file
        text = text_of(page)
        if not options.check:
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            wrong += 1
            print(f"docs/reference/{page.file}: run python -m tools.docs.reference", file=sys.stderr)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
