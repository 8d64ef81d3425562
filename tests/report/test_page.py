"""The page: whole, escaped, self-contained, small, and true to the rows."""

import json
import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from html import unescape
from pathlib import Path
from typing import Any, Final

import pytest

from amqp_sansio.recorded.tables import COLUMNS
from amqp_sansio_report import Gather, Report, gather_segments
from amqp_sansio_report.findings import findings
from amqp_sansio_report.page import page
from amqp_sansio_report.report import report_segments
from amqp_sansio_report.scales import count, octets
from tests.kit.captures import named
from tests.report.making import Outline, connection, event, message, row, rows_in, segments_in

SECOND: Final = 1_000_000_000
NAMES: Final = (
    "o091_pika_channel_errors.pcap",
    "o091_pika_connection_errors.pcap",
    "o091_pika_nack_reject_requeue.pcap",
    "o_mixed_4_protocols.pcap",
    "o010_messaging_errors.pcap",
    "o10_proton_rabbit_errors.pcap",
)
EVIL: Final = "</script><img src=x onerror=alert(1)>'\"&\u2028\u202e\x00<b>"


@cache
def report(name: str) -> Report:
    return report_segments(segments_in([named(name)]))


@pytest.mark.parametrize("name", NAMES)
def test_the_page_is_balanced_and_needs_nothing_but_itself(name: str) -> None:
    outline = Outline(report(name).html)
    tags = {tag for tag, _ in outline.elements}
    assert not tags & {"link", "img", "iframe", "object", "embed", "base", "use", "image", "foreignObject"}
    for tag, attributes in outline.elements:
        assert not [key for key in attributes if key.startswith("on") or key in ("src", "xlink:href", "action")]
        href = attributes.get("href")
        assert href is None or href.startswith("#"), (tag, href)
        assert "url(" not in (attributes.get("style") or "")
    (style,) = [text for path, text in outline.texts if path[-1:] == ["style"]]
    assert "url(" not in style and "@import" not in style
    ids = [attributes["id"] for _, attributes in outline.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(name: str) -> None:
    outline = Outline(report(name).html)
    ids = {attributes["id"] for _, attributes in outline.elements if "id" in attributes}
    known = {one["id"]: {unit[0] for unit in one["units"]} for one in outline.data()}
    for _, attributes in outline.elements:
        target = (attributes.get("href") or "#findings").removeprefix("#")
        if target.startswith("seq-"):
            name_, _, place = target.removeprefix("seq-").partition("/")
            assert name_ in known
            seq, _, offset_ns = place.partition("/")
            assert not seq or (int(offset_ns) >= 0 if seq == "at" else int(seq) in known[name_])
        else:
            assert target in ids, target


@pytest.mark.parametrize("name", NAMES)
def test_every_table_has_a_title_and_stacks_on_a_phone(name: str) -> None:
    """Cells of a table with many columns say their heading, which stands beside them where the page is narrow."""
    outline = Outline(report(name).html)
    before = ""
    for tag, attributes in outline.elements:
        if tag == "table":
            assert before in ("h3", "summary"), before
        before = tag if attributes.get("class") not in ("table", "table stack") else before
    html = report(name).html
    for table in re.findall(r'<div class="table( stack)?"[^>]*>(<table>.*?</table>)', html, re.DOTALL):
        columns = table[1].count("<th ")
        assert columns <= 3 or table[0], table[1][:200]
        assert table[1].count("data-h=") == (table[1].count("<td") if table[0] else 0)
    # Values stand above the bars, not on them.
    assert 'class="q ' not in html


def test_only_the_pages_own_script_may_run() -> None:
    html = report(NAMES[0]).html
    outline = Outline(html)
    (policy,) = [
        attributes["content"]
        for _, attributes in outline.elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    scripts = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    (digest,) = [b64encode(sha256(script.encode()).digest()).decode() for script in scripts]
    assert policy is not None
    assert policy.startswith("default-src 'none'") and f"script-src 'sha256-{digest}'" in policy
    script = scripts[0]
    for forbidden in ("innerHTML", "outerHTML", "insertAdjacent", "eval(", "fetch(", "XMLHttp", "document.write"):
        assert forbidden not in script


def hostile_gather() -> Gather:
    """Every text column of every table has something that isn't to be believed."""
    gather = Gather()
    values: dict[str, dict[str, Any]] = {
        table: {name: EVIL for name, kind in columns if kind == "string"} for table, columns in COLUMNS.items()
    }
    name = "00" * 16
    known = {"connection": name, "sender": "client", "protocol": "0-9-1"}
    fields = json.dumps({"reply_code": 404, "reply_text": EVIL, EVIL: {EVIL: [EVIL]}})
    more = {"seq": 0, "ts_ns": SECOND, "channel": 1, "size": 9, "offset": 0, "fields": fields}
    gather.add(
        "events", row("events", **{**values["events"], **known, **more, "event": "channel.close", "sender": "server"})
    )
    gather.add("events", row("events", **{**values["events"], **known, **more, "event": EVIL, "seq": 1}))
    for number, kind in enumerate(("publish", "deliver", "get", "return")):
        told = {
            "kind": kind,
            "outcome": EVIL if number else None,
            "ts_ns": SECOND,
            "channel": 1,
            "seq": 2 + number,
            "body_size": 5,
            "headers": "{}",
            "latency_ns": 5 * SECOND,
            "redelivered": True,
        }
        gather.add("messages", row("messages", **{**values["messages"], **known, **told}))
    broken = {"ts_ns": SECOND, "severity": "error", "seq": 0}
    gather.add(
        "violations", row("violations", **{**values["violations"], "connection": name, "sender": "client", **broken})
    )
    counts = {one: 1 for one, kind in COLUMNS["connections"] if kind == "int64"}
    ended = {"closed_by": "server", "protocol": "0-9-1", "connection": name, "complete": False}
    gather.add("connections", row("connections", **{**values["connections"], **counts, **ended}))
    return gather


def test_nothing_in_a_capture_becomes_markup() -> None:
    html = page(hostile_gather())
    outline = Outline(html)
    tags = {tag for tag, _ in outline.elements}
    assert "img" not in tags
    assert "onerror=alert(1)>" not in html
    assert "\x00" not in html and "\u202e" not in html and "\u2028" not in html
    shown = "</script><img src=x onerror=alert(1)>'\"&\\u2028\\u202e\\x00<b>"
    assert outline.text().count(shown) > 20
    assert not [key for _, attributes in outline.elements for key in attributes if key.startswith("on")]


def test_a_diagram_of_a_hostile_connection_stays_data() -> None:
    """The same for what the script takes: captured texts in JSON that no tag can end."""
    from amqp_sansio_report.sequence import Diagram, Unit, field_lines, summary

    fields = {"queue": EVIL, EVIL: {"x": EVIL}}
    unit = Unit(
        0,
        5,
        "client",
        1,
        EVIL,
        9,
        "other",
        summary(fields),
        None,
        field_lines(fields),
        [],
        EVIL,
        [(EVIL, "error", EVIL)],
    )
    html = page(hostile_gather(), [Diagram("00" * 16, EVIL, EVIL, "0-9-1", 0, 1, [unit])])
    outline = Outline(html)
    (one,) = outline.data()
    assert one["client"] == EVIL
    assert one["units"][0][9] == [[0, "queue", EVIL], [0, EVIL, ""], [1, "x", EVIL]]


@pytest.mark.parametrize("name", NAMES)
def test_the_tiles_are_what_the_rows_say(name: str) -> None:
    segments = segments_in([named(name)])
    tables = rows_in(segments)
    tiles = Outline(report(name).html).tiles()
    messages, connections = tables["messages"], tables["connections"]
    open_ones = [
        one for one in messages if one["settled_ns"] is None and one["outcome"] is None and one["kind"] != "return"
    ]
    assert tiles["connections"] == count(len(connections))
    assert tiles["messages"] == count(len(messages))
    assert tiles["units"] == count(len(tables["events"]))
    assert tiles["packets"] == count(len(segments))
    assert tiles["AMQP octets"] == octets(sum(one["bytes_client"] + one["bytes_server"] for one in connections))
    assert tiles["not settled"] == count(len(open_ones))
    assert tiles["rules broken"] == count(sum(one["severity"] == "error" for one in tables["violations"]))


def test_the_causes_of_errors_are_on_the_page() -> None:
    text = Outline(report("o091_pika_channel_errors.pcap").html).text()
    for words in (
        "404 NOT_FOUND - no queue 'does.not.exist' in vhost '/' (in answer to queue.declare)",
        "406 PRECONDITION_FAILED - unknown delivery tag 99 (in answer to basic.ack)",
        "0-9-1/basic.ack/unknown-tag",
        "AMQP 0-9-1, basic.ack: binds both sides (must)",
        "channel.close of the server, 7 times",
    ):
        assert words in text, words
    text = Outline(report("o091_pika_connection_errors.pcap").html).text()
    assert "the peer could not read a frame; two writers on one connection, or a frame above frame-max" in text
    assert "NOT_ALLOWED - vhost nope not found" in text
    text = Outline(report("o10_proton_rabbit_errors.pcap").html).text()
    assert "amqp:not-found NOT_FOUND - no exchange 'nope' in vhost '/'" in text


def test_the_example_of_a_finding_is_one_of_what_it_tells() -> None:
    gather = Gather()
    ended = {"closed_by": "server", "close_code": 504, "violations": 9, "cause": "server-error"}
    gather.add(*connection("aa", client="rare:1", close_text="rare", messages=99, **ended))
    for number in range(3):
        gather.add(*connection(f"b{number}", client=f"often:{number}", close_text="often", **ended))
    (finding,) = findings(gather)
    assert (finding.text, finding.more) == (
        "4 connections closed by the server with an error",
        "often:0: 504 often; then rare:1, often:1, often:2",
    )
    assert finding.connection == "b0"


def test_what_began_first_comes_first_and_names_whom_it_hit() -> None:
    gather = Gather()
    lost = {"cause": "transport", "closed_by": "transport", "close_code": None, "ended_by": "rst of the server"}
    for number in range(6):
        gather.add(*connection(f"a{number}", client=f"w:{number}", closed_ns=(9 - number) * SECOND, **lost))
    refused = {"cause": "refused", "closed_by": "server", "close_code": 403, "close_text": "no"}
    gather.add(*connection("bb", client="late:1", closed_ns=20 * SECOND, **refused))
    gather.add(
        *connection("cc", client="early:1", closed_ns=SECOND, close_code=504, cause="server-error", closed_by="server")
    )
    first, second, third = findings(gather)
    assert (first.text, first.connection) == ("1 connection closed by the server with an error", "cc")
    assert second.text == "6 connections lost: TCP ended without a close"
    assert second.more == "w:5: rst of the server: bye; then w:4, w:3, w:2 and 2 more"
    assert third.connection == "bb"


def test_blocked_time_and_silence_are_on_the_page() -> None:
    text = Outline(report("o091_pika_blocked.pcap").html).text()
    assert "publishers blocked by the server, 1 time, 2.18 s in all" in text
    gather = Gather()
    gather.add(*event("aa", 0, 0, "protocol-header"))
    gather.add(*event("aa", 1, SECOND, "heartbeat", "server"))
    gather.add(*event("aa", 2, 2 * SECOND, "heartbeat"))
    gather.add(*connection("aa", heartbeat=5, closed_ns=22 * SECOND, cause="transport", close_code=None))
    text = Outline(page(gather)).text()
    assert "2 times a side was silent for two heartbeats or more" in text
    assert "the server of 10.0.0.1:40000 for 21 s, agreed were 5 s" in text


def test_who_holds_most_is_on_the_page() -> None:
    gather = Gather()
    for number in (1, 2):
        gather.add(
            *message(
                "aa", 2 + number, number * 2 * SECOND, "deliver", queue="jobs", consumer_tag="ct", ended_ns=20 * SECOND
            )
        )
    held = {
        **{"connection": "aa", "channel": 1, "consumer": "ct", "queue": "jobs", "most": 2, "deliveries": 2},
        **{"opened_ns": SECOND, "closed_ns": 20 * SECOND, "no_room_ns": 16 * SECOND, "most_held": 2, "unsettled": 2},
    }
    gather.add("consumers", row("consumers", **held))
    gather.add(*connection("aa", closed_ns=20 * SECOND))
    (holder,) = gather.holders
    assert (holder.peak, holder.open, holder.oldest_ns, holder.could) == (2, 2, 2 * SECOND, 2)
    assert holder.full_ns == 16 * SECOND
    assert holder.window.levels() == [(SECOND, 2), (20 * SECOND, 0)]
    text = Outline(page(gather)).text()
    assert "a consumer had no room for 16 s (84 % of its time)" in text
    assert "jobs, consumer ct on 10.0.0.1:40000: its prefetch of 2 was used up, 2 of 2 deliveries never settled" in text


def test_an_empty_capture_has_a_page() -> None:
    outline = Outline(Report(gather_segments([])).html)
    assert "Nothing: no errors, no bad ends, nothing left open." in outline.text()
    assert outline.tiles()["connections"] == "0"


def test_times_beyond_all_calendars_are_no_error() -> None:
    gather = Gather()
    gather.add(*event("aa", 0, 0, "basic.ack"))
    gather.add(*event("aa", 1, (1 << 63) - 1, "basic.ack"))
    gather.add(*connection("aa", closed_ns=(1 << 63) - 1))
    assert "2262-04-11" in Outline(page(gather)).text()
    gather.add(*connection("bb", opened_ns=1 << 70, closed_ns=1 << 71))
    assert "9999-12-31" in Outline(page(gather)).text()


def test_a_notebook_shows_the_page_in_a_frame() -> None:
    shown = report(NAMES[0])._repr_html_()  # pyright: ignore[reportPrivateUsage]
    found = re.fullmatch(r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts"[^>]*></iframe>', shown, re.DOTALL)
    assert found is not None
    assert unescape(found[1]) == report(NAMES[0]).html


def test_the_same_rows_make_the_same_page(tmp_path: Path) -> None:
    segments = segments_in([named("o_mixed_4_protocols.pcap")])
    assert report_segments(segments[::-1]).html == report_segments(segments).html


@pytest.mark.parametrize(("published", "told"), [(1, False), (2, True)])
def test_a_link_without_credit_is_told_when_somebody_waits_for_it(published: int, told: bool) -> None:
    gather = Gather()
    for number in range(published):
        gather.add(*message("aa", number, number, "publish", address="/queues/jobs", exchange=None))
    got = {"address": "/queues/jobs", "link": "l", "outcome": "accepted", "settled_ns": SECOND + 5}
    gather.add(*message("aa", 5, SECOND, "deliver", **got))
    link = {"connection": "aa", "channel": 0, "consumer": "l", "handle": 0, "queue": "/queues/jobs", "most": 1}
    counts = {"deliveries": 1, "accepted": 1, "most_held": 1, "no_room_ns": 18 * SECOND}
    gather.add("consumers", row("consumers", **link, **counts, opened_ns=0, closed_ns=20 * SECOND))
    gather.add(*connection("aa", closed_ns=20 * SECOND, protocol="1.0"))
    assert ("a consumer had no room for 18 s" in Outline(page(gather)).text()) is told
