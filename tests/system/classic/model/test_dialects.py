"""What a process that needs one dialect loads."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]


def test_one_version_is_loaded_without_the_other() -> None:
    for name, other in (("0-9-1", "0_8"), ("0-8", "0_9_1")):
        code = (
            f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
            "from amqp_sansio._classic.codec.dialect import get_dialect\n"
            f"assert get_dialect({name!r}).methods\n"
            f"print(*[m for m in sys.modules if m.endswith('methods_{other}')])"
        )
        run = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        assert run.stdout.strip() == ""
