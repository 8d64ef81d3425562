"""Each verdict has a server that earns it: scripted ones, which answer as no broker does."""

from collections.abc import Callable, Iterator

import pytest

from amqp_sansio import amqp_0_9_1 as amqp
from amqp_sansio.amqp_0_9_1 import spec
from amqp_sansio.broker import Settings
from amqp_sansio_probe import Capabilities, Case, Login, Patience, Result, Runner, Transport, Verdict, find_capabilities
from amqp_sansio_probe.case import Suite
from amqp_sansio_probe.profiles import Deviation
from amqp_sansio_probe.talk import HEADER, Talk, frame, method_frame
from amqp_sansio_probe.verdicts import Seen, Surprise, Unusable
from tests.kit.probing import NOBODY, HubServer, Says, Scripted

CAN = Capabilities("Liar", "1", ("0-9-1",), ("PLAIN",), frozenset())
START = method_frame(0, spec.ConnectionStart(0, 9, amqp.Table({}), b"PLAIN", b"en_US"))
TUNE = method_frame(0, spec.ConnectionTune(100, 131_072, 0))
OPEN_OK = method_frame(0, spec.ConnectionOpenOk())
CHANNEL_OK = method_frame(1, spec.ChannelOpenOk())
SPARE_OK = method_frame(9, spec.ChannelOpenOk())
SPARE_CLOSED = method_frame(9, spec.ChannelCloseOk())
CLOSE_OK = method_frame(0, spec.ConnectionCloseOk())
ERROR = method_frame(0, spec.ConnectionClose(504, "no", 20, 10))
CHANNEL_ERROR = method_frame(1, spec.ChannelClose(406, "no", 20, 10))


class Liar:
    """A server of 0-9-1 that answers the methods in `answers` so (None: by the end), and the usual ones as it should.

    The usual ones open and close a connection and its channels; all others get silence.

    `serves_on`: it answers on the spare channel. `hangs_up`: it ends the connection when a close is done.
    """

    def __init__(self, answers: dict[str, bytes | None], *, serves_on: bool = True, hangs_up: bool = True) -> None:
        self.answers = answers
        self.serves_on = serves_on
        self.hangs_up = hangs_up
        self.seen = 0

    def __call__(self, heard: bytes) -> tuple[bytes, bool]:
        fresh, self.seen = heard[self.seen :], len(heard)
        said = b""
        for name in names_of(fresh):
            answer = self.answer(name)
            if answer is None:
                return said, True
            said += answer
            if self.hangs_up and name in ("connection.close", "connection.close-ok"):
                return said, True
        return said, False

    def answer(self, name: str) -> bytes | None:
        if name in self.answers:
            return self.answers[name]
        usual = {
            "header": START,
            "connection.start-ok": TUNE,
            "connection.open": OPEN_OK,
            "channel.open 1": CHANNEL_OK,
            "connection.close": CLOSE_OK,
        }
        if self.serves_on:
            usual |= {"channel.open 9": SPARE_OK, "channel.close 9": SPARE_CLOSED}
        return usual.get(name, b"")


METHODS = {
    (10, 11): "connection.start-ok",
    (10, 40): "connection.open",
    (10, 50): "connection.close",
    (10, 51): "connection.close-ok",
    (20, 10): "channel.open",
    (20, 40): "channel.close",
    (60, 10): "basic.qos",
}


def names_of(octets: bytes) -> Iterator[str]:
    if octets.startswith(HEADER):
        yield "header"
        octets = octets[8:]
    while octets:
        channel, size = int.from_bytes(octets[1:3]), int.from_bytes(octets[3:7])
        payload, octets = octets[7 : 7 + size], octets[8 + size :]
        name = METHODS.get((int.from_bytes(payload[:2]), int.from_bytes(payload[2:4])), "other")
        yield f"{name} {channel}" if channel else name


