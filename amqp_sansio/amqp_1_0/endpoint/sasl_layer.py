"""The SASL layer of AMQP 1.0, client and server: mechanisms, init, challenge, response, outcome (1.0 part 5
section 5.3)."""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ... import sasl
from ...endpoint import CloseHint
from ...errors import LocalProtocolError, RemoteProtocolError, Scope
from ...events import AuthenticationRequested, By, CloseReport, Failed, ScramKeysRequested
from ..codec.conditions import (
    DECODE_ERROR,
    FRAMING_ERROR,
    INTERNAL_ERROR,
    RESOURCE_LIMIT_EXCEEDED,
    UNAUTHORIZED_ACCESS,
)
from ..codec.frames import HEADER_SIZE, SASL, next_frame, sasl_frame
from ..codec.performatives import (
    SaslChallenge,
    SaslFrame,
    SaslInit,
    SaslMechanisms,
    SaslOutcome,
    SaslResponse,
    decode_frame_body,
)
from ..codec.values import Symbol
from ..codec.violation import Violation, misuse
from . import closing, opening
from .config import client_mechanisms, offered_mechanisms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .connection import Connection

AUTHENTICATION: Final = "authentication"
SCRAM_KEYS: Final = "scram keys"

OK: Final = 0
AUTH: Final = 1
OUTCOMES: Final = {
    1: "auth: the credentials were refused",
    2: "sys: a system error",
    3: "sys-perm: a system error that somebody must mend",
    4: "sys-temp: a system error that may pass",
}
"""The codes of sasl-outcome other than 0 (part 5 section 5.3.3.6)."""


def receive_frame(connection: Connection) -> bool:
    """Take one SASL frame; False while octets are missing. Raises Violation, CodecError."""
    frame = next_frame(connection._buffer, SASL, connection.config.initial_frame_size)
    if frame is None:
        return False
    _, data, start, end = frame
    if start == end:
        raise Violation(FRAMING_ERROR, "an empty SASL frame", rule="security/sasl/frame-empty")
    body, at = decode_frame_body(data, start, end)
    if not isinstance(body, SaslFrame) or at != end:
        what = f"{body.NAME} with {end - at} octets behind it" if at != end else body.NAME
        raise Violation(
            DECODE_ERROR,
            f"a SASL frame holds one SASL value, this one {what}",
            rule="security/sasl/frame-one",
        )
    connection._joint.step_sasl(connection.role.other, body)
    _STEPS[type(body)](connection, body)
    return True


def offer(connection: Connection) -> None:
    """A server says which mechanisms there are."""
    names = tuple([Symbol(name) for name in offered_mechanisms(connection.config)])
    _send(connection, SaslMechanisms(names))


def _send(connection: Connection, body: SaslFrame) -> None:
    """Raises Violation for what the peer need not take."""
    octets = body.encode()
    most = connection.config.initial_frame_size
    if len(octets) + HEADER_SIZE > most:
        raise Violation(
            RESOURCE_LIMIT_EXCEEDED,
            f"{body.NAME} takes a frame of {len(octets) + HEADER_SIZE} octets, {most} are allowed; "
            "Config.initial_frame_size is for peers that take more",
            rule="security/sasl/frame-max",
        )
    connection._joint.step_sasl(connection.role, body)
    connection._queue_octets(sasl_frame(octets))


# Client.


def _mechanisms(connection: Connection, offered: Any) -> None:
    names = offered.sasl_server_mechanisms
    try:
        mechanism = sasl.choose(client_mechanisms(connection.config), names)
        state, response = mechanism.initial()
    except sasl.SaslError as error:
        _login_failed(connection, str(error))
        return
    connection.mechanism = mechanism.name
    connection._sasl = (mechanism, state, 0)
    _send(connection, SaslInit(Symbol(mechanism.name), response, connection.config.hostname))


def _login_failed(connection: Connection, text: str) -> None:
    """The client can't or won't go on; nothing in this layer says so to the server but the closed stream."""
    error = RemoteProtocolError(text, offset=connection._unit_offset)
    connection._events.append(Failed(Scope.CONNECTION, 0, error, By.LOCAL))
    closing.end_connection(connection, CloseReport(By.LOCAL, 0, text), CloseHint.CLOSE_WHEN_SENT)


def _challenge(connection: Connection, challenge: Any) -> None:
    mechanism, state, rounds = connection._sasl
    if rounds >= connection.config.limits.sasl_rounds:
        raise Violation(
            RESOURCE_LIMIT_EXCEEDED,
            f"{rounds} challenges, Limits.sasl_rounds allows no more",
            rule="security/sasl/steps",
        )
    try:
        state, response = mechanism.step(state, challenge.challenge)
    except sasl.SaslError as error:
        _login_failed(connection, str(error))
        return
    connection._sasl = (mechanism, state, rounds + 1)
    _send(connection, SaslResponse(response))


def _outcome(connection: Connection, outcome: Any) -> None:
    mechanism, state, _ = connection._sasl
    if outcome.code != OK:
        _refused(connection, outcome.code, mechanism, state)
        return
    try:
        mechanism.complete(state, outcome.additional_data or b"")
    except sasl.SaslError as error:
        _login_failed(connection, str(error))
        return
    connection._sasl = None
    opening.begin_layer(connection)


