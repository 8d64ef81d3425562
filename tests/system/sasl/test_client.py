"""What the package of mechanisms loads."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_the_package_loads_no_hashing() -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); import amqp_sansio.sasl as sasl\n"
        "mechanism = sasl.choose([sasl.Plain('guest', 'guest')], 'PLAIN')\n"
        "sasl.server_mechanism('PLAIN').start(mechanism.initial()[1])\n"
        "print(*sys.modules)"
    )
    run = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    loaded = set(run.stdout.split())
    assert "amqp_sansio.sasl" in loaded
    assert loaded.isdisjoint({"hashlib", "hmac", "stringprep", "unicodedata", "base64", "binascii"})
