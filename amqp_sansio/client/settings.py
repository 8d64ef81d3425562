"""Settings of a client from its URL and its options, for every version. The randomness comes from the caller."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..sasl import MECHANISMS, client_mechanisms
from ..sasl._client import with_nonce
from ..uri import FIELDS, AmqpUri, UriError
from ..versions import Version

if TYPE_CHECKING:
    from ..sasl import ClientMechanism, MechanismRegistry

Draw: TypeAlias = Callable[[int], str]
"""Returns unpredictable text from so many random octets, in letters of URLs, as `secrets.token_urlsafe` does."""

ANSWER_TIMEOUT: Final = 60.0
"""Seconds for which a call waits for an answer that the server owes, without an option that says otherwise."""
OUTCOME_TIMEOUT: Final = 300.0
"""The same for what becomes of a message: its outcome, and credit or room before it is sent."""
OWN_OPTIONS: Final = ("answer_timeout", "connection_name", "hooks", "on_metrics", "outcome_timeout")
"""Options of every version that aren't fields of its `Config`."""
URL_OPTIONS: Final = ("connection_name", "version")
"""The parameters of a URL that a client reads beside those of `AmqpUri`."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint with the known name that is most like `name`, else with all of them.

    >>> nearest("hartbeat", ["heartbeat", "vhost"])
    "; did you mean 'heartbeat'?"
    >>> nearest("colour", ["heartbeat", "vhost"])
    '; known are heartbeat, vhost'
    """
    from difflib import get_close_matches  # Programs without a mistake don't load it.

    names = sorted(known)
    found = get_close_matches(name, names, 1)
    return f"; did you mean {found[0]!r}?" if found else f"; known are {', '.join(names)}"


def version_named(version: Version | str) -> Version:
    """Return a version by its label; "1-0" and "0.9.1" are understood too. Raises ValueError for an unknown one.

    >>> version_named("1.0").name
    'AMQP_1_0'
    """
    if isinstance(version, Version):
        return version
    likeness = str(version).upper().removeprefix("AMQP").strip(" _-").replace(".", "-").replace("_", "-")
    for each in Version:
        if each.label.replace(".", "-") == likeness:
            return each
    labels = ", ".join(f'"{each.label}"' for each in Version)
    raise ValueError(f"AMQP has no version {version!r}; give one of {labels}, or amqp_sansio.AMQP_1_0 and so on")


def check_options(version: Version, uri: AmqpUri, options: Mapping[str, Any], known: Iterable[str]) -> None:
    """Raise TypeError for an option that the version's `connect` doesn't take, UriError for a parameter of the URL that
    no client knows, or that names another version.
    """
    for name in options:
        if name not in known:
            raise TypeError(f"connect takes no {name!r} in AMQP {version.label}{nearest(name, known)}")
    for name, value in uri.options:
        if name not in URL_OPTIONS:
            text = f"the URL has an unknown parameter {name!r}{nearest(name, (*FIELDS, *URL_OPTIONS))}"
            raise UriError(text, "query")
        if name == "version" and version_named(value) is not version:
            raise UriError(
                f'the URL says version={value}, the call AMQP {version.label}; pass version="{value}" too', "query"
            )


def connection_name(uri: AmqpUri, options: Mapping[str, Any]) -> str | None:
    """Return the name of the connection that the options give, or the URL; None without any."""
    given: str | None = options.get("connection_name")
    return given if given is not None else next(iter(uri.option("connection_name")), None)


def named(properties: Mapping[str, Any], name: str | None) -> Mapping[str, Any]:
    """Return the client's properties with its connection's name, by which RabbitMQ and LavinMQ show it."""
    return properties if name is None else {**properties, "connection_name": name}


def login(uri: AmqpUri, options: Mapping[str, Any], names: Sequence[str], draw: Draw) -> tuple[ClientMechanism, ...]:
    """Return the mechanisms of the option `sasl`, or those called `names` with the user of the URL, each with fresh
    randomness for SCRAM.

    Without a user name in the URL, user and password are guest. Names are those of the option `registry`.
    """
    given: ClientMechanism | tuple[ClientMechanism, ...] | None = options.get("sasl")
    if given is None:
        registry: MechanismRegistry = options.get("registry", MECHANISMS)
        user = "guest" if uri.user is None else uri.user
        password = "guest" if uri.user is None and uri.password is None else uri.password or ""
        given = client_mechanisms(uri.auth_mechanism or names, user, password, registry=registry)
    # 24 random octets are 192 bits; RFC 5802 requires an unpredictable nonce.
    return tuple([with_nonce(each, draw(24)) for each in (given if isinstance(given, tuple) else (given,))])


def wait_limits(options: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Return `answer_timeout` and `outcome_timeout`. Raises ValueError unless they are above 0, or None."""
    limits = options.get("answer_timeout", ANSWER_TIMEOUT), options.get("outcome_timeout", OUTCOME_TIMEOUT)
    for name, seconds in zip(("answer_timeout", "outcome_timeout"), limits, strict=True):
        if seconds is not None and not seconds > 0:
            raise ValueError(f"{name} is in seconds, above 0, or None for no bound, not {seconds!r}")
    return limits


def random_name(draw: Draw) -> str:
    """Return a unique name of a container, a link or a session."""
    return f"amqp-sansio-{draw(12)}"


__all__ = [
    "ANSWER_TIMEOUT",
    "OUTCOME_TIMEOUT",
    "OWN_OPTIONS",
    "URL_OPTIONS",
    "Draw",
    "check_options",
    "connection_name",
    "login",
    "named",
    "nearest",
    "random_name",
    "version_named",
    "wait_limits",
]
