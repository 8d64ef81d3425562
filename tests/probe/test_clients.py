"""Cases for clients stand on rules, no client keeps them by doing nothing, and what a client does is judged."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from amqp_sansio import amqp_0_8, amqp_0_10, amqp_1_0
from amqp_sansio import amqp_0_9_1 as amqp
from amqp_sansio_probe import CASES, CLIENT_CASES, Capabilities, ClientCase, ClientRunner, Result, Verdict
from amqp_sansio_probe.host_1_0 import AMQP_HEADER, amqp_frame
from amqp_sansio_probe.programs import MOST_LINES
from amqp_sansio_probe.talk import HEADER, frame, method_frame
from amqp_sansio_probe.talk_0_10 import COMMAND as COMMAND_0_10
from amqp_sansio_probe.talk_0_10 import HEADER as HEADER_0_10
from amqp_sansio_probe.talk_0_10 import assembly as assembly_0_10
from amqp_sansio_probe.talk_0_10 import frame as frame_0_10
from tests.kit.probing import Says, ScriptedClient, ScriptedClients

ROOT = Path(__file__).resolve().parents[2]
ABLE = frozenset(need for each in CLIENT_CASES for need in each.needs)
ABOUT = amqp.Table({"product": "Liar"})


def run(case: ClientCase, make: Callable[[], ScriptedClient]) -> Result:
    clients = ScriptedClients(make)
    runner = ClientRunner([clients], clients)
    runner.capabilities = Capabilities(can=ABLE)
    [result] = runner.run([case])
    return result


def named(name: str) -> ClientCase:
    [case] = [each for each in CLIENT_CASES if each.name == name]
    return case


def mute(heard: bytes) -> tuple[bytes, bool]:
    return b"", False


class Opener:
    """Opens a connection of the case's version, and says `more` in it; then it closes it, ends it, or does nothing."""

    def __init__(self, case: ClientCase, more: bytes = b"", *, closes: bool = False, ends: bool = False) -> None:
        self.steps = STEPS[case.version]
        self.done = 0
        self.more = more
        if closes:
            self.more += self.steps[-1]
        self.ends = ends

    def __call__(self, heard: bytes) -> tuple[bytes, bool]:
        begin, *others, _ = self.steps
        if not heard:
            return begin, False
        if self.done < len(others):
            self.done += 1
            return others[self.done - 1] + (self.more if self.done == len(others) else b""), False
        # An answer came, to what was said last or to the close.
        return b"", self.ends or bool(self.more)


CLASSIC = (
    HEADER,
    method_frame(0, amqp.spec.ConnectionStartOk(ABOUT, "PLAIN", b"\0guest\0guest", "en_US")),
    method_frame(0, amqp.spec.ConnectionTuneOk(5, 4096, 0)) + method_frame(0, amqp.spec.ConnectionOpen("/")),
    method_frame(0, amqp.spec.ConnectionClose(200, "bye")),
)
"""A header, what follows each answer, and the close."""
OLD = (b"AMQP\x01\x01\x08\x00", *CLASSIC[1:-1], method_frame(0, amqp_0_8.spec.ConnectionClose(200, "bye")))
NEW = (AMQP_HEADER, amqp_frame(0, amqp_1_0.spec.Open("liar")), amqp_frame(0, amqp_1_0.spec.Close()))
TEN = (
    HEADER_0_10,
    *[
        b"".join([frame_0_10(each.encode_assembly()) for each in step])
        for step in (
            (amqp_0_10.spec.ConnectionStartOk({"product": "Liar"}, "PLAIN", b"\0guest\0guest", "en_US"),),
            (amqp_0_10.spec.ConnectionTuneOk(255, 65_535, 0), amqp_0_10.spec.ConnectionOpen("/")),
            (amqp_0_10.spec.ConnectionClose(200, "bye"),),
        )
    ],
)
STEPS = {"0-8": OLD, "0-9-1": CLASSIC, "0-10": TEN, "1.0": NEW}


