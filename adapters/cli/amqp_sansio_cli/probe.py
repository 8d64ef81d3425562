"""`amqp-sansio probe`: the conformance tester against a server or a client, and the page of several runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence, Set
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple, TextIO, TypeVar

from amqp_sansio.uri import UriError, parse
from amqp_sansio_asyncio.listening import Address
from amqp_sansio_probe import (
    CASES,
    CLIENT_CASES,
    PROFILES,
    Capabilities,
    Case,
    ClientCase,
    ClientRunner,
    Command,
    Login,
    Patience,
    Result,
    Runner,
    SocketListener,
    SocketOpener,
    find_capabilities,
)
from amqp_sansio_probe.client_running import CLIENT_WORKERS
from amqp_sansio_probe.expecting import Expectations, format_expectations, parse_expectations, unexpected
from amqp_sansio_probe.recording import recording_of
from amqp_sansio_probe.records import Record, json_line, read_records, record_of
from amqp_sansio_probe.reports import Tree, badge, junit
from amqp_sansio_probe.running import MOST_WORKERS, WORKERS
from amqp_sansio_probe.verdicts import FAULTS, Unusable

from .errors import CommandError, describe, say
from .output import write_lines

_C = TypeVar("_C", Case, ClientCase)
_LAST_PORT = 65_535
_LEVELS = {"must": ("must",), "should": ("must", "should"), "all": ("must", "should", "may", "note")}


class Wanted(NamedTuple):
    """The files that a run writes; None: not wanted."""

    junit: Path | None = None
    json: Path | None = None
    html: Path | None = None
    record: Path | None = None
    expect: Path | None = None
    write_expect: Path | None = None


class Told(NamedTuple):
    """How a run is reported. `profile` names the peer's documented deviations, "" none; `yes` doesn't ask before it.

    `workers` is the number of cases that run side by side; None: as many as are sensible.
    """

    wanted: Wanted = Wanted()
    profile: str = ""
    seed: int | None = None
    patience: float = 5.0
    yes: bool = False
    workers: int | None = None

    def beside(self, usual: int) -> int:
        """Return how many cases run side by side, `usual` if nothing is said. Raises CommandError."""
        if self.workers is None:
            return usual
        if not 1 <= self.workers <= MOST_WORKERS:
            raise CommandError(f"--workers is from 1 to {MOST_WORKERS}")
        return self.workers

    def drawn(self) -> int:
        """Return the seed, a random one if none is given."""
        return int.from_bytes(os.urandom(4)) if self.seed is None else self.seed

    def ask(self, text: str) -> None:
        """Say what is about to be done, and ask a person for leave. Raises CommandError without it."""
        say(text)
        if not self.yes and sys.stdin.isatty():
            say("go on? [y/N]")
            if sys.stdin.readline().strip().lower() not in ("y", "yes"):
                raise CommandError("not begun; --yes doesn't ask")


def probe_command(url: str, *, only: Sequence[str], level: str, gentle: bool, told: Told) -> int:
    """Probe a server; return 1 if it breaks a rule, or differs from the list. Raises CommandError."""
    try:
        uri = parse(url)
    except UriError as error:
        raise CommandError(f"the URL: {error}") from None
    cases = choose(CASES, only, level)
    workers = told.beside(WORKERS)
    expected = read_expectations(told.wanted.expect)
    seed = told.drawn()
    login = Login(uri.user or "guest", "guest" if uri.password is None else uri.password, uri.vhost)
    waits = Patience(answer=told.patience)
    harm = sum(each.may_harm for each in cases)
    harming = f"{harm or 'none'} may harm others (--gentle leaves those out)"
    if gentle and harm:
        harming = f"{harm} that may harm others aren't run (--gentle)"
    told.ask(
        f"probes {uri.redacted()} with {len(cases)} cases, each on connections of its own: some send octets that no "
        f"client may, {harming}. "
        f"It declares and deletes queues and exchanges named probe-*; seed {seed}"
    )
    where = _shown(uri.host, uri.port)
    with Reports(told.wanted, len(cases), where) as reports:
        try:
            opener = SocketOpener(uri, waits.answer)
            capabilities = find_capabilities(opener, login, waits)
        except Unusable as error:
            raise reports.unbegun(str(error)) from None
        except OSError as error:
            raise reports.unbegun(describe(error)) from None
        reports.peer = str(capabilities)
        write_lines([f"{capabilities}: AMQP {', '.join(capabilities.versions)}; {', '.join(capabilities.mechanisms)}"])
        profile = PROFILES.get(told.profile)
        runner = Runner(
            opener, login, capabilities, seed=seed, patience=waits, profile=profile, workers=workers, is_gentle=gentle
        )
        ended = reports.take(runner.run(cases)) or runner.died
        refused = _refused(where, login, capabilities, {each.version for each in cases})
        about = (
            f"At {where}, seed {seed}. Versions: {', '.join(capabilities.versions) or 'none'}; "
            f"mechanisms: {', '.join(capabilities.mechanisms) or 'unknown'}; "
            f"can: {', '.join(sorted(capabilities.can)) or 'unknown'}."
        )
    return reports.end(about, ended, expected, refused)


def _refused(where: str, login: Login, capabilities: Capabilities, wanted: Set[str]) -> str:
    """Say which wanted versions the server speaks and lets nobody in, and what to do about it; "" if there are none."""
    shut = {version: reason for version, reason in capabilities.unopened if version in wanted}
    if not shut:
        return ""
    others = [each for each in capabilities.versions if each not in dict(capabilities.unopened)]
    reasons = "; ".join([f"{version}: {reason}" for version, reason in shut.items()])
    return (
        f"{where} speaks {', '.join(shut)}, and opens no connection of {'it' if len(shut) == 1 else 'them'} for the "
        f"user {login.user} and the virtual host {login.vhost!r} ({reasons}): name a user and a virtual host that it "
        f"lets in in the URL, or leave out what it doesn't open: {' '.join([f'--only {each}/' for each in others])}"
    )


def probe_client_command(listen: Address, line: str, name: str, *, only: Sequence[str], level: str, told: Told) -> int:
    """Probe a client; return 1 if it breaks a rule, or differs from the list. Raises CommandError."""
    cases = choose(CLIENT_CASES, only, level)
    expected = read_expectations(told.wanted.expect)
    waits = Patience(answer=told.patience)
    addresses = _ports(*listen, told.beside(1 if listen[1] else CLIENT_WORKERS))
    where = _shown(*listen) if len(addresses) == 1 or not listen[1] else f"{_shown(*listen)} to {addresses[-1][1]}"
    told.ask(
        f"listens at {where}, and runs {line!r} up to {3 * len(cases)} times with {len(cases)} cases, "
        f"{len(addresses)} side by side: the server says what no server may in some of them"
    )
    with Reports(told.wanted, len(cases), name or line) as reports:
        try:
            starter = Command(line)
            with ExitStack() as opened:
                listeners = [opened.enter_context(closing(SocketListener(*each))) for each in addresses]
                runner = ClientRunner(listeners, starter, patience=waits, profile=PROFILES.get(told.profile))
                versions = tuple(dict.fromkeys([each.version for each in cases]))
                problems: list[str] = []
                for ability in runner.ask(versions):
                    write_lines([f"{ability.version} {ability.skill}: {ability.problem or 'yes'}"])
                    problems.append(ability.problem)
                if all(problems):
                    raise reports.unbegun(f"the client does nothing that it is told: {problems[0]}")
                reports.peer = name or str(runner.capabilities)
                ended = reports.take(runner.run(cases))
        except Unusable as error:
            raise reports.unbegun(str(error)) from None
        about = f"The client {line!r}, at {where}; can: {', '.join(sorted(runner.capabilities.can))}."
    return reports.end(about, ended, expected)


def _ports(host: str, port: int, count: int) -> list[tuple[str, int]]:
    """Return as many addresses, from a port on; port 0 stands for any free one. Raises CommandError."""
    if port and port + count - 1 > _LAST_PORT:
        raise CommandError(f"--workers {count} needs the ports from {port} on, and the last is {_LAST_PORT}")
    return [(host, port + number if port else 0) for number in range(count)]


def _shown(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def merge_command(files: Sequence[Path], html: Path | None) -> int:
    """Write the page of several runs side by side, from their JSON lines. Raises CommandError."""
    from amqp_sansio_probe.page import matrix_page, runs_of

    if html is None:
        raise CommandError("--merge needs --html, the page to write")
    found: list[tuple[str, list[Record]]] = []
    for path in files:
        try:
            found.append((path.stem, read_records(path.read_text(encoding="utf-8").splitlines())))
        except UnicodeDecodeError:
            raise CommandError(f"{path}: isn't UTF-8") from None
        except ValueError as error:
            raise CommandError(f"{path}: {error}") from None
    runs = runs_of(found)
    _write(html, matrix_page(runs))
    write_lines([badge(each.peer, each.records) for each in runs])
    return 0


class Reports:
    """The reports of a run: the tree and the JSON lines as the cases come, the others at the end."""

    def __init__(self, wanted: Wanted, total: int, peer: str) -> None:
        self.peer = peer
        """The address or command of the peer under test; its name and version when it has told them."""
        self.results: list[Result] = []
        """Of all cases so far, for the reports that are written at the end."""
        self._wanted = wanted
        """Which reports the command was asked for, each with its path."""
        self._total = total
        """How many cases there are, for the count when a run ends early."""
        self._tree = Tree(total)
        """Makes the lines that the terminal shows as the cases come."""
        self._lines = _Lines(wanted.json)
        """Takes a record of each case at once: a run that is cut off leaves those until then."""

    def __enter__(self) -> Reports:
        # A run of minutes isn't to end with a report that can't be written.
        for path in (self._wanted.junit, self._wanted.html, self._wanted.write_expect):
            if path is not None and not path.parent.is_dir():
                raise CommandError(f"{path}: no such folder: {path.parent}")
        if self._wanted.record is not None:
            self._wanted.record.mkdir(parents=True, exist_ok=True)
        self._lines.open()
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.close()

    def take(self, results: Iterable[Result]) -> str:
        """Report results as they come; return why they ended early, "" if they didn't."""
        try:
            for result in results:
                self.results.append(result)
                record = self._record(result)
                write_lines(self._tree.lines(record))
                if self._wanted.record is not None and record.recording:
                    (self._wanted.record / record.recording).write_bytes(recording_of(result.connections))
                self._lines.write(json_line(record))
        except KeyboardInterrupt:
            return "interrupted"
        except OSError as error:
            return describe(error)
        return ""

    def unbegun(self, why: str) -> CommandError:
        """Write the other reports of a run that couldn't begin, and return the error to raise for it.

        A report of an earlier run would pass for one of this. A list of known failures is left as it is: a run without
        a case says nothing about them.
        """
        # A client's run that ended in its cases has results.
        ended = f"ended after {len(self.results)} of {self._total} cases: {why}" if self.results else why
        self._write_all([self._record(each) for each in self.results], "", ended)
        return CommandError(ended)

    def end(self, about: str, ended: str, expected: Expectations | None, refused: str = "") -> int:
        """Write the other reports; return the exit status.

        Raises CommandError if the run ended early, or `refused` says that the server lets nobody in, in some version.
        """
        records = [self._record(each) for each in self.results]
        why = self._why(ended, refused)
        self._write_all(records, about, why or refused)
        if self._wanted.write_expect is not None:
            _write(self._wanted.write_expect, format_expectations(self.results))
        write_lines([badge(self.peer, records)])
        if why:
            raise CommandError(why)
        if expected is not None:
            differences = unexpected(expected, self.results)
            for each in differences:
                say(each)
            if not refused:
                return int(bool(differences))
        if refused:
            raise CommandError(refused)
        return int(any(each.verdict in FAULTS for each in self.results))

    def _why(self, ended: str, refused: str) -> str:
        """Say why the run ended early, or no case ran; "" if neither is so."""
        if ended:
            return f"ended after {len(self.results)} of {self._total} cases: {ended}"
        if not any(each.connections for each in self.results):
            lacking = ", ".join(dict.fromkeys([each.seen for each in self.results]))
            return refused or f"no case could run: {lacking}"
        return ""

    def _write_all(self, records: Sequence[Record], about: str, ended: str) -> None:
        """Write the reports that are written at the end."""
        if self._wanted.junit is not None:
            _write(self._wanted.junit, junit(self.peer, records, ended))
        if self._wanted.html is not None:
            # Only a page needs what reports are made of.
            from amqp_sansio_probe.page import Run, matrix_page

            _write(self._wanted.html, matrix_page([Run(self.peer, records, about, ended)]))

    def _record(self, result: Result) -> Record:
        return record_of(result, self.peer, recorded=self._wanted.record is not None)


def choose(cases: Sequence[_C], only: Sequence[str], level: str) -> list[_C]:
    """Return the cases whose names begin with one of the prefixes, of these levels. Raises CommandError for none."""
    chosen = [
        each
        for each in cases
        if (not only or any(each.name.startswith(prefix) for prefix in only)) and each.level in _LEVELS[level]
    ]
    if not chosen:
        raise CommandError(f"no case begins with {' or '.join(only)}" if only else "no case is left")
    return chosen


def read_expectations(path: Path | None) -> Expectations | None:
    """Read a list of known failures; None without a path. Raises CommandError."""
    if path is None:
        return None
    try:
        return parse_expectations(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise CommandError(f"{path}: isn't UTF-8") from None
    except ValueError as error:
        raise CommandError(f"{path}: {error}") from None


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


class _Lines:
    """Writes lines to a file as they come, so that those until a crash are there; to none without a path."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        """Where the lines go; None: nobody wants them."""
        self._file: TextIO | None = None
        """Open between `open` and `close`, if there is a path."""

    def open(self) -> None:
        if self._path is not None:
            self._file = self._path.open("w", encoding="utf-8", newline="\n")

    def write(self, line: str) -> None:
        if self._file is not None:
            self._file.write(line + "\n")
            self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
