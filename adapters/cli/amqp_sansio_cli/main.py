"""The command line: arguments, exit status, and error handling."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

from amqp_sansio import __version__

from .errors import PROGRAM, CommandError, describe, describe_fault, say

if TYPE_CHECKING:
    from pathlib import Path

TABLES = ("events", "messages", "consumers", "connections", "violations", "histories", "topology")
_TEXT = 255
"""Most octets of a name."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status.

    | status | meaning |
    |---|---|
    | 0 | done, even if the reader of standard output went away |
    | 1 | done, and `lint` or `probe` found something |
    | 2 | wrong usage, or unusable input or output |
    | 70 | an error of this program |
    | 130 | interrupted by Ctrl-C |

    From 2 on, standard error has one line about the problem.
    """
    _open_streams()
    if argv is None:
        # A process of its own, whose objects are freed by their counts: cycles are rare.
        gc.set_threshold(50_000)
    try:
        words = sys.argv[1:] if argv is None else argv
        command = next((word for word in words if not word.startswith("-")), "")
        return _run(build_parser(command).parse_args(words))
    except CommandError as error:
        say(str(error))
        return 2
    except OSError as error:
        say(describe(error))
        return 2
    except KeyboardInterrupt:
        say("interrupted")
        return 130
    except Exception as error:
        if sys.flags.dev_mode:
            raise
        say(describe_fault(error))
        return 70
    finally:
        if argv is None:
            # Nothing is left to be freed but by the end of the process.
            gc.freeze()


def build_parser(chosen: str = "") -> argparse.ArgumentParser:
    """Return the parser of all commands, with the arguments of the chosen one: those of all take milliseconds."""
    parser = _Parser(
        prog=PROGRAM,
        description="Replays, lints, reports and records AMQP traffic, probes servers, and serves a broker.",
        formatter_class=_fixed,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (what, description, add) in _COMMANDS.items():
        command = commands.add_parser(name, help=what, description=description, formatter_class=_fixed)
        if name == chosen and add is not None:
            add(command)
    return parser


def _fixed(prog: str) -> argparse.HelpFormatter:
    """Return a formatter that doesn't ask for the terminal's width: each argument is tried with one."""
    return argparse.HelpFormatter(prog, width=80)


class _Parser(argparse.ArgumentParser):
    """Reports errors in one line."""

    def error(self, message: str) -> NoReturn:
        raise CommandError(f"{message} (see {self.prog} --help)")

    def print_help(self, file: object = None) -> None:
        self.formatter_class = argparse.HelpFormatter
        _write_text(self.format_help())


class _Version(argparse.Action):
    """Prints the version."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        _write_text(f"{PROGRAM} {__version__}")
        parser.exit()


def _write_text(text: str) -> None:
    from .output import write_lines

    write_lines(text.splitlines())


def _path(text: str) -> Path:
    """Parse a path, with a module that few commands need."""
    from pathlib import Path

    return Path(text)


