"""Reports of a run: each form can be read by who reads it, and carries what the case saw."""

import json
import re
from xml.etree import ElementTree

import pytest

from amqp_sansio.capture import Segment, read_segments
from amqp_sansio_probe import Case, Result, Verdict
from amqp_sansio_probe.conversation import Conversation, Piece
from amqp_sansio_probe.expecting import Expectations, format_expectations, parse_expectations, unexpected
from amqp_sansio_probe.page import OCTETS, Run, matrix_page, runs_of
from amqp_sansio_probe.recording import file_name, recording_of
from amqp_sansio_probe.records import Record, json_line, read_records, record_of
from amqp_sansio_probe.reports import Tree, badge, junit
from amqp_sansio_probe.running import Connection
from amqp_sansio_probe.talk import HEADER
from amqp_sansio_probe.verdicts import Seen

PEER = "Liar<1> 4.1"


def result(verdict: Verdict, name: str = "a", level: str = "must", seen: str = "<b>\x00&") -> Result:
    def run(talk: Conversation) -> Seen:
        return Seen(verdict, "")

    one = Case(f"0-9-1/queue.bind/{name}", "", level, (), "A rule.", "this", run)
    pieces = (Piece("client", HEADER, 1_700_000_000_000_000_000), Piece("server", b"AMQP", 1_700_000_000_000_000_001))
    connections = () if verdict is Verdict.NOT_RUN else (Connection("127.0.0.1:4", "127.0.0.1:5", pieces, "reset"),)
    return Result(one, verdict, verdict, seen, "", connections, 0.25)


RESULTS = [result(each, each.name.lower()) for each in Verdict]
RECORDS = [record_of(each, PEER) for each in RESULTS]


def test_the_badge_counts_musts() -> None:
    line = badge(PEER, RECORDS)
    assert line.startswith("Liar<1> 4.1: 2 of 9 MUST, 1 broken, 1 harmed, 1 unclean, 1 unstable, 1 documented")


def test_a_line_of_json_has_the_octets_of_both_ways() -> None:
    line = json.loads(json_line(record_of(result(Verdict.BREAKS), PEER, recorded=True)))
    assert (line["case"], line["verdict"], line["ms"]) == ("0-9-1/queue.bind/a", "breaks", 250)
    assert [piece["octets"] for piece in line["connections"][0]["pieces"]] == [HEADER.hex(), b"AMQP".hex()]
    assert line["recording"] == "0-9-1_queue.bind_a.pcapng"


def test_junit_is_xml_whatever_the_server_said() -> None:
    suite = ElementTree.fromstring(junit(PEER, RECORDS))
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == (str(len(RESULTS)), "4", "2")
    assert [each.get("type") for each in suite.iter("failure")] == ["breaks", "unclean", "harmed", "unstable"]


@pytest.mark.parametrize("records", [[], RECORDS], ids=["before-any-case", "midway"])
@pytest.mark.parametrize("ended", ["", "can't connect to localhost:5672", "ended after 3: <b>\x00&\n"])
def test_a_run_that_ends_early_is_an_error_in_junit_and_on_the_page(records: list[Record], ended: str) -> None:
    """The reason stands behind the cases until then."""
    suite = ElementTree.fromstring(junit(PEER, records, ended))
    cases = list(suite.iter("testcase"))
    assert (suite.get("tests"), suite.get("errors")) == (str(len(cases)), str(int(bool(ended))))
    assert [each.get("name") for each in cases[: len(records)]] == [each.case for each in records]
    assert len(cases) == len(records) + bool(ended)
    messages = [each.get("message", "") for each in suite.iter("error")]
    assert len(messages) == bool(ended)
    page = matrix_page([Run(PEER, records, "", ended)])
    assert page.count('<details class="case">') == len(records)
    if ended:
        assert ended.split(":")[0] in messages[0] and ended.partition(":")[0].replace("'", "&#x27;") in page
        assert "<b>\x00" not in page and "\0" not in page


def test_records_are_read_as_they_were_written() -> None:
    recorded = [record_of(each, PEER, recorded=True) for each in RESULTS]
    assert read_records([json_line(each) for each in recorded]) == recorded


@pytest.mark.parametrize(
    "line",
    [
        *("", "{}", "[]", "null", '{"peer": 1}'),
        json_line(RECORDS[0])[:-9],
        json_line(RECORDS[0]).replace('"conforms"', '"fine"'),
        json_line(RECORDS[0]).replace('"octets": "41', '"octets": "4'),
        json_line(RECORDS[0]).replace('"sender": "client"', '"sender": "nobody"'),
        json_line(RECORDS[0]).replace('"at_ns": 1700000000000000000', '"at_ns": Infinity'),
        json_line(RECORDS[0]).replace('"ms": 250', f'"ms": 1{"0" * 400}'),
        json_line(RECORDS[0]).replace('"note": ""', f'"note": {"[" * 100_000}'),
    ],
)
def test_a_line_that_is_no_record_is_named(line: str) -> None:
    with pytest.raises(ValueError, match=r"^line 2 isn't a result of the probe$"):
        read_records([json_line(RECORDS[0]), line])


