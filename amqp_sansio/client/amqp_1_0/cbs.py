"""Claims: the tokens of a connection of 1.0, put on the node `$cbs` (OASIS AMQP Claims-Based Security 1.0).

A peer with claims-based security lets a link attach to an entity only when a token for it was put before. `connect`
takes a token provider, or a `Cbs`, as its option `cbs`; the client then puts a token before the first link of an
entity, another one before that expires, and all of them again when a lost connection is open again, before its links
are restored. What a token says stays between the provider and the peer: no text of an error, log or repr has it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, runtime_checkable

from ..._ground.record import record
from ...amqp_1_0 import Accepted, AmqpValue, Message, Properties, Rejected, Source, Target, Timestamp
from ...errors import AmqpError, AnswerTimeout, EndpointClosed, TokenRefused
from ..driver import TaskDriver
from .links import LinkRoutes, SenderState, SessionState
from .requester import ReplyInbox, ReplyRoutes

if TYPE_CHECKING:
    from ...events import Pending
    from .links import LinkClient

NODE: Final = "$cbs"
"""The node that tokens are put on."""
SAS_TOKEN: Final = "servicebus.windows.net:sastoken"
"""The type of a token that is signed with a shared access key."""
JWT: Final = "jwt"
"""The type of a token of Microsoft Entra."""

_MANAGEMENT: Final = "$management"
_CREDIT: Final = 100
_MOST: Final = 1000
"""Tokens that are kept in mind before those that no link needs are forgotten: they are put again when one does."""
_LEFT: Final = 0.1
"""The part of a token's life that is left when it is renewed."""
_SOONEST: Final = 1.0
"""Seconds between two tokens of an entity, however soon the first one expires."""
_FIRST_RETRY: Final = 5.0
_LONGEST_RETRY: Final = 60.0
"""Seconds until a token that couldn't be renewed is tried again, doubled each time up to the second."""
_SAFE: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


class Audience(str):
    """What a token is for, as text; `now` is the time at which it is asked for, in seconds since 1970."""

    __slots__ = ("now",)

    def __new__(cls, text: str, now: float = 0.0) -> Audience:
        made = super().__new__(cls, text)
        made.now = now
        return made

    now: float

    def __reduce__(self) -> tuple[object, ...]:
        return Audience, (str(self), self.now)


@record
class Token:
    """A token: its text, its type, and when it expires, in seconds since 1970 (None: never).

    >>> Token("secret", JWT, 1_700_000_000)
    Token(type='jwt', expires=1700000000)
    """

    text: str
    type: str
    expires: float | None = None

    __record_hidden__: ClassVar[frozenset[str]] = frozenset({"text"})


@runtime_checkable
class TokenProvider(Protocol):
    """Gives tokens. The asyncio client awaits what isn't a `Token`; the blocking one calls it in a thread that waits
    for nothing else, and takes a coroutine that never waits.
    """

    def token(self, audience: Audience, /) -> Token | Awaitable[Token]:
        """Return a token for an audience, such as "amqps://HOST/ENTITY". What it raises is raised to who opens a link,
        and logged where a token is renewed.
        """
        ...


@record
class SharedAccessKey:
    """The tokens of a shared access key of Azure: its rule's name, the key, and the seconds that each token lives.

    >>> from amqp_sansio.client.amqp_1_0.cbs import Audience
    >>> SharedAccessKey("RootManageSharedAccessKey", "a2V5")
    SharedAccessKey(name='RootManageSharedAccessKey', lifetime=3600.0)
    >>> SharedAccessKey("send", "a2V5", 60).signed(Audience("amqps://host/q", 40)).text.partition("&")[0]
    'SharedAccessSignature sr=amqps%3A%2F%2Fhost%2Fq'
    """

    name: str
    key: str
    lifetime: float = 3600.0

    __record_hidden__: ClassVar[frozenset[str]] = frozenset({"key"})

    async def token(self, audience: Audience, /) -> Token:
        """Return a token that is signed now."""
        return self.signed(audience)

    def signed(self, audience: Audience) -> Token:
        """Return the same without a coroutine."""
        from base64 import b64encode
        from hashlib import sha256
        from hmac import digest

        expires = int(audience.now + self.lifetime)
        resource = _quoted(audience)
        signature = b64encode(digest(self.key.encode(), f"{resource}\n{expires}".encode(), sha256)).decode()
        text = f"SharedAccessSignature sr={resource}&sig={_quoted(signature)}&se={expires}&skn={_quoted(self.name)}"
        return Token(text, SAS_TOKEN, expires)


