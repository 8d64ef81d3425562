"""Ends: who ended a connection, channel, session, link or consumer, how, when, in answer to what, and the usual cause.

The first end decides, and what follows from it doesn't change it. `amqp_sansio.recorded.ends` has the public names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from .._ground.record import record

if TYPE_CHECKING:
    from .outcomes import ConnectionRecord

CAUSES: Final = (
    *("normal", "client-error", "server-error", "heartbeat", "refused", "unreached", "transport", "open"),
    "other",
)
"""How connections end: closed normally; closed with an error by the client, or by the server; by one side since the
other was silent for too long; refused by the server before it was open; refused by the server's machine, or unanswered,
before a protocol header; without the protocol's close; still open at the end; no AMQP.
"""
SILENCE: Final = "heartbeat timeout"
"""The begin of the hint of a connection that ended since a side was silent."""
_ENDED: Final = ("fin", "rst", "reuse")
NORMAL: Final = (None, 0, 200)
"""The codes of a close in order, which one of 1.0 doesn't have."""
_REFUSALS: Final = (403, 530)
_LOST: Final = {
    ("fin", "client"): "a program of the client that ended, crashed or was killed without closing; or a proxy in front "
    "of it that ended the connection",
    ("fin", "server"): "the server was stopped or killed; or a proxy or load balancer before it ended the connection, "
    "perhaps since it was idle",
    ("rst", "client"): "a program of the client that crashed or was killed; or something between the two, a proxy or a "
    "firewall, that cut the connection",
    ("rst", "server"): "the server was killed; or something between the two, a proxy or a firewall, that cut the "
    "connection",
}
"""The usual cause of a connection that ends without a close, by how TCP ended first and who ended it."""
_UNREACHED: Final = {
    "refused": "nobody listens there: start the server, or correct host and port",
    "unanswered": "nothing answered there: a firewall drops the packets, or the host or its address is wrong",
}


class Transport(NamedTuple):
    """How the transport of a connection ended.

    `how` is that of `capture.ConnectionEnd`, `by` the side that ended it first, `at_ns` when it was over, `by_ns` when
    that side ended it. `heard` is when each side was heard last before that (nanoseconds), without a side of which
    octets may be missing. `begun` says what a side began with that isn't AMQP, in words.
    """

    how: str
    by: str | None
    at_ns: int
    by_ns: int | None = None
    heard: Mapping[str, int] = {}
    begun: Mapping[str, str] = {}


@record
class End:
    """How something ended.

    `what` is "connection", "channel", "session", "link" or "consumer", `by` the side that ended it first ("client" or
    "server", None: not known), `how` the unit that ended it ("connection.close", "detach", "protocol-header"), else
    that of `Transport`. `cause` is one of `CAUSES`. `at_ns` is when, None if it hasn't ended. `code`, `condition` and
    `text` are what the unit says, `asked` is the method that it blames, `name` that of a consumer. `hint` is the usual
    cause.
    """

    what: str
    by: str | None
    how: str
    cause: str
    at_ns: int | None = None
    code: int | None = None
    condition: str | None = None
    text: str = ""
    hint: str = ""
    asked: str = ""
    name: str = ""

    @property
    def is_error(self) -> bool:
        """Whether it says that something is wrong."""
        return self.cause in ("client-error", "server-error")

    @property
    def said(self) -> str:
        """The code or condition, and the text."""
        code = self.condition or ("" if self.code in NORMAL else str(self.code))
        text = self.text.removeprefix(code).lstrip(": ") if code else self.text
        asked = f" (in answer to {self.asked})" if self.asked else ""
        return f"{code} {text}{asked}".strip()


def end_of_connection(known: ConnectionRecord, transport: Transport, broken: Mapping[str, str], hint: str) -> End:
    """Return the end of a connection whose transport ended so.

    `broken` has the first rule that each side broke, in words, `hint` is that of a connection that ends without a close
    where this one stands.
    """
    silence = _silence(known, transport)
    by: str | None = known.closed_by
    if by is not None:
        cause = _cause_of_close(known)
        # A server answers with its header what began otherwise than with AMQP too.
        is_answer = known.close_how == "protocol-header" and "client" in broken
        hint = broken["client"] if is_answer else known.hint
        return End(
            "connection",
            by,
            known.close_how,
            "heartbeat" if silence else cause,
            known.close_ns if known.close_ns is not None else transport.at_ns,
            known.close_code,
            known.close_condition,
            known.close_text or "",
            silence or hint,
        )
    by, how = transport.by, transport.how
    at_ns = transport.at_ns if how in _ENDED or how in _UNREACHED else None
    if how in _UNREACHED:
        return End("connection", "server" if by else None, how, "unreached", at_ns, hint=_UNREACHED[how])
    if silence:
        return End("connection", by, how, "heartbeat", at_ns, hint=silence)
    if known.version is None:
        return End("connection", by, how, "other", at_ns, hint=transport.begun.get("client", ""))
    if at_ns is None:
        return End("connection", None, how, "open")
    other = {"client": "server", "server": "client"}.get(by or "", "")
    if hint and (answer := transport.begun.get("server")):
        # It speaks something else on this port.
        hint = f"of what the server sent: {answer}"
    elif hint and other in broken:
        hint = f"the {by} hung up on the {other}, which broke a rule: {broken[other]}"
    return End("connection", by, how, "transport", at_ns, hint=hint or _LOST.get((how, by or ""), ""))


def _cause_of_close(known: ConnectionRecord) -> str:
    by, code = known.closed_by, known.close_code
    if code in NORMAL and known.close_condition is None:
        # A protocol header or an outcome of SASL instead of a close.
        return "refused" if by == "server" and code is None and known.close_text else "normal"
    if by == "server" and code in _REFUSALS and known.hint:
        return "refused"
    return f"{by}-error"


def _silence(known: ConnectionRecord, transport: Transport) -> str:
    """Say that one side ended the connection since the other was silent for longer than agreed; "" if it didn't.

    Any octets are a sign of life (0-9-1 section 4.2.7, 0-10 part 1 section 9, 1.0 part 2 section 2.4.5).
    """
    by = known.closed_by or transport.by
    if by is None or (known.closed_by and known.close_code in NORMAL and not known.close_condition):
        return ""
    side, limit = ("client", known.client_timeout) if by == "server" else ("server", known.server_timeout)
    heard = transport.heard.get(side)
    if limit is None or heard is None:
        return ""
    at_ns = known.close_ns if known.closed_by and known.close_ns is not None else transport.by_ns
    quiet = (transport.at_ns if at_ns is None else at_ns) - heard
    if quiet < limit * 1e9:
        return ""
    how = "its close" if known.closed_by else "a reset" if transport.how == "rst" else "a FIN"
    return (
        f"{SILENCE}: the {side} sent nothing for {quiet / 1e9:.1f} s, {limit:g} s were agreed, and the {by} ended "
        f"the connection by {how}; usually a call blocks the thread or loop that sends the {side}'s heartbeats, or "
        "the network is gone"
    )
