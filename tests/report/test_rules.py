"""What the page tells of rules is what docs/rules has."""

from importlib.resources import files
from pathlib import Path

from amqp_sansio_report.rules import rule_facts, rule_words

ROOT = Path(__file__).resolve().parents[2]
WRITE = "tail -qn +2 docs/rules/rules-*.csv > adapters/report/amqp_sansio_report/assets/rules.csv"


def test_the_packaged_rules_are_those_of_the_documentation() -> None:
    wanted = [
        line
        for path in sorted((ROOT / "docs" / "rules").glob("rules-*.csv"))
        for line in path.read_text().splitlines()[1:]
    ]
    packaged = files("amqp_sansio_report").joinpath("assets", "rules.csv").read_text(encoding="utf-8")
    assert packaged.splitlines() == wanted, WRITE


def test_rules_in_words() -> None:
    assert rule_words("0-9-1/basic.ack/unknown-tag") == "AMQP 0-9-1, basic.ack: binds both sides (must)"
    assert rule_words("capture/gap") == "Damage in the capture: octets are missing in the capture"
    assert rule_words("0-9-1/no.such/rule") == "AMQP 0-9-1, no.such"
    facts = rule_facts("0-10/connection.start/protocol-name")
    assert facts is not None
    assert (facts.who, facts.level, facts.reaction) == ("the server", "must", "socket close")
    receiver = rule_facts("1.0/transport/flow/delivery-count-receiver")
    assert receiver is not None and receiver.who == "the receiving side"
