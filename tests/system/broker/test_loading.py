"""What a broker's settings load, in a fresh interpreter."""

import subprocess
import sys

from tests.kit.captures import ROOT


def test_settings_load_no_engine_before_a_client_wants_it() -> None:
    code = (
        "import sys; from amqp_sansio.broker import Settings; s = Settings(); s.configs_for(1);"
        "from amqp_sansio import Acceptor, AMQP_0_10; a = Acceptor(s.configs_for(1));"
        "print([name for name in sys.modules if name.startswith(('amqp_sansio.amqp_', 'amqp_sansio._classic'))]);"
        "a.receive_data(AMQP_0_10.header, 0.0);"
        "print(sorted({name.split('.')[1] for name in sys.modules if name.startswith('amqp_sansio.amqp_')}))"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.split("\n")[:2] == ["[]", "['amqp_0_10']"]