def _refused(connection: Connection, code: int, mechanism: Any, state: Any) -> None:
    """The server says no; a bearer mechanism may have heard why before."""
    reason = ""
    try:
        mechanism.complete(state)
    except sasl.SaslError as heard:
        if mechanism.name in _BEARER:
            reason = f"; {heard}"
    said = OUTCOMES.get(code, "a code the specification lacks")
    text = f"the server refused the login, sasl-outcome {code} ({said}){reason}"
    condition = UNAUTHORIZED_ACCESS if code == AUTH else INTERNAL_ERROR
    hint = "wrong user, password or token, or the mechanism isn't allowed to this user" if code == AUTH else ""
    report = CloseReport(By.REMOTE, code, text, hint=hint, condition=condition)
    error = RemoteProtocolError(text, condition=condition)
    connection._events.append(Failed(Scope.CONNECTION, 0, error, By.REMOTE))
    closing.end_connection(connection, report, CloseHint.CLOSE_WHEN_SENT)


_BEARER: Final = ("OAUTHBEARER", "XOAUTH2")


# Server.


def _init(connection: Connection, init: Any) -> None:
    name = str(init.mechanism)
    connection.mechanism = name
    connection._sasl_hostname = init.hostname
    offered = offered_mechanisms(connection.config)
    if name not in offered:
        # The close code that the specification names here is defined nowhere; the outcome says it.
        text = f"mechanism {name!r} was not offered ({', '.join(offered)})"
        _deny(connection, text, "security/sasl/mechanism-unsupported")
        return
    mechanism = sasl.server_mechanism(name, nonce=connection.config.nonce, success_data=True)
    _server_step(connection, mechanism, 0, *mechanism.start(init.initial_response))


def _response(connection: Connection, response: Any) -> None:
    mechanism, state, rounds, _ = connection._sasl
    _server_step(connection, mechanism, rounds, *mechanism.step(state, response.response))


def _server_step(
    connection: Connection, mechanism: Any, rounds: int, state: Any, step: sasl.ServerStep
) -> None:
    if isinstance(step, sasl.Challenge):
        if rounds >= connection.config.limits.sasl_rounds:
            _deny(connection, f"{rounds} challenges, Limits.sasl_rounds allows no more")
            return
        connection._sasl = (mechanism, state, rounds + 1, b"")
        _send(connection, SaslChallenge(step.data))
        return
    connection._sasl = (mechanism, state, rounds, b"")
    if isinstance(step, sasl.NeedScramKeys):
        connection._waiting_for = SCRAM_KEYS
        connection._events.append(ScramKeysRequested(connection.mechanism, step.user))
    elif isinstance(step, sasl.Credentials):
        connection._waiting_for = AUTHENTICATION
        connection._events.append(AuthenticationRequested(connection.mechanism, step))
    elif isinstance(step, sasl.Verified):
        connection._sasl = (mechanism, state, rounds, step.additional)
        connection._waiting_for = AUTHENTICATION
        credentials = sasl.Credentials(connection.mechanism, step.user, authzid=step.authzid)
        connection._events.append(AuthenticationRequested(connection.mechanism, credentials))
    else:
        _deny(connection, f"login refused: {step.text}")


def _deny(connection: Connection, text: str, rule: str | None = None) -> None:
    """The core itself refuses the client."""
    error = RemoteProtocolError(
        text,
        offset=connection._unit_offset,
        rule=f"1.0/{rule}" if rule else None,
        condition=UNAUTHORIZED_ACCESS,
    )
    connection._events.append(Failed(Scope.CONNECTION, 0, error, By.LOCAL))
    _refuse(connection, text, AUTH)


def _refuse(connection: Connection, text: str, code: int) -> None:
    """Send the outcome, then close: a layer that ends takes the transport with it (part 5 section 5.1)."""
    connection._waiting_for = None
    _send(connection, SaslOutcome(code))
    condition = UNAUTHORIZED_ACCESS if code == AUTH else INTERNAL_ERROR
    report = CloseReport(By.LOCAL, code, text, condition=condition)
    closing.end_connection(connection, report, CloseHint.CLOSE_WHEN_SENT)


def accept_authentication(connection: Connection) -> None:
    """Tell the client that it's in; both begin anew with a header."""
    opening.check_decision(connection, AUTHENTICATION)
    additional = connection._sasl[3]
    try:
        _send(connection, SaslOutcome(OK, additional or None))
    except Violation as violation:
        raise misuse(violation) from violation
    connection._waiting_for = connection._sasl = None
    opening.begin_layer(connection)


def refuse_authentication(connection: Connection, text: str, code: int) -> None:
    """Turn the client away; the text stays here."""
    opening.check_decision(connection, AUTHENTICATION)
    if code not in OUTCOMES:
        raise LocalProtocolError(
            f"{code} isn't a code of sasl-outcome that refuses: {', '.join(map(str, OUTCOMES))}",
            rule="1.0/security/sasl/outcome-codes",
        )
    _refuse(connection, text, code)


def provide_scram_keys(connection: Connection, keys: sasl.ScramKeys | None) -> None:
    """Go on with SCRAM."""
    opening.check_decision(connection, SCRAM_KEYS)
    mechanism, state, rounds, _ = connection._sasl
    try:
        after = mechanism.keys(state, keys)
    except sasl.SaslError as error:
        raise LocalProtocolError(str(error)) from error
    connection._waiting_for = None
    try:
        _server_step(connection, mechanism, rounds, *after)
    except Violation as violation:
        closing.fail(connection, violation)


_STEPS: Final[Mapping[type[SaslFrame], Callable[[Connection, Any], None]]] = {
    SaslMechanisms: _mechanisms,
    SaslInit: _init,
    SaslChallenge: _challenge,
    SaslResponse: _response,
    SaslOutcome: _outcome,
}
