"""Jars from Maven Central: the class path of a POM's dependencies, and what is compiled against it."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.interop.brokers.process import BUILD, BrokerError, apt_install, installing, run_install

JAVA = BUILD / "java"


def class_path(what: str, pom: Path) -> str:
    """Resolve the jars into Maven's own cache, once for each text of the POM; the class path. Raises BrokerError."""
    # Maven's cache isn't made for two at once.
    with installing("maven"):
        return _class_path(what, pom)


def _class_path(what: str, pom: Path) -> str:
    found = JAVA / f"{digest_of(pom.read_bytes())}.classpath"
    if found.exists():
        text = found.read_text()
        if all(Path(jar).exists() for jar in text.split(os.pathsep)):
            return text
    if shutil.which("mvn") is None:
        apt_install("maven")
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "classpath"
        command = ["mvn", "-q", "-B", "-ntp", "-f", str(pom), f"-Dmdep.outputFile={output}"]
        goal = "dependency:build-classpath"
        try:
            run_install(what, [*command, "-o", goal], pauses=())
        except BrokerError:
            run_install(what, [*command, goal])
        text = output.read_text().strip()
    JAVA.mkdir(parents=True, exist_ok=True)
    found.write_text(text)
    return text


def compiled(what: str, sources: Sequence[Path], jars: str, *, lint: str = "all") -> Path:
    """The folder of the classes of some sources, compiled once for each text of them. Raises BrokerError.

    A warning of a kind in `lint`, as javac writes it, is an error.
    """
    digest = digest_of(jars.encode(), *(source.read_bytes() for source in sources))
    folder = JAVA / f"{digest}.classes"
    with installing(folder.name):
        if folder.exists():
            return folder
        JAVA.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=JAVA) as scratch:
            made = Path(scratch) / "classes"
            options = [f"-Xlint:{lint}", "-Werror", "-cp", jars, "-d", str(made)]
            run_install(what, ["javac", *options, *map(str, sources)], pauses=())
            made.rename(folder)
    return folder


def digest_of(*texts: bytes) -> str:
    """A name that other texts don't have."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(hashlib.sha256(text).digest())
    return digest.hexdigest()[:16]