def levels() -> dict[str, str]:
    found: dict[str, str] = {}
    for path in sorted((ROOT / "docs" / "rules").glob("rules-*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            found |= {row["id"].partition(" ->")[0]: row["level"] for row in csv.DictReader(file)}
    return found


def test_every_case_names_a_rule_and_its_level() -> None:
    known = levels()
    assert {each.name: each.level for each in CLIENT_CASES} == {each.name: known[each.rule] for each in CLIENT_CASES}


def test_names_are_unique_among_those_for_servers_too() -> None:
    counts = Counter([*[each.name for each in CASES], *[each.name for each in CLIENT_CASES]])
    assert [name for name, count in counts.items() if count > 1] == []


def test_every_case_says_what_it_asks_and_expects() -> None:
    assert [each.name for each in CLIENT_CASES if not each.clause.endswith(".") or not each.expected] == []


@pytest.mark.parametrize("case", CLIENT_CASES, ids=lambda case: case.name)
def test_no_case_is_kept_by_a_client_that_says_nothing(case: ClientCase) -> None:
    result = run(case, lambda: ScriptedClient(mute, ends_with=None))
    assert result.strict not in (Verdict.CONFORMS, Verdict.OTHER_CODE), result.seen


@pytest.mark.parametrize("case", CLIENT_CASES, ids=lambda case: case.name)
def test_no_case_is_kept_by_a_client_that_opens_a_connection_and_goes_on(case: ClientCase) -> None:
    result = run(case, lambda: ScriptedClient(Opener(case), [{"event": "opened"}], ends_with=None))
    assert result.strict not in (Verdict.CONFORMS, Verdict.OTHER_CODE), result.seen


IN_ORDER = "0-9-1/wire/header-client-first/client"


def judged(make: Callable[[], Says], events: Sequence[Mapping[str, Any]] = (), name: str = IN_ORDER) -> Result:
    return run(named(name), lambda: ScriptedClient(make(), events))


def test_a_client_that_opens_and_closes_conforms() -> None:
    assert judged(lambda: Opener(named(IN_ORDER), closes=True)).strict is Verdict.CONFORMS


def test_a_client_that_drops_the_connection_is_unclean() -> None:
    result = judged(lambda: Opener(named(IN_ORDER), ends=True))
    assert (result.strict, result.seen.split("; ")[1]) == (Verdict.UNCLEAN, "the end: no connection.close-ok")


def test_what_a_client_breaks_besides_the_rule_counts() -> None:
    twice = method_frame(1, amqp.spec.ChannelOpen()) * 2
    result = judged(lambda: Opener(named(IN_ORDER), twice, closes=True))
    assert result.strict is Verdict.BREAKS
    assert "besides, 0-9-1/channel.open/already-open" in result.seen


def test_octets_behind_the_close_are_unclean() -> None:
    late = CLASSIC[-1] + frame(8, 0, b"")
    result = judged(lambda: Opener(named(IN_ORDER), late))
    assert result.strict is Verdict.UNCLEAN
    assert "heartbeat behind connection.close" in result.seen


class Answering:
    """Opens a connection, and answers the server's close of it."""

    def __init__(self) -> None:
        self.opener = Opener(named(TOLD))

    def __call__(self, heard: bytes) -> tuple[bytes, bool]:
        if heard.endswith(method_frame(0, amqp.spec.ConnectionClose(320, "CONNECTION_FORCED"))):
            return method_frame(0, amqp.spec.ConnectionCloseOk()), True
        return self.opener(heard)


TOLD = "0-9-1/connection/error-scope/client/told"


@pytest.mark.parametrize(
    ("events", "verdict"),
    [
        ([], Verdict.NON_STRICT),
        ([{"event": "closed", "code": "320", "text": ""}], Verdict.CONFORMS),
        ([{"event": "closed", "code": "", "text": "gone"}], Verdict.OTHER_CODE),
    ],
)
def test_whether_a_program_learns_of_an_error(events: list[Mapping[str, Any]], verdict: Verdict) -> None:
    result = judged(Answering, [{"event": "opened"}, *events], TOLD)
    assert result.strict is verdict, result.seen


@pytest.mark.parametrize("number", [None, True, "1", 1.5, [1], {"of": 1}])
def test_a_message_that_a_program_numbers_oddly_is_a_message(number: object) -> None:
    told = [{"event": "published", "number": number, "outcome": "accepted"}]
    result = judged(lambda: mute, told, "0-9-1/rabbitmq/basic.nack.publisher/client")
    assert result.strict is Verdict.NON_STRICT
    assert "told: accepted; exit status" in result.seen


def test_a_client_that_never_stops_is_cut_off() -> None:
    flood = iter(lambda: bytes(1024 * 1024), None)

    class Flooding(ScriptedClient):
        def receive(self, seconds: float) -> bytes | None:
            return next(flood)

    result = run(named(IN_ORDER), lambda: Flooding(mute, ends_with=None))
    assert result.strict is Verdict.INCONCLUSIVE
    assert "the client sends more than" in result.seen


def test_a_program_that_prints_for_ever_is_cut_off() -> None:
    told: list[int] = []

    class Talking(ScriptedClient):
        def events(self) -> list[Mapping[str, Any]]:
            told.append(1)
            return [{"event": "noise"}] * MOST_LINES

    result = run(named(IN_ORDER), lambda: Talking(Opener(named(IN_ORDER), closes=True)))
    assert result.strict is Verdict.CONFORMS
    assert len(told) > 1


FAILS = {"must": Verdict.BREAKS, "note": Verdict.NON_STRICT, "may": Verdict.INFORMATIONAL}
"""The verdict on a rule that isn't kept, by its level."""


def wrong_opener(case: ClientCase) -> Opener:
    """A client that opens a connection with empty values, and closes it."""
    records = {"0-8": amqp_0_8.spec, "0-9-1": amqp.spec}[case.version]
    opener = Opener(case, closes=True)
    start_ok = method_frame(0, amqp.spec.ConnectionStartOk(ABOUT, "PLAIN", b"", ""))
    opened = method_frame(0, amqp.spec.ConnectionTuneOk(0, 4096, 0)) + method_frame(0, records.ConnectionOpen(""))
    opener.steps = (opener.steps[0], start_ok, opened, opener.steps[-1])
    return opener


@pytest.mark.parametrize("version", ["0-8", "0-9-1"])
@pytest.mark.parametrize(
    "rule",
    [
        *("connection.start-ok/locale-notnull", "connection.start-ok/locale-offered", "domain/path.notnull"),
        *("connection.start-ok/response-notnull", "connection.tune-ok/channel-max-notnull", "connection.tune-ok/lower"),
    ],
)
def test_a_client_that_opens_a_connection_with_empty_values(rule: str, version: str) -> None:
    [case] = [each for each in CLIENT_CASES if each.rule == f"{version}/{rule}"]
    result = run(case, lambda: ScriptedClient(wrong_opener(case), [{"event": "opened"}]))
    # An assertion alone says that the number of channels isn't null, and 0 is how an offer says that it has no limit.
    wanted = Verdict.NON_STRICT if rule == "connection.tune-ok/channel-max-notnull" else FAILS[case.level]
    assert result.strict is wanted, result.seen
    assert "besides" not in result.seen


@pytest.mark.parametrize("version", ["0-8", "0-9-1"])
@pytest.mark.parametrize(
    "rule", ["connection.start-ok/locale-notnull", "connection.start-ok/locale-offered", "domain/path.notnull"]
)
def test_a_client_that_opens_a_connection_keeps_what_its_values_say(rule: str, version: str) -> None:
    [case] = [each for each in CLIENT_CASES if each.rule == f"{version}/{rule}"]
    result = run(case, lambda: ScriptedClient(Opener(case, closes=True), [{"event": "opened"}]))
    assert result.strict is Verdict.CONFORMS, result.seen


@pytest.mark.parametrize(("response", "verdict"), [(b"", Verdict.BREAKS), (b"x", Verdict.CONFORMS)])
@pytest.mark.parametrize("version", ["0-8", "0-9-1"])
def test_the_answer_to_a_challenge(version: str, response: bytes, verdict: Verdict) -> None:
    case = named(f"{version}/connection.secure-ok/response-notnull/client/a-challenge")

    def answering() -> ScriptedClient:
        opener = Opener(case)
        begin, start_ok, *_ = opener.steps
        opener.steps = (begin, start_ok, method_frame(0, amqp.spec.ConnectionSecureOk(response)), b"")
        return ScriptedClient(opener)

    assert run(case, answering).strict is verdict


class Staying(Opener):
    """Says the same, and keeps the connection."""

    def __call__(self, heard: bytes) -> tuple[bytes, bool]:
        return super().__call__(heard)[0], False


BEGIN = amqp_frame(1, amqp_1_0.spec.Begin(None, 0, 100, 100))
TRANSFER = amqp_frame(1, amqp_1_0.spec.Transfer(0, 0, b"0", 0), amqp_1_0.Message(b"m").encode())
END = amqp_frame(1, amqp_1_0.spec.End())
LINKS = b"".join(
    [
        amqp_frame(1, amqp_1_0.spec.Attach("out", 0, amqp_1_0.spec.SENDER, initial_delivery_count=0)),
        amqp_frame(1, amqp_1_0.spec.Attach("in", 1, amqp_1_0.spec.RECEIVER)),
        amqp_frame(1, amqp_1_0.spec.Flow(0, 100, 0, 100, 1, 0, 10)),
    ]
)


@pytest.mark.parametrize("case", [each for each in CLIENT_CASES if each.version == "1.0"], ids=lambda case: case.name)
@pytest.mark.parametrize(
    "more",
    [BEGIN + LINKS + END, BEGIN + LINKS + TRANSFER + END, BEGIN + END + LINKS, BEGIN + END + TRANSFER, LINKS, TRANSFER],
    ids=["links", "transfer", "links-behind", "transfer-behind", "links-without", "transfer-without"],
)
def test_a_client_whose_session_is_over_is_judged(case: ClientCase, more: bytes) -> None:
    assert run(case, lambda: ScriptedClient(Staying(case, more), [{"event": "opened"}], ends_with=None)).seen
    assert run(case, lambda: ScriptedClient(Opener(case, more, closes=True), [{"event": "opened"}])).seen


TEN_ATTACH = b"".join(
    [
        frame_0_10(each.encode_assembly(), channel=1)
        for each in (amqp_0_10.spec.SessionAttach(b"s"), amqp_0_10.spec.SessionCommandPoint(0, 0))
    ]
)
TEN_DETACH = frame_0_10(amqp_0_10.spec.SessionDetach(b"s").encode_assembly(), channel=1)
TEN_COMMANDS = b"".join(
    [
        assembly_0_10([(COMMAND_0_10, each.encode_segment())], 1, 4096)
        for each in (
            amqp_0_10.spec.MessageSubscribe("probe", "d", 0, 0),
            amqp_0_10.spec.MessageFlow("d", 0, 10),
            amqp_0_10.spec.MessageFlow("d", 1, 1000),
            amqp_0_10.spec.MessageTransfer("", 0, 0),
        )
    ]
)


@pytest.mark.parametrize("case", [each for each in CLIENT_CASES if each.version == "0-10"], ids=lambda case: case.name)
@pytest.mark.parametrize(
    "more",
    [TEN_ATTACH + TEN_COMMANDS + TEN_DETACH, TEN_ATTACH + TEN_DETACH + TEN_COMMANDS, TEN_COMMANDS],
    ids=["commands", "commands-behind", "commands-without"],
)
def test_a_client_of_0_10_whose_session_is_over_is_judged(case: ClientCase, more: bytes) -> None:
    assert run(case, lambda: ScriptedClient(Staying(case, more), [{"event": "opened"}], ends_with=None)).seen
    assert run(case, lambda: ScriptedClient(Opener(case, more, closes=True), [{"event": "opened"}])).seen


EARLY = b"".join(
    [
        amqp_frame(1, amqp_1_0.spec.Begin(None, 0, 100, 100)),
        amqp_frame(1, amqp_1_0.spec.Attach("out", 0, amqp_1_0.spec.SENDER, initial_delivery_count=0)),
    ]
)
STALE = amqp_frame(1, amqp_1_0.spec.Flow(0, 100, 0, 100, 0, 110, 10))
"""A sender's flow, before anybody asks for one: it happens to say what the answer would say."""


@pytest.mark.parametrize("rule", ["drain", "echo", "link-credit-owner"])
def test_a_flow_from_before_the_question_is_no_answer(rule: str) -> None:
    [case] = [each for each in CLIENT_CASES if each.rule == f"1.0/transport/flow/{rule}"]
    more = EARLY + STALE + TRANSFER
    result = run(case, lambda: ScriptedClient(Staying(case, more), [{"event": "opened"}], ends_with=None))
    assert "no flow" in result.seen


def test_the_server_of_a_slow_open_says_nothing_before_its_open() -> None:
    case = named("1.0/transport/connection/pre-open-limits/client/slow-open")
    made: list[ScriptedClient] = []

    def hasty() -> ScriptedClient:
        opener = Staying(case, EARLY)
        opener.steps = (AMQP_HEADER + amqp_frame(0, amqp_1_0.spec.Open("hasty")) + EARLY, b"")
        made.append(ScriptedClient(opener, ends_with=None))
        return made[-1]

    run(case, hasty)
    said = [each.heard.removeprefix(AMQP_HEADER) for each in made]
    described = amqp_frame(0, amqp_1_0.spec.Open("probe"))[8:11]
    assert {each[8:11] for each in said} == {described}


def test_a_sender_that_waits_for_no_credit_is_told_so() -> None:
    case = named("1.0/transport/flow/initial/client/no-flow")
    more = EARLY + TRANSFER + amqp_frame(1, amqp_1_0.spec.End())
    result = run(case, lambda: ScriptedClient(Opener(case, more, closes=True), [{"event": "opened"}]))
    assert (result.strict, result.seen) == (Verdict.NON_STRICT, "1 transfers without credit")


@pytest.mark.parametrize("version", ["0-8", "0-9-1"])
def test_no_start_names_a_higher_version_than_the_header(version: str) -> None:
    numbers = {"0-8": (8, 0), "0-9-1": (0, 9)}[version]
    for case in [each for each in CLIENT_CASES if each.version == version]:
        made: list[ScriptedClient] = []

        def silent(case: ClientCase = case, made: list[ScriptedClient] = made) -> ScriptedClient:
            made.append(ScriptedClient(Opener(case), ends_with=None))
            return made[-1]

        run(case, silent)
        starts = [each.heard[11:13] for each in made if each.heard[7:11] == b"\x00\x0a\x00\x0a"]
        assert [tuple(each) for each in starts if tuple(each) > numbers] == [], case.name


@pytest.mark.parametrize("version", ["0-8", "0-9-1"])
@pytest.mark.parametrize(("first", "verdict"), [(b"", Verdict.BREAKS), (None, Verdict.NON_STRICT)])
def test_a_delivery_behind_the_close_that_ends_a_program(version: str, first: bytes | None, verdict: Verdict) -> None:
    records = {"0-8": amqp_0_8.spec, "0-9-1": amqp.spec}[version]
    case = named(f"{version}/connection.close/discard/client")
    closing = method_frame(1, records.ChannelClose(200, "bye")) if first is None else first

    def consuming() -> ScriptedClient:
        opener = Opener(case)
        header, *beginning, close = opener.steps
        opener.steps = (
            header,
            *beginning,
            method_frame(1, records.ChannelOpen()),
            method_frame(1, records.BasicConsume(queue="probe", consumer_tag="t")),
            closing + close,
            b"",
            b"",
        )
        return ScriptedClient(opener, ends_with=1)

    result = run(case, consuming)
    assert result.strict is verdict, result.seen


def test_a_client_that_drops_the_connection_at_an_early_heartbeat() -> None:
    case = named("0-9-1/wire/heartbeat-start-client/client/slow-open")

    def dropping() -> ScriptedClient:
        opener = Opener(case)
        header, start_ok, *_ = opener.steps
        opened = method_frame(0, amqp.spec.ConnectionTuneOk(5, 4096, 1)) + method_frame(
            0, amqp.spec.ConnectionOpen("/")
        )
        opener.steps = (header, start_ok, opened, b"")

        def says(heard: bytes) -> tuple[bytes, bool]:
            return opener(heard)[0], heard.endswith(frame(8, 0, b""))

        return ScriptedClient(says, ends_with=1)

    result = run(case, dropping)
    assert result.strict is Verdict.NON_STRICT
    assert "heartbeat of the server" in result.seen


def test_the_program_waits_for_its_message_while_known_completed_is_asked_for() -> None:
    case = named("0-10/session.completed/known-completed-reply/client")
    made: list[ScriptedClient] = []

    def publishing() -> ScriptedClient:
        made.append(ScriptedClient(Staying(case, TEN_ATTACH + TEN_COMMANDS), [{"event": "opened"}], ends_with=None))
        return made[-1]

    assert run(case, publishing).strict is Verdict.BREAKS
    [first, *_] = made
    asked = frame_0_10(
        amqp_0_10.spec.SessionCompleted(amqp_0_10.SequenceSet([(0, 0)]), timely_reply=True).encode_assembly(), channel=1
    )
    whole = frame_0_10(amqp_0_10.spec.SessionCompleted(amqp_0_10.SequenceSet([(0, 3)])).encode_assembly(), channel=1)
    assert whole not in first.heard[: first.heard.index(asked)]
    assert whole in first.heard[first.heard.index(asked) :]