def _text(text: str) -> str:
    """Parse a name that AMQP can carry."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError(f"isn't UTF-8: {text!r}") from None
    if size > _TEXT:
        raise argparse.ArgumentTypeError(f"is longer than {_TEXT} octets")
    return text


def _tables(text: str) -> tuple[str, ...]:
    """Parse the names of tables."""
    names = tuple(dict.fromkeys([name.strip() for name in text.split(",")]))
    for name in names:
        if name not in TABLES:
            from difflib import get_close_matches

            near = get_close_matches(name, TABLES, 1)
            meant = f"; did you mean {near[0]}?" if near else ""
            raise argparse.ArgumentTypeError(f"there is no table {name!r}, only {', '.join(TABLES)}{meant}")
    return names


def _frames(text: str) -> int:
    """Parse a number of units in a sequence diagram."""
    if not text.isdecimal() or len(text) > 6 or not 1 <= int(text) <= 100_000:
        raise argparse.ArgumentTypeError(f"is a number from 1 to 100000, not {text!r}")
    return int(text)


def _skew(text: str) -> float:
    """Parse the seconds between clocks."""
    from amqp_sansio.recorded.tables import skew_of

    seconds = _number(text)
    try:
        skew_of(seconds)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return seconds


def _offsets(text: str) -> str:
    """Check the offsets of clocks."""
    from amqp_sansio_arrow.clocks import parse_offsets

    try:
        parse_offsets(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def _seconds(text: str) -> float:
    """Parse the seconds between two of a kind."""
    seconds = _number(text)
    if not 0 <= seconds <= 65_535:
        raise argparse.ArgumentTypeError(f"is from 0 to 65535 seconds, not {text!r}")
    return seconds


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"is a number of seconds, not {text!r}") from None


def _add_files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help="a capture, a folder, a pattern, or - for stdin")
    parser.add_argument(
        "--clock-skew",
        metavar="SECONDS",
        type=_skew,
        default=0.0,
        help="largest difference between the clocks of captures that share connections (default: 0)",
    )
    parser.add_argument(
        "--clock-offset",
        metavar="[FILE=]SECONDS",
        type=_offsets,
        default="",
        help="seconds to add to the times of a file, by its name or a pattern; several separated by commas",
    )


def _add_ports(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--port",
        metavar="PORT",
        type=_port,
        action="append",
        default=[],
        help="a port of AMQP servers beside 5671 and 5672; may be given several times",
    )


def _port(text: str) -> int:
    """Parse a TCP port."""
    if not text.isdecimal() or len(text) > 5 or not 1 <= int(text) <= 65_535:
        raise argparse.ArgumentTypeError(f"is a port from 1 to 65535, not {text!r}")
    return int(text)


def _add_listening(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--record-secrets", action="store_true", help="record SASL responses as they are (default: as asterisks)"
    )
    parser.add_argument(
        "--ready-file",
        metavar="FILE",
        type=_path,
        help="receives a line with the address once it listens, one for each --listen (port 0 takes a free one)",
    )
    parser.add_argument("--tls-cert", metavar="FILE", type=_path, help="use TLS with clients, with this certificate")
    parser.add_argument("--tls-key", metavar="FILE", type=_path, help="its key, if it is in another file")


def _add_origin(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--origin",
        metavar="ORIGIN",
        type=_text,
        action="append",
        default=[],
        help="pages from there may connect by WebSocket, such as https://app.example; may be given several times "
        "(default: pages from the same address alone)",
    )


def _add_connection(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument(
        "--connection",
        metavar="WORD",
        action="append",
        default=[],
        help=f"{what}: the beginning of an id, the client's address, or a part of its name or product",
    )


def _add_replay(replay: argparse.ArgumentParser) -> None:
    _add_files(replay)
    _add_ports(replay)
    replay.add_argument(
        "--table",
        metavar="NAME[,NAME]",
        type=_tables,
        default=(),
        help=f"{', '.join(TABLES)}: the table (default: events; of a folder: the first four), or several, for a folder",
    )
    replay.add_argument(
        "--format",
        choices=("jsonl", "csv", "table", "parquet", "arrow"),
        help="JSON lines (default), CSV, or aligned for people; of a folder's files: parquet (default), arrow, "
        "jsonl or csv",
    )
    replay.add_argument(
        "--body",
        choices=("none", "size", "base64"),
        default="size",
        help="the part of message bodies in the fields of events (default: size)",
    )
    _add_connection(replay, "print only rows of these connections")
    replay.add_argument("--engine", choices=("local", "spark"), default="local", help="where it runs")
    replay.add_argument(
        "--output",
        metavar="FILE",
        help="a file, whose ending says the format (.parquet, .arrow, .jsonl, .csv, .csv.gz, .csv.zst), or a folder/ "
        "for a file of each table",
    )


def _add_query(query: argparse.ArgumentParser) -> None:
    query.add_argument(
        "sql", metavar="SQL", help="a query over connections, events, messages, ..., or a worked query's name"
    )
    _add_files(query)
    query.add_argument(
        "--format",
        choices=("table", "jsonl", "csv"),
        default="table",
        help="aligned for people (default), or for programs",
    )
    query.add_argument("--database", metavar="FILE", help="keep all tables in this new DuckDB file")


def _add_spans(spans: argparse.ArgumentParser) -> None:
    _add_files(spans)
    where = spans.add_mutually_exclusive_group()
    where.add_argument("--output", metavar="FILE", type=_path, help="a file of OTLP's JSON lines, also .gz or .zst")
    where.add_argument("--exporter", metavar="NAME", help="an exporter of OpenTelemetry's SDK: otlp, console, ...")


def _add_lint(lint: argparse.ArgumentParser) -> None:
    _add_files(lint)
    _add_ports(lint)
    lint.add_argument(
        "--fail-on",
        choices=("error", "warning"),
        default="warning",
        help="the least severity that gives exit status 1 (default: warning)",
    )

    _add_connection(lint, "print only violations of these connections")


def _add_report(report: argparse.ArgumentParser) -> None:
    _add_files(report)
    _add_ports(report)
    report.add_argument("--output", metavar="FILE", type=_path, help="the file to write; html needs one")
    report.add_argument(
        "--format",
        choices=("html", "md", "text"),
        default="html",
        help="a page (default), or without charts: Markdown for a ticket, text for a terminal",
    )
    _add_connection(report, "draw only these connections (default: the most interesting ones)")
    report.add_argument(
        "--frames", metavar="N", type=_frames, help="most protocol units in a sequence diagram (default: 400)"
    )
    report.add_argument("--engine", choices=("local", "spark"), default="local", help="where it runs")
    report.add_argument("--every", metavar="SECONDS", type=_seconds, help="of a pipe: write what there is so often")


def _add_state(state: argparse.ArgumentParser) -> None:
    _add_files(state)
    state.add_argument(
        "--at",
        metavar="TIME",
        required=True,
        help="10:03:12.5 (UTC), 2026-11-20T10:03:12, or +12.5 (seconds after the first packet)",
    )
    state.add_argument(
        "--until", metavar="TIME", help="print what changed until then: + came, - went, ~ is different now"
    )
    state.add_argument(
        "--format", choices=("text", "jsonl"), default="text", help="for people (default), or JSON lines"
    )
    _add_connection(state, "print only these connections")


def _add_record(record: argparse.ArgumentParser) -> None:
    record.add_argument(
        "--listen",
        metavar="HOST:PORT",
        action="append",
        required=True,
        help="where clients connect; may be given several times, and a name has each of its addresses",
    )
    record.add_argument("--upstream", metavar="HOST:PORT", required=True)
    record.add_argument("--output", metavar="FILE.pcapng", type=_path, required=True)
    _add_listening(record)
    record.add_argument("--upstream-tls", action="store_true", help="use TLS with the broker, and verify it")
    record.add_argument(
        "--upstream-ca", metavar="FILE", type=_path, help="the authority of its certificate (default: the system's)"
    )


def _add_broker(broker: argparse.ArgumentParser) -> None:
    broker.add_argument(
        "--listen",
        metavar="HOST:PORT",
        action="append",
        help="default: 127.0.0.1:5672; port 0 picks a free one; may be given several times, and a name, such as "
        "localhost, has each of its addresses",
    )
    broker.add_argument(
        "--user",
        metavar="NAME:PASSWORD",
        type=_text,
        action="append",
        default=[],
        help="a user (default: guest:guest); NAME alone logs in with a client certificate",
    )
    broker.add_argument(
        "--vhost", metavar="NAME", type=_text, action="append", default=[], help="a virtual host besides /"
    )
    broker.add_argument(
        "--page", metavar="HOST:PORT", help="serve a live page about the broker, for reading with a browser (HTTP)"
    )
    broker.add_argument(
        "--management",
        metavar="HOST:PORT",
        help="serve RabbitMQ's management API (HTTP), as far as docs/management.md says",
    )
    broker.add_argument("--record", metavar="FILE.pcapng", type=_path, help="append the octets of all connections")
    _add_listening(broker)
    broker.add_argument(
        "--tls-ca",
        metavar="FILE",
        type=_path,
        help="the authority of client certificates, with which users log in by EXTERNAL",
    )
    broker.add_argument(
        "--allow-remote", action="store_true", help="listen on an address that other machines can reach"
    )
    _add_origin(broker)
    broker.add_argument("--anonymous", action="store_true", help="accept clients without a name")
    broker.add_argument(
        "--auto-create",
        action="store_true",
        help="1.0: a plain address that is unused is that of a durable queue, created on first use",
    )
    broker.add_argument(
        "--heartbeat",
        metavar="SECONDS",
        type=_seconds,
        default=60.0,
        help="proposed to clients (default: 60); 0 for none",
    )
    broker.add_argument(
        "--product",
        metavar="NAME[/VERSION]",
        type=_text,
        help="the announced product, for clients that insist on a name",
    )
    broker.add_argument(
        "--dialect",
        choices=("rabbitmq", "specification", "qpid"),
        default="",
        help=(
            "the dialect of 0-8, 0-9-1 and 0-10 (default: qpid for Qpid's clients and 0-10, rabbitmq for others); "
            "specification follows the letter: in 0-8 it locks out clients that send ticket 0"
        ),
    )
    broker.add_argument(
        "--rabbitmq",
        metavar="RELEASE",
        type=_text,
        help="the release of RabbitMQ that the broker is for clients of 0-9-1, from 3.13 to 4.3 (the default): it "
        "refuses what that refuses",
    )


def _add_azure(azure: argparse.ArgumentParser) -> None:
    azure.add_argument("--config", metavar="FILE", type=_path, help="entities: a configuration file of the emulator")
    azure.add_argument(
        "--key",
        metavar="NAME:KEY",
        type=_text,
        action="append",
        default=[],
        help="an access rule, against which tokens are checked (default: any token is taken)",
    )
    azure.add_argument(
        "--listen",
        metavar="HOST:PORT",
        action="append",
        help="default: 127.0.0.1:5672; port 0 picks a free one; may be given several times",
    )
    azure.add_argument("--page", metavar="HOST:PORT", help="serve a live page, for reading with a browser (HTTP)")
    azure.add_argument(
        "--administration",
        metavar="HOST:PORT",
        help="serve Service Bus's administration, over HTTPS with --tls-cert, else HTTP (the emulator's port: 5300)",
    )
    _add_origin(azure)
    azure.add_argument("--record", metavar="FILE.pcapng", type=_path, help="append the octets of all connections")
    _add_listening(azure)
    azure.add_argument("--allow-remote", action="store_true", help="listen on an address that other machines can reach")


def _add_probe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "url", metavar="URL", nargs="?", help="the server: amqp://user:password@host:port/vhost, or amqps"
    )
    parser.add_argument(
        "--merge", metavar="FILE", type=_path, nargs="+", help="probe nobody: put the JSON lines of runs on one page"
    )
    clients = parser.add_argument_group("a client instead of a server")
    clients.add_argument("--client", metavar="COMMAND", default="", help="the program that is the client, or runs it")
    clients.add_argument(
        "--listen",
        metavar="HOST:PORT",
        default="127.0.0.1:0",
        help="where it connects to (default: 127.0.0.1:0, a free port)",
    )
    clients.add_argument("--name", metavar="NAME", default="", help="what reports call it (default: as it says itself)")
    cases = parser.add_argument_group("cases")
    cases.add_argument(
        "--only",
        metavar="PREFIX",
        action="append",
        default=[],
        help="run the cases whose names begin so, as 0-9-1/connection; may be given more than once",
    )
    cases.add_argument(
        "--level",
        choices=("must", "should", "all"),
        default="all",
        help="run the rules from this level on (default: all)",
    )
    cases.add_argument("--gentle", action="store_true", help="leave out the cases that may harm other users")
    cases.add_argument(
        "--profile", choices=("rabbitmq", "broker-j"), default="", help="the server's documented deviations"
    )
    cases.add_argument("--seed", metavar="NUMBER", type=int, help="draws the names (default: random, and said)")
    cases.add_argument(
        "--patience", metavar="SECONDS", type=_seconds, default=5.0, help="how long an answer may take (default: 5)"
    )
    cases.add_argument(
        "--workers",
        metavar="COUNT",
        type=int,
        help="how many cases run side by side, 1 to 32 (default: 8 for servers, but those that may harm run alone; 4 "
        "for clients, each with a port of its own, and 1 where --listen names the port: the next follow it)",
    )
    cases.add_argument("--yes", action="store_true", help="don't ask before it begins")
    reports = parser.add_argument_group("reports")
    for name, what in (
        ("--junit", "write JUnit's XML"),
        ("--json", "write JSON lines, one for each case, as they come"),
        ("--html", "write one self-contained page: a matrix of rules, with sequence diagrams"),
        ("--expect", "read known failures (TOML), and fail on every difference from them"),
        ("--write-expect", "write this run's failures as such a list"),
    ):
        reports.add_argument(name, metavar="FILE", type=_path, help=what)
    reports.add_argument("--record", metavar="FOLDER", type=_path, help="write a pcapng file for each case")


_COMMANDS: Mapping[str, tuple[str, str, Callable[[argparse.ArgumentParser], None] | None]] = {
    "replay": (
        "recorded traffic as tables",
        "Prints a table of the AMQP connections in captures (pcap, pcapng, gzip of them).",
        _add_replay,
    ),
    "query": (
        "SQL over recorded traffic",
        "Runs a query in DuckDB over the tables of captures, which are connections, events, messages, consumers, "
        "violations, histories and topology, and the views unacked, rpc and open. docs/queries.md has worked queries.",
        _add_query,
    ),
    "spans": (
        "recorded traffic as OpenTelemetry spans",
        "Prints what became of every message as spans of a trace, in OTLP's JSON, a request in each line: publish, "
        "deliver, settle, redeliver, dead letter.",
        _add_spans,
    ),
    "lint": (
        "broken rules in recorded traffic",
        "Prints the violations in captures, and what services of 1.0 refused; exit status 1 if there is any.",
        _add_lint,
    ),
    "report": (
        "a page about recorded traffic, for people",
        "Writes one self-contained HTML page: findings, charts, tables, and sequence "
        "diagrams with the octets of every frame; or the findings and tables as text.",
        _add_report,
    ),
    "state": (
        "the state of recorded connections at an instant",
        "Prints what was open on recorded connections at an instant, as both ends knew it: channels or "
        "sessions, consumers or links with the room they had, deliveries held and for how long, publishes without a "
        "confirm, calls that waited, and who was blocked.",
        _add_state,
    ),
    "record": (
        "a proxy that records connections",
        "Forwards connections to a broker and appends their octets to a pcapng file, above TLS.",
        _add_record,
    ),
    "broker": (
        "a broker in memory, for tests",
        "Serves AMQP 0-8, 0-9-1, 0-10 and 1.0 on one port, from memory: for tests and demonstrations. "
        "For anything else there are RabbitMQ, Qpid and ActiveMQ Artemis.",
        _add_broker,
    ),
    "azure": (
        "Azure Service Bus or Event Hubs in memory, for tests",
        "Serves Azure Service Bus, or Event Hubs with a file of its emulator, for the SDKs of every language. "
        "docs/azure.md says what it does and what it doesn't.",
        _add_azure,
    ),
    "probe": (
        "whether a server keeps the rules of AMQP",
        "Runs cases against a server, one for each rule that can be seen from outside, legal octets and others, and "
        "judges what it does; exit status 1 if it breaks a rule. docs/probe.md explains the verdicts.",
        _add_probe,
    ),
    "demo": (
        "recorded traffic to tables in Spark, start to end",
        "Drives the embedded broker with clients of every version, records them, and replays the "
        "recording through a local Spark session.",
        None,
    ),
}
"""The help, the description and the arguments of each command."""


def _run(arguments: argparse.Namespace) -> int:
    # Each command imports only its own needs: the proxy no tables, and only two of them Spark.
    match arguments.command:
        case "replay":
            from .replay import replay_command

            return replay_command(
                arguments.files,
                tables=arguments.table,
                form=arguments.format,
                body=arguments.body,
                engine=arguments.engine,
                output=arguments.output,
                clock_skew=arguments.clock_skew,
                connections=arguments.connection,
                ports=arguments.port,
                clock_offset=arguments.clock_offset,
            )
        case "query":
            from .query import query_command

            return query_command(
                arguments.sql,
                arguments.files,
                form=arguments.format,
                clock_skew=arguments.clock_skew,
                clock_offset=arguments.clock_offset,
                file=arguments.database,
            )
        case "spans":
            from .spans import spans_command

            return spans_command(
                arguments.files,
                output=arguments.output,
                exporter=arguments.exporter,
                clock_skew=arguments.clock_skew,
                clock_offset=arguments.clock_offset,
            )
        case "lint":
            from .lint import lint_command

            return lint_command(
                arguments.files,
                fail_on=arguments.fail_on,
                clock_skew=arguments.clock_skew,
                connections=arguments.connection,
                ports=arguments.port,
                clock_offset=arguments.clock_offset,
            )
        case "report":
            from .report import report_command

            return report_command(
                arguments.files,
                output=arguments.output,
                form=arguments.format,
                connections=arguments.connection,
                frames=arguments.frames,
                engine=arguments.engine,
                clock_skew=arguments.clock_skew,
                ports=arguments.port,
                clock_offset=arguments.clock_offset,
                every=arguments.every,
            )
        case "state":
            from .state import state_command

            return state_command(
                arguments.files,
                at=arguments.at,
                until=arguments.until,
                form=arguments.format,
                connections=arguments.connection,
                clock_skew=arguments.clock_skew,
                clock_offset=arguments.clock_offset,
            )
        case "record":
            from .addresses import parse_address
            from .record import record

            return record(
                [parse_address(each) for each in arguments.listen],
                parse_address(arguments.upstream),
                arguments.output,
                arguments.ready_file,
                arguments.record_secrets,
                (arguments.tls_cert, arguments.tls_key),
                arguments.upstream_tls,
                arguments.upstream_ca,
            )
        case "broker":
            from .broker import broker_command

            return broker_command(
                arguments.listen or ["127.0.0.1:5672"],
                users=arguments.user,
                vhosts=arguments.vhost,
                page=arguments.page,
                management=arguments.management,
                record=arguments.record,
                record_secrets=arguments.record_secrets,
                ready_file=arguments.ready_file,
                tls=(arguments.tls_cert, arguments.tls_key, arguments.tls_ca),
                allow_remote=arguments.allow_remote,
                anonymous=arguments.anonymous,
                heartbeat=arguments.heartbeat,
                product=arguments.product,
                dialect=arguments.dialect,
                rabbitmq=arguments.rabbitmq,
                auto_create=arguments.auto_create,
                origins=arguments.origin,
            )
        case "azure":
            from .azure import azure_command

            return azure_command(
                arguments.listen or ["127.0.0.1:5672"],
                config=arguments.config,
                keys=arguments.key,
                page=arguments.page,
                administration=arguments.administration,
                origins=arguments.origin,
                record=arguments.record,
                record_secrets=arguments.record_secrets,
                ready_file=arguments.ready_file,
                tls=(arguments.tls_cert, arguments.tls_key, None),
                allow_remote=arguments.allow_remote,
            )
        case "probe":
            return _probe(arguments)
        case _:
            from .demo import demo_command

            return demo_command()


def _probe(arguments: argparse.Namespace) -> int:
    from .probe import Told, Wanted, merge_command, probe_client_command, probe_command

    ways = [name for name in ("url", "merge", "client") if getattr(arguments, name)]
    if len(ways) != 1:
        raise CommandError("give one of: a URL, --client, or --merge (see amqp-sansio probe --help)")
    if arguments.merge:
        return merge_command(arguments.merge, arguments.html)
    wanted = Wanted(
        junit=arguments.junit,
        json=arguments.json,
        html=arguments.html,
        record=arguments.record,
        expect=arguments.expect,
        write_expect=arguments.write_expect,
    )
    told = Told(wanted, arguments.profile, arguments.seed, arguments.patience, arguments.yes, arguments.workers)
    only, level, gentle = arguments.only, arguments.level, arguments.gentle
    if arguments.client:
        from .addresses import parse_address

        return probe_client_command(
            parse_address(arguments.listen), arguments.client, arguments.name, only=only, level=level, told=told
        )
    return probe_command(arguments.url, only=only, level=level, gentle=gentle, told=told)


def _open_streams() -> None:
    """Write UTF-8, and reserve closed standard descriptors, so that no file opened later becomes a standard stream."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
            pass
        os.close(opened)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            # The same octets on every system: Windows would write another end of lines.
            reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")
