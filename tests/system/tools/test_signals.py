"""The suite doesn't depend on the signals that whatever started it ignores."""

import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
INTERRUPTED = "tests/system/cli/test_faults.py::test_ctrl_c_is_one_line"


def test_a_suite_in_the_background_interrupts_what_it_starts() -> None:
    """A shell without job control starts `command &` so that it ignores SIGINT, and all its children with it."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", INTERRUPTED],
        cwd=ROOT,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
