"""What holds the tree together and needs a process to see: what importing the core loads, what is in the wheel."""

import subprocess
import sys
import zipfile
from pathlib import Path

from tests.test_layout import CORE, ROOT, TESTING, adapter_files, module_name, python_files

IMPURE = frozenset(
    {
        *("asyncio", "socket", "ssl", "select", "selectors", "threading", "subprocess", "signal"),
        *("random", "secrets", "logging", "inspect", "dataclasses", "multiprocessing", "tempfile"),
        *("urllib.request", "http", "concurrent", "shutil", "pathlib", "pyspark", "pandas"),
    }
)
"""What must not even be loaded, by whatever way, when every core module has been imported."""


def test_importing_the_whole_core_loads_nothing_impure() -> None:
    core = [path for path in python_files(CORE) if not path.is_relative_to(TESTING)]
    names = sorted({module_name(path, ROOT) for path in core})
    lines = ["import sys", f"sys.path.insert(0, {str(ROOT)!r})"]
    lines += [*(f"import {name}" for name in names), "print(*sys.modules)"]
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", "\n".join(lines)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "amqp_sansio.versions" in run.stdout.split()
    assert IMPURE.isdisjoint(run.stdout.split())


def test_a_wheel_holds_the_packages_and_nothing_else(tmp_path: Path) -> None:
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--no-deps",
            "--no-build-isolation",
            "--wheel-dir",
            str(tmp_path),
            str(ROOT),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        entry_points = next(name for name in names if name.endswith("entry_points.txt"))
        scripts = archive.read(entry_points).decode()
    folders = {name.partition("/")[0] for name in names}
    packages = {name for name in folders if not name.endswith(".dist-info")}
    expected = {"amqp_sansio", *(path.relative_to(base).parts[0] for path, base in adapter_files())}
    assert packages == expected
    assert "amqp_sansio/py.typed" in names
    in_wheel = {name for name in names if name.endswith(".py")}
    in_tree = {str(path.relative_to(ROOT)) for path in python_files(CORE)}
    in_tree |= {str(path.relative_to(base)) for path, base in adapter_files()}
    assert in_wheel == in_tree
    assert "amqp-sansio = amqp_sansio_cli.main:main" in scripts
    assert "amqp_sansio = amqp_sansio_pytest.plugin" in scripts
