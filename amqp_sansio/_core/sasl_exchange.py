"""SaslExchange: a login step by step, on either side, over hooks that send (RFC 4422 section 3).

A mechanism is a value without state: what it remembers goes through `ClientLogin` and `ServerLogin`. A client's login
ends with the server's word. A server's asks the application, for keys or for a decision, and nothing is parsed until it
has answered. `Limits.sasl_rounds` bounds the challenges of both.
"""

from __future__ import annotations

from .. import sasl
from .._checking import TYPE_CHECKING, Protocol, TypeVar
from ..errors import LocalProtocolError, RemoteProtocolError
from ..events import AuthenticationRequested, By, CloseReport, ScramKeysRequested
from .connection import BaseConfig, BaseConnection
from .violation import SILENT, Violation

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

    from ..endpoint import CloseHint, Role
    from ..sasl import ClientMechanism, MechanismRegistry, SaslState, ScramKeys, ServerMechanism, ServerStep

AUTHENTICATION: Final = "authentication"
SCRAM_KEYS: Final = "scram keys"


class LoginConfig(BaseConfig, Protocol):
    """The part of a configuration that a login needs."""

    @property
    def sasl(self) -> ClientMechanism | tuple[ClientMechanism, ...] | None: ...
    @property
    def nonce(self) -> str: ...
    @property
    def registry(self) -> MechanismRegistry: ...


_C = TypeVar("_C", bound=LoginConfig)


def configured_mechanisms(config: LoginConfig) -> tuple[ClientMechanism, ...]:
    """The client's mechanisms as a tuple."""
    configured = config.sasl
    if configured is None:
        return ()
    return configured if isinstance(configured, tuple) else (configured,)


class ClientLogin:
    """A client's mechanism, and how far it has got. Raises SaslError where the mechanism can't go on."""

    __slots__ = ("_mechanism", "_state", "response", "rounds")

    def __init__(self, mechanism: ClientMechanism) -> None:
        # The one that the client chose among the server's.
        self._mechanism = mechanism
        # What the mechanism remembers between two steps; its own type, nobody else looks into it.
        self._state, self.response = mechanism.initial()
        # Challenges that were answered; `Limits.sasl_rounds` bounds them.
        self.rounds = 0

    def step(self, challenge: bytes) -> bytes:
        """The response to a challenge."""
        self._state, response = self._mechanism.step(self._state, challenge)
        self.rounds += 1
        return response

    def complete(self, additional: bytes = b"") -> None:
        """The server reports success."""
        self._mechanism.complete(self._state, additional)


class ServerLogin:
    """A server's mechanism, and how far it has got."""

    __slots__ = ("_mechanism", "_state", "additional", "rounds")

    def __init__(self, mechanism: ServerMechanism) -> None:
        # The one that the client asked for, which the configuration offers.
        self._mechanism = mechanism
        # What the mechanism remembers between two steps; None before the first response.
        self._state: SaslState | None = None
        # Octets that go with the outcome: the server's proof, in SCRAM (RFC 5802 section 3).
        self.additional = b""
        # Challenges that were sent; `Limits.sasl_rounds` bounds them.
        self.rounds = 0

    def take(self, response: bytes | None) -> ServerStep:
        """The step that follows the client's response, the first one or one to a challenge."""
        state = self._state
        mechanism = self._mechanism
        after = mechanism.start(response) if state is None else mechanism.step(state, response or b"")
        self._state, step = after
        return step

    def keys(self, keys: ScramKeys | None) -> ServerStep:
        """The step that follows the stored keys of a user. Raises SaslError for keys that don't fit."""
        assert self._state is not None
        self._state, step = self._mechanism.keys(self._state, keys)
        return step


