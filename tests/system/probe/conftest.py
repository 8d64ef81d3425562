"""The command as a process, and a broker for it."""

from tests.cli.conftest import cli_environment as cli_environment
from tests.system.cli.conftest import process as process
from tests.system.cli.conftest import start as start
