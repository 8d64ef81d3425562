"""Runs the command in this process: with its streams and its exit status."""

import io
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryFile
from unittest import mock

import pytest

from amqp_sansio_cli.main import main
from tests.kit.captures import named
from tests.kit.spark_session import patient_environment

ROOT = Path(__file__).resolve().parents[2]
PATHS = (
    ".",
    "adapters/asyncio",
    "adapters/sync",
    "adapters/spark",
    "adapters/cli",
    "adapters/report",
    "adapters/arrow",
    "adapters/probe",
    "adapters/azure",
)

Run = Callable[..., subprocess.CompletedProcess[str]]
OneLine = Callable[..., str]
Refuses = Callable[[list[str], str], None]


@pytest.fixture(scope="session")
def cli_environment() -> Mapping[str, str]:
    """The environment in which the command finds these packages, installed or not."""
    environment = {**os.environ, "COLUMNS": "120"}
    environment["PYTHONPATH"] = os.pathsep.join(str(ROOT / path) for path in PATHS)
    environment.pop("PYSPARK_PYTHON", None)
    return {**environment, **patient_environment()}


@pytest.fixture(scope="session")
def cli(cli_environment: Mapping[str, str]) -> Run:
    """Call with the command's arguments; runs it in this process, which saves the start of another."""

    def run(
        *arguments: str | Path, stdin: bytes = b"", env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        with (
            pytest.MonkeyPatch.context() as patch,
            TemporaryFile() as given,
            TemporaryFile() as out,
            TemporaryFile() as err,
            mock.patch.dict(os.environ, {**cli_environment, **(env or {})}, clear=True),
        ):
            given.write(stdin)
            given.seek(0)
            for name, file in (("stdin", given), ("stdout", out), ("stderr", err)):
                patch.setattr(sys, name, io.TextIOWrapper(file, write_through=True))
            if cwd is not None:
                patch.chdir(cwd)
            status: object
            try:
                status = main([str(each) for each in arguments])
            except SystemExit as ended:
                status = ended.code
            assert isinstance(status, int)
            texts: list[str] = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode())
        return subprocess.CompletedProcess(arguments, status, *texts)

    return run


@pytest.fixture
def one_line(capfd: pytest.CaptureFixture[str]) -> OneLine:
    """Call with arguments that the command can't use; gives its line."""

    def run(*arguments: str | Path) -> str:
        status = main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        *said, last = err.splitlines()
        assert (status, out) == (2, ""), err
        assert last.startswith("amqp-sansio: ") and last.isprintable()
        # Who listens says so before anything can go wrong with the file that tells it to others.
        assert not said or (len(said) == 1 and "listening on" in said[0])
        return last

    return run


@pytest.fixture
def refuses(one_line: OneLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Refuses:
    """Call with arguments that the command can't use, and with words of its line; nothing that is there changes.

    In the arguments CAPTURE is a capture.
    """

    def run(arguments: list[str], words: str) -> None:
        monkeypatch.chdir(tmp_path)
        capture = tmp_path / "c.pcap"
        octets = named("o091_pika_basic.pcap").read_bytes()
        capture.write_bytes(octets)
        assert words in one_line(*[each.replace("CAPTURE", str(capture)) for each in arguments])
        assert capture.read_bytes() == octets
        assert [path.name for path in tmp_path.iterdir() if path.suffix == ".part"] == []

    return run