class SaslExchange(BaseConnection[_C]):
    """The login of a connection.

    A client's steps raise SaslError when its mechanism can't go on. A server asks its application, and its version
    answers the client with what the application decides.
    """

    __slots__ = ("_client_login", "_server_login", "mechanism")

    def __init__(self, role: Role, config: _C) -> None:
        super().__init__(role, config)
        # The name of the mechanism, once one is chosen.
        self.mechanism = ""
        # A client's login, from its first octets until the server accepts it.
        self._client_login: ClientLogin | None = None
        # A server's, from the client's choice of a mechanism on.
        self._server_login: ServerLogin | None = None

    def provide_scram_keys(self, keys: ScramKeys | None) -> None:
        """Server: answer `ScramKeysRequested`; None refuses the user, without telling it from a wrong password."""
        self._check_decision(SCRAM_KEYS)
        assert self._server_login is not None
        try:
            step = self._server_login.keys(keys)
        except sasl.SaslError as error:
            raise LocalProtocolError(str(error)) from error
        self._waiting_for = None
        self._take_step(step)

    # Hooks.

    def _send_challenge(self, login: ServerLogin, data: bytes) -> None:
        """Send a challenge of the server's."""
        raise NotImplementedError

    def _deny(self, text: str) -> None:
        """Tell of a login that the mechanism refuses, and refuse it."""
        raise NotImplementedError

    def _too_many_challenges(self, text: str) -> Exception:
        """The violation of a server that never comes to an end."""
        return Violation(SILENT, text)

    # Client.

    def _begin_login(self, offered: Sequence[str] | bytes) -> bytes:
        """Choose the strongest mechanism that the server offers; returns its first response. Raises SaslError."""
        mechanism = sasl.choose(configured_mechanisms(self.config), offered)
        login = ClientLogin(mechanism)
        self._client_login = login
        self.mechanism = mechanism.name
        return login.response

    def _answer_challenge(self, challenge: bytes) -> bytes:
        """The response to a challenge. Raises SaslError, and the version's violation after too many."""
        login = self._client_login
        assert login is not None
        if login.rounds >= self.config.limits.sasl_rounds:
            raise self._too_many_challenges(f"{login.rounds} challenges, Limits.sasl_rounds allows no more")
        return login.step(challenge)

    def _complete_login(self, additional: bytes = b"") -> None:
        """The server lets this client in. Raises SaslError when it hasn't proven what the mechanism asks for."""
        assert self._client_login is not None
        self._client_login.complete(additional)
        self._client_login = None

    def _login_failed(self, error: sasl.SaslError, hint: CloseHint) -> None:
        """The client can't or won't go on: it closes the socket without a word."""
        text = str(error)
        failure = RemoteProtocolError(text, offset=self._unit_offset)
        self._end_with(failure, CloseReport(By.LOCAL, 0, text), hint)

    # Server.

    def _start_login(self, name: str, response: bytes | None, *, success_data: bool = False) -> None:
        """A client has chosen a mechanism that was offered."""
        config = self.config
        mechanism = config.registry.server(name, sasl.ServerTerms(config.nonce, success_data))
        login = ServerLogin(mechanism)
        self._server_login = login
        self._take_step(login.take(response))

    def _continue_login(self, response: bytes | None) -> None:
        """A client has answered a challenge."""
        assert self._server_login is not None
        self._take_step(self._server_login.take(response))

    def _take_step(self, step: ServerStep) -> None:
        login = self._server_login
        assert login is not None
        if isinstance(step, sasl.Challenge):
            self._send_challenge(login, step.data)
            login.rounds += 1
        elif isinstance(step, sasl.NeedScramKeys):
            self._ask(SCRAM_KEYS, ScramKeysRequested(self.mechanism, step.user))
        elif isinstance(step, sasl.Denied):
            self._deny(f"login refused: {step.text}")
        else:
            if isinstance(step, sasl.Verified):
                login.additional = step.additional
                step = sasl.Credentials(self.mechanism, step.user, authzid=step.authzid, verified=True)
            self._ask(AUTHENTICATION, AuthenticationRequested(self.mechanism, step))