def test_the_page_escapes_what_the_server_said() -> None:
    page = matrix_page([Run(PEER, RECORDS, "<localhost>")])
    assert "<b>\x00" not in page and "Liar<1>" not in page and "<localhost>" not in page and "\0" not in page
    assert page.count('<details class="case">') == len(RESULTS)
    assert 'src="' not in page and "http://" not in page and "https://" not in page, "it is self-contained"


def test_runs_stand_side_by_side() -> None:
    other = [
        record_of(result(Verdict.BREAKS, "conforms"), "Other"),
        record_of(result(Verdict.CONFORMS, "new"), "Other"),
    ]
    runs = runs_of([("one", RECORDS), ("two", other)])
    assert [each.peer for each in runs] == [PEER, "Other"]
    page = matrix_page(runs)
    [row] = re.findall(r"<tr><th>conforms</th>.*?</tr>", page)
    assert re.findall(r">([^<>]+)</a>", row) == ["ok", "BREAKS"]
    [row] = re.findall(r"<tr><th>new</th>.*?</tr>", page)
    assert re.findall(r"<td>(.*?)</td>", row)[:2] == ["must", ""], "the first run has no such case"
    names = re.findall(r'id="(case-\d+)"', page)
    assert len(names) == len(RECORDS) + 1
    assert set(re.findall(r'href="#(case-\d+)"', page)) == set(names), "each verdict leads to its case"


def test_two_runs_of_one_peer_are_told_apart() -> None:
    assert [each.peer for each in runs_of([("one", RECORDS), ("two", RECORDS)])] == [f"{PEER} (one)", f"{PEER} (two)"]


def test_a_case_has_its_diagram_and_its_recording() -> None:
    record = record_of(result(Verdict.BREAKS), PEER, recorded=True)
    page = matrix_page([Run(PEER, [record])])
    assert "<code>0-9-1_queue.bind_a.pcapng</code>" in page and 'href="#seq-0-0-0"' in page
    found = re.search(r'<script type="application/json" id="seq-data">(.*?)</script>', page)
    assert found is not None
    [drawn] = json.loads(found[1])
    assert (drawn["id"], drawn["protocol"]) == ("0-0-0", "0-9-1")
    assert [unit[4] for unit in drawn["units"]] == ["protocol-header"]
    assert "The server sent: 4 octets that form no unit." in page


def test_long_octets_are_cut() -> None:
    pieces = (Piece("client", HEADER, 1), Piece("server", bytes(10 * OCTETS), 2))
    record = RECORDS[0]._replace(connections=(Connection("127.0.0.1:4", "127.0.0.1:5", pieces, ""),))
    page = matrix_page([Run(PEER, [record])])
    assert f"{10 * OCTETS:,} octets" in page and "00000000 " * (OCTETS // 4 + 1) not in page


def test_the_tree_says_rule_and_expectation_of_what_fails() -> None:
    tree = Tree(len(RESULTS))
    lines = [line for each in RECORDS for line in tree.lines(each)]
    assert lines[0] == "0-9-1 queue.bind" and lines.count(lines[0]) == 1
    assert sum("expected: this" in line for line in lines) == 5
    assert not any("\0" in line for line in lines)


def test_the_recording_can_be_read() -> None:
    segments = read_segments(recording_of(result(Verdict.BREAKS).connections))
    octets = b"".join([each.payload for each in segments if isinstance(each, Segment)])
    assert octets == HEADER + b"AMQP"
    assert file_name(result(Verdict.BREAKS)) == "0-9-1_queue.bind_a.pcapng"


def test_a_written_list_expects_its_own_run() -> None:
    expected = parse_expectations(format_expectations(RESULTS))
    assert len(expected.verdicts) == 4
    assert unexpected(expected, RESULTS) == []


def test_a_list_fails_on_what_is_new_what_is_over_and_another_number() -> None:
    expected = Expectations(3, {"0-9-1/queue.bind/old": Verdict.BREAKS, "0-9-1/queue.bind/gone": Verdict.UNCLEAN})
    differences = unexpected(expected, [result(Verdict.BREAKS, "new"), result(Verdict.CONFORMS, "old")])
    assert differences == [
        "0-9-1/queue.bind/new breaks, and isn't in the list",
        "0-9-1/queue.bind/old is listed as breaks, and is: conforms",
        "0-9-1/queue.bind/gone is listed, and no such case ran",
        "3 cases are listed, and 2 ran",
    ]


@pytest.mark.parametrize("verdict", [Verdict.CONFORMS, Verdict.BREAKS, Verdict.UNSTABLE, Verdict.UNCLEAN])
def test_a_case_that_is_listed_as_unstable_may_end_either_way(verdict: Verdict) -> None:
    expected = Expectations(1, {"0-9-1/queue.bind/a": Verdict.UNSTABLE})
    assert unexpected(expected, [result(verdict)]) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [("cases = ", "isn't TOML"), ('cases = "3"', "cases is a number"), ('[a]\nverdict = "fails"', "verdict is one of")],
)
def test_a_list_that_cannot_be_read(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_expectations(text)
