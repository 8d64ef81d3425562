"""Route: the addresses at which a client's connection is tried, the first one and those of recovery, alike in every
adapter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from ..errors import EndpointClosed, VersionRefused
from ..uri import AmqpUri, parse
from .recovery import RecoveryPolicy, elsewhere, is_temporary

if TYPE_CHECKING:
    from .connection import AnyConnection
    from .driving import BaseClient, Config

Make: TypeAlias = Callable[[AmqpUri], "tuple[BaseClient[Any], AnyConnection[Any]]"]
"""Makes a client for an address, and what its user sees of it."""


class Try(NamedTuple):
    """An attempt at a first connection."""

    uri: AmqpUri
    client: BaseClient[Any]
    connection: AnyConnection[Any]


class Reopening(NamedTuple):
    """An attempt of recovery: where to, the core to go on with, and the seconds that it may take until that is open."""

    uri: AmqpUri
    core: Any
    seconds: float


class Route:
    """The addresses of one connection. Those for the first connection are tried in turn; where a server sends the
    client elsewhere, that comes next, as often as `RecoveryPolicy.redirects` says.

    With `wait`, in seconds, a first connection that can't be opened is tried again for that long, at the delays of the
    policy, or of `RecoveryPolicy()`: the server or its name may not be there yet. What a server refuses for good, or a
    certificate that isn't trusted, is raised at once.

    All clients are made at once, so a wrong argument for one address is an error now, not when it is needed. Raises
    UriError and ValueError.
    """

    def __init__(
        self, url: str | AmqpUri | Sequence[str | AmqpUri], policy: RecoveryPolicy | None, make: Make, wait: float = 0.0
    ) -> None:
        if not wait >= 0:
            raise ValueError(f"wait is in seconds, 0 or more, not {wait!r}")
        urls = [url] if isinstance(url, (str, AmqpUri)) else [*url]
        more = policy.addresses if policy is not None else ()
        uris = [parse(each) if isinstance(each, str) else each for each in (*urls, *more)]
        if not uris:
            raise ValueError("connect needs at least one URL")
        # Of recovery: with one, servers may send the client elsewhere.
        self._policy: Final = policy
        # Makes a client for an address.
        self._make: Final = make
        # The addresses of this round with their clients, the first one to be tried at `_place`.
        self._tries = [Try(uri, *make(uri)) for uri in uris]
        # The one under way.
        self._place = 0
        # How often in this round a server sent the client elsewhere; the policy bounds it.
        self._hops = 0
        # Seconds for which a first connection is tried again.
        self._wait: Final = wait
        # When the first attempt began, in seconds of the adapter's clock; None: nothing is tried again.
        self._begun: float | None = None
        # How often all addresses have failed: the delays grow with it.
        self._rounds = 0
        # The addresses as they were given, for the next round.
        self._uris: Final = uris

    def begin(self, now: float) -> None:
        """Note when the first attempt begins, from which `wait` counts, in seconds of the adapter's clock."""
        self._begun = now

    def next(self, seed: Callable[[], int]) -> Try:
        """Return the attempt to make; with a policy its client recovers from then on, because it may be lost in the
        moment in which it is open. `seed` returns a random number of 64 bits.
        """
        found = self._tries[self._place]
        if self._policy is not None:
            found.client.recover(self._policy, tuple([str(each.uri) for each in self._from_here()]), seed())
        return found

    def failed(self, error: OSError | EndpointClosed, now: float = 0.0, seed: Callable[[], int] | None = None) -> float:
        """Go on after the attempt has failed at `now`; return the seconds to wait before the next one. Raises its error
        if there is no other address, and no time left.

        `seed` returns a random number of 64 bits, from which the policy's jitter is made.
        """
        here = self._tries[self._place]
        target = self._redirected(here.uri, error)
        if target is not None:
            rest = [each for each in self._tries[self._place :] if each.uri != target]
            self._tries = [Try(target, *self._make(target)), *rest]
            self._place = 0
            self._hops += 1
            return 0.0
        if self._place < len(self._tries) - 1:
            self._place += 1
            return 0.0
        left = 0.0 if self._begun is None else self._begun + self._wait - now
        if left <= 0 or not _may_pass(error):
            if self._wait and self._rounds:
                error.add_note(f"it was tried {self._rounds + 1} times, for {self._wait:g} seconds (wait)")
            raise error
        policy = self._policy or RecoveryPolicy()
        delay = min(policy.first_delay * policy.factor**self._rounds, policy.ceiling)
        if seed is not None:
            delay *= 1 - policy.jitter * seed() / 2**64
        self._rounds += 1
        self._hops = 0
        self._place = 0
        self._tries = [Try(uri, *self._make(uri)) for uri in self._uris]
        return min(delay, left)

    def again(self, client: BaseClient[Any], place: int) -> Reopening:
        """Return the attempt of recovery that `Recovery.take_wanted` asks for."""
        uri = self._from_here()[place].uri
        if client.recovery is not None:
            uri = client.recovery.target(uri)
        client.where = f"{uri.host}:{uri.port}"
        core = self._make(uri)[0].core
        return Reopening(uri, core, opening_limit(uri, core.config))

    def _from_here(self) -> list[Try]:
        return [*self._tries[self._place :], *self._tries[: self._place]]

    def _redirected(self, uri: AmqpUri, error: OSError | EndpointClosed) -> AmqpUri | None:
        """Return where a server has sent the client, if that is to be followed."""
        report = error.report if isinstance(error, EndpointClosed) else None
        if report is None or self._policy is None or self._hops >= self._policy.redirects:
            return None
        return elsewhere(uri, report)


def _may_pass(error: OSError | EndpointClosed) -> bool:
    """Return whether a later attempt may succeed where this one has failed."""
    if isinstance(error, EndpointClosed):
        return not isinstance(error, VersionRefused) and (error.report is None or is_temporary(error.report))
    # The error of ssl is told by its name: the core does no TLS.
    return type(error).__name__ != "SSLCertVerificationError"


def unresolved(uri: AmqpUri, error: OSError) -> str:
    """Return what to say of a host name for which there is no address."""
    return f"no connection to {uri}: the host name {uri.host!r} doesn't resolve: {error.strerror or error}"


def opening_limit(uri: AmqpUri, config: Config) -> float:
    """Return the seconds that a connection may take until it is open."""
    return uri.connection_timeout or config.handshake_timeout


__all__ = ["Make", "Reopening", "Route", "Try", "opening_limit", "unresolved"]
