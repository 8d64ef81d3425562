"""The command line: arguments, exit status, and error handling."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from amqp_sansio import __version__

from .errors import PROGRAM, CommandError, describe, describe_fault, say

TABLES = ("events", "messages", "connections", "violations")
_TEXT = 255
"""Most octets of a name."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status.

    | status | meaning |
    |---|---|
    | 0 | done, even if the reader of standard output went away |
    | 1 | done, and `lint` found something |
    | 2 | wrong usage, or unusable input or output |
    | 70 | an error of this program |
    | 130 | interrupted by Ctrl-C |

    From 2 on, standard error has one line about the problem.
    """
    _open_streams()
    try:
        return _run(build_parser().parse_args(argv))
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


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = _Parser(prog=PROGRAM, description="Replays, lints, reports and records AMQP traffic, and serves a broker.")
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    replay = commands.add_parser(
        "replay",
        help="recorded traffic as tables",
        description="Prints a table of the AMQP connections in captures (pcap, pcapng, gzip of them).",
    )
    _add_files(replay)
    replay.add_argument(
        "--table",
        choices=(*TABLES, "histories"),
        help="the table (default: events); histories: each message on all its connections",
    )
    replay.add_argument(
        "--format", choices=("jsonl", "csv", "table"), help="JSON lines (default), CSV, or aligned for people"
    )
    replay.add_argument(
        "--body",
        choices=("none", "size", "base64"),
        default="size",
        help="the part of message bodies in the fields of events (default: size)",
    )
    _add_connection(replay, "print only rows of these connections")
    replay.add_argument("--engine", choices=("local", "spark"), default="local", help="where it runs")
    replay.add_argument("--output", metavar="DIR", type=Path, help="with --engine spark: the folder for Parquet files")

    lint = commands.add_parser(
        "lint",
        help="broken rules in recorded traffic",
        description="Prints the violations in captures; exit status 1 if there are any.",
    )
    _add_files(lint)
    lint.add_argument(
        "--fail-on",
        choices=("error", "warning"),
        default="warning",
        help="the least severity that gives exit status 1 (default: warning)",
    )

    _add_connection(lint, "print only violations of these connections")

    report = commands.add_parser(
        "report",
        help="a page about recorded traffic, for people",
        description="Writes one self-contained HTML page: findings, charts, tables, and sequence "
        "diagrams with the octets of every frame; or the findings and tables as text.",
    )
    _add_files(report)
    report.add_argument("--output", metavar="FILE", type=Path, help="the file to write; html needs one")
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

    state = commands.add_parser(
        "state",
        help="the state of recorded connections at an instant",
        description="Prints what was open on recorded connections at an instant, as both ends knew it: channels or "
        "sessions, consumers or links with the room they had, deliveries held and for how long, publishes without a "
        "confirm, calls that waited, and who was blocked.",
    )
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

    record = commands.add_parser(
        "record",
        help="a proxy that records connections",
        description="Forwards connections to a broker and appends their octets to a pcapng file, above TLS.",
    )
    record.add_argument("--listen", metavar="HOST:PORT", required=True)
    record.add_argument("--upstream", metavar="HOST:PORT", required=True)
    record.add_argument("--output", metavar="FILE.pcapng", type=Path, required=True)
    _add_listening(record)
    record.add_argument("--upstream-tls", action="store_true", help="use TLS with the broker, and verify it")
    record.add_argument(
        "--upstream-ca", metavar="FILE", type=Path, help="the authority of its certificate (default: the system's)"
    )

    broker = commands.add_parser(
        "broker",
        help="a broker in memory, for tests",
        description="Serves AMQP 0-8, 0-9-1, 0-10 and 1.0 on one port, from memory: for tests and demonstrations. "
        "For anything else there are RabbitMQ, Qpid and ActiveMQ Artemis.",
    )
    broker.add_argument(
        "--listen",
        metavar="HOST:PORT",
        default="127.0.0.1:5672",
        help="default: 127.0.0.1:5672; port 0 picks a free one",
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
    broker.add_argument("--record", metavar="FILE.pcapng", type=Path, help="append the octets of all connections")
    _add_listening(broker)
    broker.add_argument(
        "--tls-ca",
        metavar="FILE",
        type=Path,
        help="the authority of client certificates, with which users log in by EXTERNAL",
    )
    broker.add_argument(
        "--allow-remote", action="store_true", help="listen on an address that other machines can reach"
    )
    broker.add_argument("--anonymous", action="store_true", help="accept clients without a name")
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
        help="the dialect of 0-8 and 0-9-1 (default: qpid for Qpid's clients, rabbitmq for others)",
    )

    commands.add_parser(
        "demo",
        help="recorded traffic to tables in Spark, start to end",
        description="Drives the embedded broker with clients of every version, records them, and replays the "
        "recording through a local Spark session.",
    )
    return parser


class _Parser(argparse.ArgumentParser):
    """Reports errors in one line."""

    def error(self, message: str) -> NoReturn:
        raise CommandError(f"{message} (see {self.prog} --help)")

    def print_help(self, file: object = None) -> None:
        _write_text(self.format_help())


class _Version(argparse.Action):
    """Prints the version."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        _write_text(f"{PROGRAM} {__version__}")
        parser.exit()


