"""No case is kept by a server that does nothing for it: one that is mute, one that agrees to all, one that garbles."""

from collections.abc import Iterator
from typing import Final

import pytest

from amqp_sansio import amqp_0_9_1 as amqp
from amqp_sansio.amqp_0_9_1 import spec
from amqp_sansio_probe import CASES, Capabilities, Case, Login, Result, Runner, Verdict
from amqp_sansio_probe.talk import HEADER, METHOD, frame, method_frame
from amqp_sansio_probe.verdicts import FAILURES
from tests.kit.probing import Scripted

CAN: Final = Capabilities(
    "Liar",
    "1",
    ("0-9-1",),
    ("PLAIN",),
    frozenset({"declare", "ttl", "confirms", "tx", "nack", "exchange-bindings", "consumer-cancel-notify"}),
)
START: Final = spec.ConnectionStart(0, 9, amqp.Table({}), b"PLAIN", b"en_US")
TUNE: Final = spec.ConnectionTune(100, 131_072, 0)
METHODS: Final = {method.ID: method for method in spec.RABBIT.methods.values()}
CLASSIC: Final = [each for each in CASES if each.version == "0-9-1"]
OPENING: Final = {
    "0-9-1/connection.start/protocol-name",
    "0-9-1/connection.start/mechanisms-notnull",
    "0-9-1/connection.start/locale-en_us",
    "0-9-1/connection.tune/propose",
    "0-9-1/connection.tune/frame-min",
    "0-9-1/connection.close/handshake",
    "0-9-1/connection.close/answer/within-content",
    "0-9-1/method/sync-reply/close-and-open-again",
}
"""What a server keeps that opens and closes, and does nothing else."""
REFUSED: Final = ("not-found", "reserved", "unknown", "not-transacted", "already-open", "if-unused", "if-empty", "busy")
"""Parts of the names of cases whose rule is a refusal."""


class Server:
    """Answers requests with their replies: all of them, or (`mute`) those that open and close; `cut` octets less."""

    def __init__(self, *, mute: bool = False, cut: int = 0) -> None:
        self.mute = mute
        self.cut = cut
        self.seen = 0

    def __call__(self, heard: bytes) -> tuple[bytes, bool]:
        fresh, self.seen = heard[self.seen :], len(heard)
        said = b""
        if fresh.startswith(HEADER):
            said, fresh = method_frame(0, START), fresh[8:]
        for channel, method in methods_of(fresh):
            said += self.answer(channel, method)
            if method is spec.ConnectionClose:
                return said, True
        return said, False

    def answer(self, channel: int, method: type[spec.Method]) -> bytes:
        if method is spec.ConnectionStartOk:
            return method_frame(0, TUNE)
        opens = method.NAME in ("connection.open", "connection.close", "channel.open", "channel.close")
        if not method.REPLIES or (self.mute and not opens):
            return b""
        reply = spec.BasicGetEmpty if method is spec.BasicGet else method.REPLIES[0]
        payload = reply().encode(spec.RABBIT.tables)
        return frame(METHOD, channel, payload if opens or len(payload) == 4 else payload[: len(payload) - self.cut])


def methods_of(octets: bytes) -> Iterator[tuple[int, type[spec.Method]]]:
    """The channels and kinds of the methods in whole frames; what begins no frame ends them."""
    while len(octets) >= 8:
        kind, channel, size = octets[0], int.from_bytes(octets[1:3]), int.from_bytes(octets[3:7])
        method = METHODS.get(int.from_bytes(octets[7:11]))
        octets = octets[8 + size :]
        if kind == METHOD and method is not None:
            yield channel, method


def result_of(case: Case, *, mute: bool = False, cut: int = 0) -> Result:
    [result] = Runner(lambda: Scripted(Server(mute=mute, cut=cut)), Login(), CAN).run([case])
    return result


@pytest.mark.parametrize("case", [each for each in CLASSIC if not each.may_harm], ids=lambda case: case.name)
def test_silence_keeps_no_rule(case: Case) -> None:
    verdict = result_of(case, mute=True).verdict
    if case.name in OPENING:
        assert verdict is Verdict.CONFORMS
    else:
        assert verdict in {*FAILURES, Verdict.NON_STRICT, Verdict.INCONCLUSIVE}


@pytest.mark.parametrize(
    "case", [each for each in CLASSIC if any(word in each.name for word in REFUSED)], ids=lambda case: case.name
)
def test_a_server_that_agrees_to_all_refuses_nothing(case: Case) -> None:
    result = result_of(case)
    assert result.verdict in {Verdict.BREAKS, Verdict.NON_STRICT, Verdict.INCONCLUSIVE}, result.seen


@pytest.mark.parametrize("case", [each for each in CLASSIC if not each.may_harm], ids=lambda case: case.name)
def test_answers_that_cannot_be_decoded_end_no_run(case: Case) -> None:
    assert result_of(case, cut=1).case is case


def test_an_answer_that_cannot_be_decoded_is_told() -> None:
    [case] = [each for each in CLASSIC if each.name == "0-9-1/queue.declare/durable-both"]
    assert result_of(case).verdict is Verdict.CONFORMS
    result = result_of(case, cut=1)
    assert (result.verdict, "queue.declare-ok that can't be decoded" in result.seen) == (Verdict.BREAKS, True), result
