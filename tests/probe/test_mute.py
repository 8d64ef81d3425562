"""No case is kept by a server that opens and closes, and neither does anything else nor refuses anything.

For servers of 0-9-1, `test_liars.py` says so, with others that lie.
"""

from typing import Final

import pytest

from amqp_sansio_probe import CASES, Capabilities, Case, Login, Runner, Verdict
from amqp_sansio_probe.verdicts import FAILURES
from tests.kit.muted import moody, muted

CAN: Final = Capabilities(
    "Mute", "1", ("0-8", "0-10", "1.0"), ("PLAIN",), frozenset({each for case in CASES for each in case.needs})
)
OPENING: Final = {
    "1.0/transport/version/supported/sasl",
    "1.0/transport/version/header-first",
    "1.0/transport/version/client-first",
    "1.0/transport/frame/extended-ignored",
    "1.0/transport/frame/empty",
    "1.0/transport/connection/pipelined",
    "1.0/transport/open/container-id",
    "1.0/transport/open/max-frame-size-min",
    "1.0/transport/open/channel-max/of-the-client",
    "1.0/transport/open/idle-time-out-zero",
    "1.0/transport/connection/close-written",
    "1.0/transport/close/nothing-after",
    "1.0/transport/connection/close-channel",
    "1.0/transport/session/remote-channel-answer",
    "1.0/transport/session/end-pair",
    "1.0/transport/session.state/end-rcvd",
    "1.0/transport/session/lowest-channel",
    "1.0/security/sasl/mechanisms-first",
    "1.0/security/sasl/mechanisms-nonempty",
    "1.0/security/sasl/mechanism-unsupported",
    "1.0/security/sasl/outcome-codes",
    "1.0/security/sasl/frame-zero",
    "1.0/security/sasl/frame-max",
    "1.0/security/sasl/outcome",
    "1.0/types/descriptor-symbolic",
    "1.0/types/descriptor-domain",
    "1.0/types/composite-trailing",
    "1.0/types/small-forms",
    "1.0/types/field-multiple",
    "0-10/wire/header-supported",
    "0-10/wire/header-client-first",
    "0-10/wire/channel0",
    "0-10/connection.start/required-fields",
    "0-10/connection.start/required-support",
    "0-10/connection.tune/minimum",
    "0-10/connection.tune/permitted-range",
    "0-10/session.attach/scoping",
    "0-10/session.attach/idempotence",
    "0-8/connection.start/version<=requested",
    "0-8/connection.start/mechanisms-notnull",
    "0-8/connection.start/locale-en_US",
    "0-8/connection.start/locales-notnull",
    "0-8/connection.tune/accept-4096",
    "0-8/connection.tune/propose",
    "0-8/connection.close/handshake",
    "0-8/channel.close/discard",
    "0-8/access.request/data-realm",
}
"""What is seen when a connection opens and closes: the server keeps it, or refuses a login as any does."""
FREE: Final = {
    "1.0/transport/connection/idle-close",
    "1.0/transport/connection/idle-unsupported",
    "0-10/connection.tune-ok/frame-upper-limit",
    "0-10/connection.heartbeat/2x",
}
"""Where the server says that the case can't be tried with it."""


@pytest.mark.parametrize(
    "case", [each for each in CASES if each.version != "0-9-1" and not each.may_harm], ids=lambda case: case.name
)
def test_silence_keeps_no_rule(case: Case) -> None:
    [result] = Runner(muted(case.version), Login(), CAN).run([case])
    if case.name in OPENING:
        assert result.verdict is Verdict.CONFORMS, result.seen
    elif case.name in FREE:
        assert result.verdict is Verdict.INFORMATIONAL, result.seen
    else:
        assert result.verdict in {*FAILURES, Verdict.NON_STRICT, Verdict.INCONCLUSIVE}, result.seen


@pytest.mark.parametrize("after", [0, 4])
@pytest.mark.parametrize("case", [each for each in CASES if not each.may_harm], ids=lambda case: case.name)
def test_a_server_that_ends_what_it_should_answer_ends_no_run(case: Case, after: int) -> None:
    [result] = Runner(moody(case.version, after), Login(), CAN).run([case])
    assert result.case is case