def _write_text(text: str) -> None:
    from .output import write_lines

    write_lines(text.splitlines())


def _text(text: str) -> str:
    """Parse a name that AMQP can carry."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError(f"isn't UTF-8: {text!r}") from None
    if size > _TEXT:
        raise argparse.ArgumentTypeError(f"is longer than {_TEXT} octets")
    return text


def _frames(text: str) -> int:
    """Parse a number of units in a sequence diagram."""
    if not text.isdecimal() or len(text) > 6 or not 1 <= int(text) <= 100_000:
        raise argparse.ArgumentTypeError(f"is a number from 1 to 100000, not {text!r}")
    return int(text)


def _skew(text: str) -> float:
    """Parse the seconds between clocks."""
    from amqp_sansio.tables import skew_of

    seconds = _number(text)
    try:
        skew_of(seconds)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return seconds


def _offsets(text: str) -> str:
    """Check the offsets of clocks."""
    from amqp_sansio_spark.clocks import parse_offsets

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


def _add_listening(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--record-secrets", action="store_true", help="record SASL responses as they are (default: as asterisks)"
    )
    parser.add_argument(
        "--ready-file", metavar="FILE", type=Path, help="receives the address once it listens (port 0 takes a free one)"
    )
    parser.add_argument("--tls-cert", metavar="FILE", type=Path, help="use TLS with clients, with this certificate")
    parser.add_argument("--tls-key", metavar="FILE", type=Path, help="its key, if it is in another file")


def _add_connection(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument(
        "--connection",
        metavar="WORD",
        action="append",
        default=[],
        help=f"{what}: the beginning of an id, the client's address, or a part of its name or product",
    )


def _run(arguments: argparse.Namespace) -> int:
    # Each command imports only its own needs: the proxy no tables, and only two of them Spark.
    match arguments.command:
        case "replay":
            from .replay import replay_command

            return replay_command(
                arguments.files,
                table=arguments.table,
                form=arguments.format,
                body=arguments.body,
                engine=arguments.engine,
                output=arguments.output,
                clock_skew=arguments.clock_skew,
                connections=arguments.connection,
                clock_offset=arguments.clock_offset,
            )
        case "lint":
            from .lint import lint_command

            return lint_command(
                arguments.files,
                fail_on=arguments.fail_on,
                clock_skew=arguments.clock_skew,
                connections=arguments.connection,
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
            from .record import parse_address, record

            return record(
                parse_address(arguments.listen),
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
                arguments.listen,
                users=arguments.user,
                vhosts=arguments.vhost,
                page=arguments.page,
                record=arguments.record,
                record_secrets=arguments.record_secrets,
                ready_file=arguments.ready_file,
                tls=(arguments.tls_cert, arguments.tls_key, arguments.tls_ca),
                allow_remote=arguments.allow_remote,
                anonymous=arguments.anonymous,
                heartbeat=arguments.heartbeat,
                product=arguments.product,
                dialect=arguments.dialect,
            )
        case _:
            from .demo import demo_command

            return demo_command()


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
            reconfigure(encoding="utf-8", errors="backslashreplace")
