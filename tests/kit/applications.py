"""What the applications at the two ends of a connection do with events, where a test doesn't care."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amqp_sansio import AuthenticationRequested, Event, OpenRequested
from amqp_sansio._classic.endpoint.connection import Connection as Classic
from amqp_sansio.amqp_0_9_1 import ContentReceived, Published, Request
from amqp_sansio.amqp_0_9_1.spec import Method
from amqp_sansio.amqp_1_0 import Connection, Delivery, LinkRequested, SessionRequested, Source, Target


def listen(connection: Any, event: Event) -> None:
    """An application that only listens."""


def let_in(connection: Any, event: Event) -> None:
    """A server's application that lets everybody in, and does nothing else."""
    match event:
        case AuthenticationRequested():
            connection.accept_authentication()
        case OpenRequested():
            connection.accept_open()
        case _:
            pass


# 0-8 and 0-9-1.


class Server:
    """What a server's application does with an event: lets everybody in, answers and confirms.

    Each switch turns one habit off. `answers` has methods to reply with, by the request's name, instead of what
    `plausible_reply` says; None answers nothing.
    """

    def __init__(
        self,
        *,
        login: bool = True,
        vhost: bool = True,
        reply: bool = True,
        confirm: bool = True,
        answers: dict[str, Callable[[Classic, Request], object]] | None = None,
    ) -> None:
        self.login = login
        self.vhost = vhost
        self.reply = reply
        self.confirm = confirm
        self.answers = answers or {}

    def __call__(self, connection: Classic, event: Event) -> None:
        match event:
            case AuthenticationRequested() if self.login:
                connection.accept_authentication()
            case OpenRequested() if self.vhost:
                connection.accept_open()
            case Request(channel, method) if method.NAME in self.answers:
                self.answers[method.NAME](connection, event)
            case Request(channel, method) if self.reply:
                answer(connection, channel, method)
            case Published(channel, number=number) if number and self.confirm:
                connection.channel(channel).confirm(number)
            case ContentReceived(channel, method) if method.REPLIES and self.reply:
                answer(connection, channel, method)
            case _:
                pass


class Client:
    """A client's application that does nothing by itself; it serves the requests that 0-8's servers make."""

    def __call__(self, connection: Classic, event: Event) -> None:
        match event:
            case Request(channel, method):
                answer(connection, channel, method)
            case _:
                pass


def answer(connection: Classic, number: int, request: Method) -> None:
    """Reply to `request` with what a broker might say."""
    reply = plausible_reply(connection, request)
    target = connection.channel(number) if number else connection
    target.reply(reply)


def plausible_reply(connection: Classic, request: Method) -> Method:
    """The first of the methods that may answer `request`, its fields copied from the request where names agree."""
    names = {kind.NAME: kind for kind in connection.dialect.replies[request.ID]}
    kind: Any = names.get("basic.get-empty") or next(iter(names.values()))
    values: dict[str, Any] = {}
    for name, wire_type in kind.FIELDS:
        if name in request.__match_args__ and wire_type != "bit":
            values[name] = getattr(request, name)
    if values.get("consumer_tag") == "":
        values["consumer_tag"] = f"amq.ctag-{len(connection.channels)}-{request.METHOD_ID}"
    reply: Method = kind(**values)
    return reply


# 1.0.


class Accepting:
    """An application that accepts everything: the client, its sessions and links, and every delivery.

    Each switch turns one habit off. `credit` is what an accepted receiving link is granted, again and again.
    """

    def __init__(
        self,
        *,
        login: bool = True,
        opening: bool = True,
        sessions: bool = True,
        links: bool = True,
        deliveries: bool = True,
        credit: int = 100,
    ) -> None:
        self.login = login
        self.opening = opening
        self.sessions = sessions
        self.links = links
        self.deliveries = deliveries
        self.credit = credit

    def __call__(self, connection: Connection, event: Event) -> None:
        match event:
            case AuthenticationRequested() if self.login:
                connection.accept_authentication()
            case OpenRequested() if self.opening:
                connection.accept_open()
            case SessionRequested(channel) if self.sessions:
                connection.session(channel).accept()
            case LinkRequested(channel, handle) if self.links:
                link: Any = connection.session(channel).link(handle)
                accept_link(link)
                if link.ROLE and self.credit:
                    link.flow(self.credit)
            case Delivery(channel, handle) if self.deliveries:
                receiver: Any = connection.session(channel).link(handle)
                if not event.settled:
                    receiver.accept(event)
                if self.credit:
                    receiver.top_up(self.credit)
            case _:
                pass


def accept_link(link: Any) -> None:
    """Answer a peer's attach; a dynamic node gets the link's name as its address."""
    asked = link.requested
    termini: dict[str, Any] = {}
    for name in ("source", "target"):
        terminus = getattr(asked, name)
        if isinstance(terminus, Source | Target) and terminus.dynamic:
            termini[name] = terminus.replace(address=f"dynamic-{link.name}")
    link.accept_attach(**termini)