class EntraCredential:
    """The tokens of a credential of the package azure-identity, of its asyncio form in the asyncio client.

    `scope` is that of Service Bus; Event Hubs has "https://eventhubs.azure.net//.default".

    >>> def example() -> EntraCredential:
    ...     from azure.identity import DefaultAzureCredential
    ...     return EntraCredential(DefaultAzureCredential())
    """

    def __init__(self, credential: Any, scope: str = "https://servicebus.azure.net//.default") -> None:
        # An object of azure-identity with `get_token`, which may be a coroutine.
        self._credential = credential
        # What the token is asked for, as a URL of the service ending in "/.default".
        self.scope = scope

    def token(self, audience: Audience, /) -> Token | Awaitable[Token]:
        """Ask the credential, which keeps a token as long as it is good."""
        got = self._credential.get_token(self.scope)
        return self._later(got) if hasattr(got, "__await__") else self._made(got)

    async def _later(self, asked: Awaitable[Any]) -> Token:
        return self._made(await asked)

    def _made(self, got: Any) -> Token:
        return Token(str(got.token), JWT, float(got.expires_on))

    def __repr__(self) -> str:
        return f"EntraCredential(scope={self.scope!r})"


@record
class Cbs:
    """How a connection gets its tokens.

    | field | meaning |
    |---|---|
    | `provider` | gives the tokens |
    | `audience` | what they are for; {host} and {entity} stand for the connection's host and the entity's path |
    """

    provider: TokenProvider
    audience: str = "amqps://{host}/{entity}"


def cbs_of(given: object) -> Cbs | None:
    """Return what the option `cbs` of `connect` stands for. Raises TypeError."""
    if given is None or isinstance(given, Cbs):
        return given
    if isinstance(given, TokenProvider):
        return Cbs(given)
    raise TypeError(f"cbs is a Cbs or has a method token(audience), which {type(given).__name__} hasn't")


def entity_of(address: object) -> str:
    """Return the path of the entity that an address is of; "" if a link to it needs no token.

    A URI's is its path, and a node of management belongs to its entity.

    >>> entity_of("amqps://host:5671/orders"), entity_of("/orders/$management"), entity_of("$cbs"), entity_of(None)
    ('orders', 'orders', '', '')
    """
    text = getattr(address, "address", address)
    if not isinstance(text, str):
        return ""
    scheme, separator, rest = text.partition("://")
    if separator and scheme.replace("+", "").isalnum():
        text = rest.partition("/")[2]
    path = text.strip("/").removesuffix(f"/{_MANAGEMENT}")
    return "" if path in (NODE, _MANAGEMENT) else path


class Grant:
    """An entity's token at the peer."""

    __slots__ = ("_claims", "entity", "expires", "is_kept", "is_valid", "retry", "timer", "under_way")

    def __init__(self, claims: Claims, entity: str) -> None:
        # Whose token it is, for the renewal.
        self._claims = claims
        # The path of a queue, topic or hub, without the host and without "/$management".
        self.entity = entity
        # Whether a token was put on this connection and is good; a loss ends that.
        self.is_valid = False
        # Whether a user asked for it, so that it is renewed although no link needs it.
        self.is_kept = False
        # The last pause after a renewal that failed, in seconds; 0 after one that succeeded.
        self.retry = 0.0
        # The end of the last token that has one, in seconds since 1970; 0 before.
        self.expires = 0.0
        # Done when the put that is going on has ended; None: none is.
        self.under_way: Pending[None] | None = None
        # Done when the token is to be renewed; None: it isn't.
        self.timer: Pending[None] | None = None

    # How the client tells that the timer is done.

    def answered(self, pending: Pending[Any]) -> None:
        """Renew the token."""
        if pending is self.timer:
            self.timer = None
            self._claims.renew_soon(self)

    def failed(self, pending: Pending[Any]) -> None:
        """The connection has ended, and with it its tokens."""

    def lost(self, pending: Pending[Any]) -> bool:
        return False

    def redo(self) -> None:
        """A timer isn't made again."""

    def give_up(self, error: EndpointClosed) -> None:
        """The same."""