def case(run: Callable[[Talk], Seen], level: str = "must", needs: tuple[str, ...] = ()) -> Case:
    return Case(
        "0-9-1/basic.qos/global", "", level, ("0-9-1", *needs), "A rule.", "an answer", Suite(Talk).speaking(run)
    )


def asks(talk: Talk) -> Seen:
    talk.login()
    talk.channel()
    talk.say(1, spec.BasicQos(0, 1))
    return talk.connection_error(504)


def judged(says: Callable[[], Says], one: Case | None = None, profile: dict[str, Deviation] | None = None) -> Result:
    runner = Runner(lambda: Scripted(says()), Login(), CAN, profile=profile)
    [result] = runner.run([one or case(asks)])
    return result


def test_conforms() -> None:
    result = judged(lambda: Liar({"basic.qos 1": ERROR}))
    assert (result.verdict, result.seen) == (Verdict.CONFORMS, "connection.close 504 'no'")


@pytest.mark.parametrize("harmless", [frame(8, 0, b""), method_frame(0, spec.ConnectionBlocked("low"))])
def test_harmless_units_are_passed_over(harmless: bytes) -> None:
    assert judged(lambda: Liar({"basic.qos 1": harmless + ERROR})).verdict is Verdict.CONFORMS


def test_another_code() -> None:
    other = method_frame(0, spec.ConnectionClose(501, "frame", 20, 10))
    result = judged(lambda: Liar({"basic.qos 1": other}))
    assert (result.verdict, result.seen) == (Verdict.OTHER_CODE, "connection.close 501 'frame'")


def test_another_scope_is_another_code() -> None:
    result = judged(lambda: Liar({"basic.qos 1": CHANNEL_ERROR}))
    assert result.verdict is Verdict.OTHER_CODE
    assert result.seen == "channel.close 406 'no': the channel, not the connection"


def test_silence_breaks_when_the_connection_is_served() -> None:
    result = judged(lambda: Liar({}))
    assert result.verdict is Verdict.BREAKS
    assert result.seen == "silence: no answer, and the connection is served as before"


def test_a_stuck_connection_breaks() -> None:
    result = judged(lambda: Liar({}, serves_on=False))
    assert (result.verdict, result.seen[:6]) == (Verdict.BREAKS, "stuck:")


def test_an_end_without_close_is_unclean() -> None:
    result = judged(lambda: Liar({"basic.qos 1": None}))
    assert result.verdict is Verdict.UNCLEAN
    assert result.seen == "the connection is closed without connection.close"


def test_an_end_without_close_conforms_where_the_rule_allows_it() -> None:
    def silent(talk: Talk) -> Seen:
        talk.login()
        talk.channel()
        talk.say(1, spec.BasicQos(0, 1))
        return talk.connection_error(501, silent=True)

    assert judged(lambda: Liar({"basic.qos 1": None}), case(silent)).verdict is Verdict.CONFORMS


def test_half_open_is_unclean() -> None:
    result = judged(lambda: Liar({"basic.qos 1": ERROR}, hangs_up=False))
    assert result.verdict is Verdict.UNCLEAN
    assert result.seen.endswith("the server leaves the connection half open")


def test_a_close_that_is_not_answered_is_unclean() -> None:
    def nothing(talk: Talk) -> Seen:
        talk.login()
        return Seen(Verdict.CONFORMS, "fine")

    result = judged(lambda: Liar({"connection.close": b""}, hangs_up=False), case(nothing))
    assert (result.verdict, result.seen) == (Verdict.UNCLEAN, "fine; the end: no connection.close-ok")


@pytest.mark.parametrize(
    ("level", "verdict"), [("should", Verdict.NON_STRICT), ("note", Verdict.NON_STRICT), ("may", Verdict.INFORMATIONAL)]
)
def test_only_a_must_breaks(level: str, verdict: Verdict) -> None:
    assert judged(lambda: Liar({}), case(asks, level)).verdict is verdict


