"""Offer: connects with the version that a URL names, or with the newest that the server doesn't refuse."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..client.settings import version_named
from ..errors import EndpointClosed, VersionRefused
from ..uri import AmqpUri, UriError, parse
from ..versions import AMQP_0_10, AMQP_1_0, Version, version_of
from .addresses import FORMS, Addresses

if TYPE_CHECKING:
    from ..client.connection import AnyConnection
    from .connection import Bounded, Connection

_OWN: Final = ("version", "addresses")
_LABELS: Final = ", ".join([each.label for each in Version])


class Offer:
    """The version to ask for, of those for a URL: the one that it names, else 1.0 and then what the server offers.

    `uris` are the URL, or several to try in turn, without the parameters that are read here, which the first has.
    `addresses` is the form of addresses in 1.0. Raises UriError, ValueError for parameters that contradict each other.
    """

    def __init__(
        self, url: str | AmqpUri | Sequence[str | AmqpUri], version: Version | str | None, addresses: Addresses | None
    ) -> None:
        urls = [url] if isinstance(url, (str, AmqpUri)) else url
        found_uris = [parse(each) if isinstance(each, str) else each for each in urls]
        if not found_uris:
            raise ValueError("connect needs at least one URL")
        label, wanted = _option(found_uris[0], "version"), _option(found_uris[0], "addresses")
        form: Addresses | None = next((each for each in FORMS if each == wanted), None)
        given = None if version is None else version_named(version)
        if label is not None:
            try:
                found = version_named(label)
            except ValueError as error:
                raise UriError(f"query: {error}", "query") from None
            if given is not None and given is not found:
                raise ValueError(f"the URL names AMQP {label}, version={given.label!r} another: give one of them")
            given = found
        if wanted is not None and form is None:
            raise UriError(f"query: addresses={wanted} is unknown; write one of {', '.join(FORMS)}", "query")
        self.uris = [_without_own(each) for each in found_uris]
        self.addresses: Addresses | None = addresses or form
        self.is_told = given is not None
        self.version = given or AMQP_1_0
        self._tried = [self.version]

    def options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of the version's own `connect`.

        Qpid's brokers know a virtual host of 1.0 by the hostname alone; "vhost:NAME", which the client makes of a URL's
        path, is RabbitMQ's form.
        """
        found = dict(options)
        vhosts = {each.vhost for each in self.uris} - {"/"}
        if self.version is AMQP_1_0 and self.addresses == "qpid" and len(vhosts) == 1:
            found.setdefault("hostname", vhosts.pop())
        return found

    async def connect(
        self, connect: Callable[..., Awaitable[AnyConnection[Any]]], options: Mapping[str, Any], bounded: Bounded
    ) -> Connection:
        """Connect with an adapter's `connect` of one version, as often as the server offers another; return the neutral
        client. `bounded` is the adapter's, see `Connection.request`.
        """
        while True:
            try:
                native = await connect(self.uris, version=self.version, **self.options(options))
            except EndpointClosed as error:
                self.refused(error)
            else:
                return self.neutral(native, bounded)

    def neutral(self, native: AnyConnection[Any], bounded: Bounded) -> Connection:
        """Return the neutral client over a connection of the version's own client."""
        # Programs load the engines of the versions that they use.
        found: Any = native
        if self.version is AMQP_1_0:
            from .amqp_1_0 import Messaging_1_0

            return Messaging_1_0(found, bounded, self.addresses)
        if self.version is AMQP_0_10:
            from .amqp_0_10 import Messaging_0_10

            return Messaging_0_10(found, bounded)
        from .classic import ClassicMessaging

        return ClassicMessaging(found, bounded)

    def refused(self, error: EndpointClosed | TimeoutError) -> None:
        """Go on to the version that the server offers in its refusal. Raises the error, with what to do, if there is
        none to go on to.
        """
        if self.is_told:
            raise error
        if not isinstance(error, VersionRefused):
            raise _advised(error) from error.__cause__
        offered = version_of(error.header)
        if offered is None or offered in self._tried:
            tried = ", ".join([each.label for each in self._tried])
            text = f"{error}; AMQP {tried} was tried, and {_LABELS} are spoken here: ask the server's operator for one"
            raise VersionRefused(text, error.report, error.header) from error.__cause__
        self.version = offered
        self._tried.append(offered)


def _without_own(uri: AmqpUri) -> AmqpUri:
    """Return the URI without the parameters that are read here."""
    fields = {name: getattr(uri, name) for name in AmqpUri.__match_args__}
    fields["options"] = tuple([each for each in uri.options if each[0] not in _OWN])
    return AmqpUri(**fields)


def _advised(error: EndpointClosed | TimeoutError) -> EndpointClosed | TimeoutError:
    """Return the error of an opening that ended without the server's header: the version may be the cause."""
    text = f"{error}; for TLS write amqps://, for an older version name it: ?version=0-9-1"
    if not isinstance(error, EndpointClosed):
        return TimeoutError(text)
    report = error.report
    return error if report is None or report.code or report.condition else EndpointClosed(text, report)


def _option(uri: AmqpUri, name: str) -> str | None:
    values = uri.option(name)
    if len(values) > 1:
        raise UriError(f"query: {name} for the second time; keep one", "query")
    return values[0] if values else None


__all__ = ["Offer"]