class Pair:
    """The session and the two links on `$cbs` of one connection."""

    __slots__ = ("inbox", "receiver", "sender", "session")

    def __init__(self, session: SessionState, sender: SenderState, receiver: ReplyRoutes, inbox: ReplyInbox) -> None:
        # Begun by the client for itself: users aren't told how it ends.
        self.session = session
        # Takes the requests that put a token.
        self.sender = sender
        # Brings the peer's answers, at an address of this connection's own.
        self.receiver = receiver
        # Gives each answer to the request that it names by its correlation-id.
        self.inbox = inbox

    @property
    def is_open(self) -> bool:
        """Whether a token can be put."""
        return self.sender.error is None and self.receiver.error is None and self.session.error is None


class Claims:
    """The tokens of one client, by entity.

    One that neither a link needs nor a user has asked for is forgotten when it is to be renewed, or after a loss.
    """

    def __init__(self, client: LinkClient, cbs: Cbs, host: str) -> None:
        # Whose links need the tokens, and whose driver runs the renewals.
        self._client = client
        # The provider, and how an audience is written.
        self._cbs = cbs
        # The name of the server, for the audiences.
        self._host = host
        # By entity: the tokens that were put, or are to be.
        self._grants: dict[str, Grant] = {}
        # Where requests go on this connection; None before the first of them, and after a loss.
        self._pair: Pair | None = None
        # Done when the pair that somebody opens now is there, or can't be.
        self._opening: Pending[None] | None = None
        # How many requests and reply addresses were made: each has a number of its own in its name.
        self._count = 0

    async def admit(self, address: object) -> str:
        """Put a token for the entity of an address unless there is a good one; return the entity, "" for none.

        Raises TokenRefused, AnswerTimeout, EndpointClosed, and what the provider raises.
        """
        entity = entity_of(address)
        if entity:
            while True:
                await self._client.until_restored()
                try:
                    await self._granted(self._grant(entity))
                    break
                except EndpointClosed:
                    if self._client.restored is None:
                        raise
        return entity

    async def put(self, entity: str) -> None:
        """Put a token for an entity now, and keep it good as long as the connection lives."""
        grant = self._grant(entity.strip("/"))
        grant.is_kept = True
        grant.is_valid = False
        await self._granted(grant)

    def lost(self) -> None:
        """The connection is lost, and what was put on it."""
        self._pair = None
        for grant in self._grants.values():
            grant.is_valid = False
            self._stop(grant)

    def restore(self, then: Callable[[], object]) -> None:
        """Put all tokens again on a connection that is open again; `then` restores the rest."""
        self._driver.start(self._put_again(then))

    def renew_soon(self, grant: Grant) -> None:
        """Begin to renew a token."""
        self._driver.start(self._renew(grant))

    # Internals.

    @property
    def _driver(self) -> TaskDriver:
        driver = self._client.driver
        if not isinstance(driver, TaskDriver):
            raise TypeError(f"tokens need a driver that starts tasks, which {type(driver).__name__} isn't")
        return driver

    def _grant(self, entity: str) -> Grant:
        grant = self._grants.get(entity)
        if grant is None:
            if len(self._grants) >= _MOST:
                self._forget_old()
            grant = self._grants[entity] = Grant(self, entity)
        return grant

    def _forget_old(self) -> None:
        """Forget tokens that don't expire and that no link needs: the timers of the others see to those."""
        used = self._entities_of_links()
        for grant in list(self._grants.values()):
            is_idle = grant.is_valid and grant.timer is None and grant.under_way is None
            if is_idle and not grant.is_kept and grant.entity not in used:
                self._forget(grant)

    async def _granted(self, grant: Grant) -> None:
        """Wait until a token is there: the one that somebody else puts, or one of our own."""
        while not grant.is_valid:
            if grant.under_way is not None:
                await self._client.until(grant.under_way)
                continue
            await self._put(grant)

    async def _put(self, grant: Grant) -> None:
        client, driver = self._client, self._driver
        under_way: Pending[None] = client.pending()
        grant.under_way = under_way
        self._stop(grant)
        core = client.core
        try:
            now = driver.time_of_day()
            audience = Audience(self._cbs.audience.format(host=self._host, entity=grant.entity), now)
            token = await self._token(audience)
            await self._request(audience, token)
            if client.core is core and self._pair is not None:
                grant.is_valid = True
                grant.retry = 0.0
                if token.expires is not None:
                    grant.expires = token.expires
                    life = token.expires - now
                    self._renew_in(grant, max(_SOONEST, life - _LEFT * life))
        finally:
            grant.under_way = None
            client.complete(under_way)
            client.nudge()
            if not grant.is_valid and not self._is_used(grant):
                self._grants.pop(grant.entity, None)

    async def _token(self, audience: Audience) -> Token:
        """Ask the provider, for as long as an answer of the peer may take."""
        limit = self._client.answer_timeout
        try:
            token = await self._driver.ask(lambda: self._cbs.provider.token(audience), limit)
        except TimeoutError as error:
            raise AnswerTimeout(f"token for {audience}: none from the provider within {limit:g} seconds") from error
        if not isinstance(token, Token):
            raise TypeError(f"a token provider returned a {type(token).__name__}, not a Token")
        return token

    async def _request(self, audience: Audience, token: Token) -> None:
        """Put a token. Raises TokenRefused."""
        client = self._client
        what = f"token for {audience}"
        pair = await self._opened()
        self._count += 1
        number = f"{client.prefix}-cbs-{self._count}"
        fields: dict[str, Any] = {"operation": "put-token", "type": token.type, "name": str(audience)}
        if token.expires is not None:
            fields["expiration"] = Timestamp(int(token.expires * 1000))
        message = Message(
            AmqpValue(token.text),
            properties=Properties(message_id=number, reply_to=pair.receiver.name),
            application_properties=fields,
        )
        reply: Pending[Message] = client.pending()
        pair.inbox.waiting[number] = reply
        try:
            await pair.sender.wait_credit(self._limit, strict=True)
            outcome = await self._answer(pair.sender.core.send(message, settled=False), what)
            if isinstance(outcome, Rejected):
                error = outcome.error
                text = "" if error is None else f"{error.condition} {error.description or ''}".strip()
                raise TokenRefused(f"{what} refused: {text or 'rejected'}", description=text)
            if outcome is not None and not isinstance(outcome, Accepted):
                raise TokenRefused(f"{what} refused: the request was {type(outcome).__name__.lower()}")
            _check(await self._answer(reply, what), what)
        finally:
            pair.inbox.waiting.pop(number, None)
            client.complete(reply)

    async def _opened(self) -> Pair:
        """Return the links on the node, opened if they aren't there: a peer may detach links that are idle."""
        while True:
            if self._pair is not None and self._pair.is_open:
                return self._pair
            if self._opening is None:
                break
            await self._client.until(self._opening)
        client = self._client
        old, self._pair = self._pair, None
        if old is not None and old.session.error is None:
            old.session.core.close()
        opening: Pending[None] = client.pending()
        self._opening = opening
        try:
            self._pair = await self._open()
            return self._pair
        finally:
            self._opening = None
            client.complete(opening)
            client.nudge()

    async def _open(self) -> Pair:
        client = self._client
        core = client.core.open_session()
        # It isn't one that recovery begins again: tokens are put before the rest is restored.
        session = SessionState(client, core)
        session.is_own = True
        try:
            await self._answer(core.opening, "begin of the session for tokens")
            return await self._attach(session)
        except BaseException:
            # Nobody has it, so it is ended, as soon as it has begun.
            opening = core.opening
            if opening is not None and not opening.done:
                client.abandon(opening, lambda _: core.close())
            elif session.error is None:
                with suppress(AmqpError):
                    core.close()
                client.nudge()
            raise

    async def _attach(self, session: SessionState) -> Pair:
        client, core = self._client, session.core
        self._count += 1
        name = f"{client.prefix}-cbs-replies-{self._count}"
        inbox = ReplyInbox(client)
        target = Target(address=name)
        replies = core.open_receiver(
            Source(address=NODE), name=name, target=target, credit=_CREDIT, snd_settle_mode=0, rcv_settle_mode=0
        )
        receiver = ReplyRoutes(session, replies, _CREDIT, inbox, None)
        inbox.link = receiver
        requests = core.open_sender(
            Target(address=NODE), source=Source(address=NODE), snd_settle_mode=0, rcv_settle_mode=0
        )
        sender = SenderState(session, requests)
        for link in (receiver, sender):
            await self._answer(link.core.opening, f"attach of a link to {NODE}")
        return Pair(session, sender, receiver, inbox)

    async def _answer(self, pending: Pending[Any] | None, what: str) -> Any:
        """Wait for an answer, also while the connection is being restored."""
        assert pending is not None
        client = self._client
        client.driver.flush_soon()
        if not pending.done:
            await client.within(self._limit, pending, what, strict=True)
        if pending.error is not None:
            raise client.error_of(pending)
        return pending.result

    @property
    def _limit(self) -> float | None:
        return self._client.answer_timeout

    async def _put_again(self, then: Callable[[], object]) -> None:
        client = self._client
        core = client.core
        for grant in list(self._grants.values()):
            if not self._is_used(grant):
                self._forget(grant)
                continue
            try:
                await self._granted(grant)
            except AnswerTimeout as error:
                if client.core is core and client.recovery is not None:
                    client.recovery.fail_attempt(str(error))
                    client.nudge()
                return
            except Exception as error:
                if client.core is not core or client.core.report is not None:
                    return  # It is lost once more, and everything begins anew.
                # The links of this entity will be refused, those of the others won't.
                client.note(f"no token for {grant.entity!r} after the recovery: {_said(error)}", warns=True)
        if client.core is core and client.core.report is None and client.restored is not None:
            then()
            client.nudge()

    async def _renew(self, grant: Grant) -> None:
        client = self._client
        if not self._is_used(grant):
            self._forget(grant)
            return
        if grant.under_way is not None or client.restored is not None:
            return
        core = client.core
        try:
            await self._put(grant)
        except Exception as error:
            if client.core is not core or client.core.report is not None:
                return
            grant.is_valid = False
            grant.retry = min(grant.retry * 2 or _FIRST_RETRY, _LONGEST_RETRY)
            left = grant.expires - self._driver.time_of_day()
            if left > 0:
                # While the old one is good there is time to try more than once.
                grant.retry = min(grant.retry, max(_SOONEST, left / 2))
            what = f"the token for {grant.entity!r} isn't renewed, tried again in {grant.retry:g} seconds"
            client.note(f"{what}: {_said(error)}", warns=True)
            if self._is_used(grant):
                self._grants[grant.entity] = grant
                self._renew_in(grant, grant.retry)

    def _renew_in(self, grant: Grant, seconds: float) -> None:
        self._stop(grant)
        timer = self._client.after(seconds)
        grant.timer = timer
        timer.again = grant

    def _stop(self, grant: Grant) -> None:
        timer, grant.timer = grant.timer, None
        if timer is not None:
            self._client.stop(timer)

    def _forget(self, grant: Grant) -> None:
        self._stop(grant)
        self._grants.pop(grant.entity, None)

    def _is_used(self, grant: Grant) -> bool:
        """Whether a link needs the token, or a user has asked for it."""
        return grant.is_kept or grant.entity in self._entities_of_links()

    def _entities_of_links(self) -> set[str]:
        client = self._client
        sessions = [*client.sessions.values(), *client.lost_sessions]
        links: list[LinkRoutes[Any]] = [each for one in sessions for each in (*one.links.values(), *one.lost_links)]
        return {each.entity for each in links}


def _check(reply: Message, what: str) -> None:
    """Raise TokenRefused unless a reply says that the token is taken."""
    fields = reply.application_properties
    status = fields.get("status-code", fields.get("statusCode"))
    description = str(fields.get("status-description", fields.get("statusDescription")) or "")
    if not isinstance(status, int) or not 200 <= status < 300:
        text = " ".join([each for each in (str(status or "without a status"), description) if each])
        raise TokenRefused(f"{what} refused: {text}", status if isinstance(status, int) else 0, description)


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, AmqpError) else f"{type(error).__name__}: {error}"


def _quoted(text: str) -> str:
    return "".join([chr(octet) if octet in _SAFE else f"%{octet:02X}" for octet in text.encode()])


__all__ = [
    "JWT",
    "SAS_TOKEN",
    "Audience",
    "Cbs",
    "Claims",
    "EntraCredential",
    "SharedAccessKey",
    "Token",
    "TokenProvider",
]