def test_a_documented_deviation_keeps_the_strict_verdict_beside() -> None:
    result = judged(
        lambda: Liar({}), profile={"0-9-1/basic.qos/global": Deviation("it says so", "https://example.org")}
    )
    assert (result.verdict, result.strict) == (Verdict.DOCUMENTED, Verdict.BREAKS)
    assert result.note == "it says so: https://example.org"


def test_one_of_three_is_unstable() -> None:
    answers = iter([b"", ERROR, ERROR])

    def moody(talk: Talk) -> Seen:
        talk.login()
        return Seen(Verdict.CONFORMS if next(answers) else Verdict.BREAKS, "as it likes")

    result = judged(lambda: Liar({}), case(moody))
    assert (result.verdict, result.note) == (Verdict.UNSTABLE, "1 of 3: breaks, 2 of 3: conforms")


def test_what_cannot_be_prepared_is_inconclusive() -> None:
    result = judged(lambda: Liar({"connection.open": ERROR}, serves_on=True))
    assert result.verdict is Verdict.HARMED, "nor can the next connection be opened"
    steps = iter([True])

    def unprepared(talk: Talk) -> Seen:
        talk.login()
        if next(steps):
            raise Surprise("no queue.declare-ok: nothing")
        return Seen(Verdict.CONFORMS, "")

    inconclusive = judged(lambda: Liar({}), case(unprepared))
    assert (inconclusive.verdict, inconclusive.seen) == (
        Verdict.INCONCLUSIVE,
        "couldn't be prepared: no queue.declare-ok: nothing",
    )


def test_a_lack_is_not_run() -> None:
    result = judged(lambda: Liar({}), case(asks, needs=("confirms",)))
    assert (result.verdict, result.seen, result.connections) == (Verdict.NOT_RUN, "needs confirms", ())


def test_a_server_that_takes_no_connection_afterwards_is_harmed_and_ends_the_run() -> None:
    openers = iter([Liar({"basic.qos 1": ERROR})])

    def once() -> Transport:
        says = next(openers, None)
        return NOBODY() if says is None else Scripted(says)

    runner = Runner(once, Login(), CAN)
    results = list(runner.run([case(asks), case(asks)]))
    assert [each.verdict for each in results] == [Verdict.HARMED]
    assert results[0].seen.endswith("afterwards can't connect to 127.0.0.1:5672: connection refused")
    assert runner.died == "0-9-1/basic.qos/global: can't connect to 127.0.0.1:5672: connection refused"


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "the peer speaks HTTP, not AMQP"),
        (b"\x15\x03\x01\x00\x02\x02\x16 ", "the peer speaks TLS: try amqps"),
        (b"", "the peer speaks no version of AMQP that is known here"),
    ],
)
def test_what_speaks_something_else_cannot_be_probed(said: bytes, text: str) -> None:
    def opener() -> Transport:
        return Scripted(lambda heard: (said, False))

    with pytest.raises(Unusable, match=text):
        find_capabilities(opener, Login(), Patience())


@pytest.mark.parametrize(
    ("waits_for", "said", "text"),
    [
        (b"\r\n\r\n", b"HTTP/1.0 404 Not Found\r\n\r\n", "the peer speaks HTTP, not AMQP"),
        (b"\x16\x03", b"\x15\x03\x03\x00\x02\x02\x28 ", "the peer speaks TLS: try amqps"),
        (b"EHLO", b"250 probe.test\r\n", "the peer speaks no version of AMQP that is known here"),
    ],
)
def test_what_waits_for_more_than_a_header_is_named_too(waits_for: bytes, said: bytes, text: str) -> None:
    def opener() -> Transport:
        return Scripted(lambda heard: (said if waits_for in heard else b"", False))

    with pytest.raises(Unusable, match=text):
        find_capabilities(opener, Login(), Patience())


def test_a_refused_login_cannot_be_probed() -> None:
    with pytest.raises(Unusable, match="the login of guest is refused"):
        find_capabilities(HubServer(Settings()), Login(password="wrong"), Patience())
