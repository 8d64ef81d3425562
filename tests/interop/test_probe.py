"""The prober against RabbitMQ and Broker-J: what it finds is what their lists say, and nothing else.

`expected/BROKER-VERSION.toml` has what each of them does otherwise in a version, with the case's verdict: the run fails
on what isn't listed, and on what is listed and no longer so. What may harm a broker isn't run.
"""

from pathlib import Path

import pytest

from amqp_sansio_cli.main import main
from tests.interop.brokers.brokerj import BrokerJ
from tests.interop.brokers.rabbitmq import RabbitMQ

EXPECTED = Path(__file__).parent / "expected"


def probe(url: str, broker: str, version: str, *more: str) -> int:
    """The exit status of the command for one version."""
    known = EXPECTED / f"{broker}-{version}.toml"
    return main(["probe", url, "--yes", "--gentle", "--only", f"{version}/", "--expect", str(known), *more])


@pytest.mark.parametrize("version", ["0-8", "0-9-1", "1.0"])
def test_rabbitmq_differs_as_listed(rabbitmq: RabbitMQ, version: str) -> None:
    assert probe(rabbitmq.url, "rabbitmq", version, "--profile", "rabbitmq") == 0


@pytest.mark.parametrize("version", ["0-8", "0-9-1", "0-10", "1.0"])
def test_brokerj_differs_as_listed(brokerj: BrokerJ, version: str) -> None:
    assert probe(brokerj.url, "brokerj", version, "--profile", "broker-j") == 0
