"""`amqp-sansio broker`: the in-memory broker on a port, for tests and demonstrations."""

from __future__ import annotations

import asyncio
import errno
import gc
import ssl
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from amqp_sansio.broker import Settings, User
from amqp_sansio.broker.settings import DialectName
from amqp_sansio.capture import NotACapture
from amqp_sansio_asyncio import BrokerServer, RecordTarget, on_stop, serve_broker
from amqp_sansio_asyncio.listening import Address, bind_sockets

from .addresses import announce, listening, parse_address
from .errors import CommandError, describe, say
from .files import check_outputs
from .record import check_recording, cut_torn_end
from .tls import make_context

if TYPE_CHECKING:
    from amqp_sansio.broker import Namespace
    from amqp_sansio_azure.servicebus.http_server import AdministrationServer

    from .page import PageServer

_BESIDE: Final = {
    "--page": ("page", "127.0.0.1:8080"),
    "--management": ("management API", "127.0.0.1:15672"),
    "--administration": ("administration", "127.0.0.1:5300"),
}
"""Servers beside the broker, by option: the name of each, and an address."""
_COLLECT = (10_000, 20, 10)
"""Garbage collection thresholds: new objects for a young collection, and collections for an older one."""


class _Options(NamedTuple):
    """The clients that may connect: also those of other machines, and pages in browsers from these origins."""

    allow_remote: bool
    origins: tuple[str, ...]


def broker_command(
    listen: Sequence[str],
    *,
    users: Sequence[str] = (),
    vhosts: Sequence[str] = (),
    record: Path | None = None,
    record_secrets: bool = False,
    page: str | None = None,
    management: str | None = None,
    ready_file: Path | None = None,
    tls: tuple[Path | None, Path | None, Path | None] = (None, None, None),
    allow_remote: bool = False,
    anonymous: bool = False,
    heartbeat: float = 60.0,
    product: str | None = None,
    dialect: DialectName = "",
    rabbitmq: str | None = None,
    auto_create: bool = False,
    origins: Sequence[str] = (),
) -> int:
    """Serve until it is told to stop; return the exit status.

    `tls` are the certificate, its key, and the authority of client certificates. Raises CommandError for unusable
    arguments, files and addresses.
    """
    settings = make_settings(
        users,
        vhosts,
        anonymous=anonymous,
        heartbeat=heartbeat,
        product=product,
        dialect=dialect,
        rabbitmq=rabbitmq,
        auto_create=auto_create,
    )
    serve_settings(
        settings,
        listen,
        record=record,
        record_secrets=record_secrets,
        page=page,
        management=management,
        ready_file=ready_file,
        tls=tls,
        allow_remote=allow_remote,
        origins=origins,
    )
    return 0


def serve_settings(
    settings: Settings,
    listen: Sequence[str],
    *,
    record: Path | None,
    record_secrets: bool,
    page: str | None,
    ready_file: Path | None,
    tls: tuple[Path | None, Path | None, Path | None],
    allow_remote: bool,
    namespace: Namespace | None = None,
    hint: str = "",
    management: str | None = None,
    administration: str | None = None,
    origins: Sequence[str] = (),
) -> None:
    """Serve a broker until it is told to stop; `hint` is said with the first port for PORT. Raises CommandError.

    `administration` is the address of Service Bus's, for a namespace of that.
    """
    addresses = [parse_address(each) for each in listen]
    others: list[Address | None] = []
    for option, text in zip(_BESIDE, (page, management, administration), strict=True):
        taken = [*addresses, *[each for each in others if each is not None]]
        others.append(None if text is None else _other_address(option, text, taken))
    context = make_context(*tls)
    check_outputs(
        {"--record": record, "--ready-file": ready_file},
        {"--tls-cert": tls[0], "--tls-key": tls[1], "--tls-ca": tls[2]},
    )
    if record is not None:
        check_recording(record)
    recording = record, record_secrets
    served = settings, namespace, hint
    options = _Options(allow_remote, tuple(origins))
    asyncio.run(_serve(served, addresses, context, recording, others, ready_file, options))


def _other_address(option: str, text: str, taken: Sequence[Address]) -> Address:
    """Return where something is served beside the broker. Raises CommandError."""
    what, example = _BESIDE[option]
    try:
        address = parse_address(text)
    except CommandError as error:
        raise CommandError(f"{option} {error}, such as {example}") from None
    if address in taken and address[1]:
        who = "the broker" if option == "--page" else "the broker or its page"
        text = f"{option} {text}: {who} listens there; give the {what} another port, or 0 for a free one"
        raise CommandError(text)
    return address


def make_settings(
    users: Sequence[str],
    vhosts: Sequence[str],
    *,
    anonymous: bool = False,
    heartbeat: float = 60.0,
    product: str | None = None,
    dialect: DialectName = "",
    rabbitmq: str | None = None,
    auto_create: bool = False,
) -> Settings:
    """Return the settings for the arguments. Raises CommandError.

    A user without a colon has no password, and logs in only with a client certificate.
    """
    known: dict[str, str | User] = {}
    for text in users:
        name, colon, password = text.partition(":")
        if not name or (colon and not password):
            raise CommandError(f"--user {name}: expected NAME:PASSWORD, or NAME for a user with a certificate")
        known[name] = User(password)
    settings = Settings(anonymous=anonymous, heartbeat=heartbeat, dialect=dialect, auto_create=auto_create)
    changes: dict[str, object] = {}
    if known:
        changes["users"] = known
    if vhosts:
        changes["vhosts"] = tuple(dict.fromkeys(["/", *vhosts]))
    if rabbitmq is not None:
        changes["rabbitmq"] = rabbitmq
    if product is not None:
        name, slash, version = product.partition("/")
        changes["product"] = name
        if slash:
            changes["product_version"] = version
    try:
        return settings.but(**changes)
    except ValueError as error:
        text = str(error)
        raise CommandError(text.replace("Settings.rabbitmq:", "--rabbitmq")) from None


async def _serve(
    served: tuple[Settings, Namespace | None, str],
    addresses: Sequence[Address],
    context: ssl.SSLContext | None,
    record: tuple[Path | None, bool],
    others: Sequence[Address | None],
    ready_file: Path | None,
    options: _Options,
) -> None:
    stop = asyncio.Event()
    page_address, management_address, administration_address = others
    allow_remote = options.allow_remote
    settings, namespace, hint = served
    path, secrets = record
    target: RecordTarget | None = path
    page: PageServer | None = None
    administration: AdministrationServer | None = None
    with on_stop(stop.set):
        # Another broker at the same address may be writing the recording: it is opened when the address is free.
        async with listening(addresses, allow_remote=allow_remote) as where:
            try:
                if path is not None:
                    cut_torn_end(path)
                if page_address is not None:
                    from .page import PageServer

                    page = PageServer(path)
                    target, settings = page.target, page.with_history(settings)
                server = await serve_broker(
                    settings,
                    sockets=where.sockets,
                    ssl=context,
                    record=target,
                    record_secrets=secrets,
                    namespace=namespace,
                    origins=options.origins,
                )
            except (OSError, NotACapture) as error:
                raise CommandError(describe(error)) from None
            # Messages and connections live long and are freed by their reference counts; the collector, which looks for
            # cycles, would traverse all of them again and again.
            gc.freeze()
            gc.set_threshold(*_COLLECT)
            announced = False
            try:
                if page is not None and page_address is not None:
                    await _start(page, server, page_address, allow_remote=allow_remote)
                if management_address is not None:
                    await _start_management(server, management_address, allow_remote=allow_remote)
                if administration_address is not None:
                    administration = _administration(namespace, server)
                    await _start_administration(administration, administration_address, context, allow_remote)
                say(f"listening on {where}{' with TLS' if context is not None else ''}; stop with Ctrl-C")
                if hint:
                    say(hint.replace("PORT", str(server.port)))
                if ready_file is not None:
                    announce(ready_file, where.asked)
                    announced = True
                await stop.wait()
            except OSError as error:
                raise CommandError(describe(error)) from None
            finally:
                if announced and ready_file is not None and ready_file.is_file():
                    with suppress(OSError):  # It may have been removed.
                        ready_file.resolve().unlink()
                count = server.connections
                if page is not None:
                    await page.close()
                if administration is not None:
                    await administration.close()
                await server.close()
                if page is not None:
                    page.end_recording()
    say(f"stopped; {count} connection{'' if count == 1 else 's'} closed")


async def _start(page: PageServer, server: BrokerServer, address: Address, *, allow_remote: bool) -> None:
    with _named("--page"):
        await page.start(server, address, allow_remote=allow_remote)
    say(f"page at {page.url}")


async def _start_management(server: BrokerServer, address: Address, *, allow_remote: bool) -> None:
    with _named("--management"):
        sockets = await bind_sockets(*address, allow_remote=allow_remote)
        await server.serve_management(sockets=sockets)
    say(f"management API at {server.management_url}/api")


def _administration(namespace: Namespace | None, server: BrokerServer) -> AdministrationServer:
    """Return the administration of a namespace of Service Bus, which doesn't listen yet."""
    from amqp_sansio_azure.servicebus import ServiceBusNamespace
    from amqp_sansio_azure.servicebus.administration import Administration
    from amqp_sansio_azure.servicebus.http_server import AdministrationServer

    assert isinstance(namespace, ServiceBusNamespace)
    return AdministrationServer(Administration(namespace), server.settle)


async def _start_administration(
    administration: AdministrationServer, address: Address, context: ssl.SSLContext | None, allow_remote: bool
) -> None:
    host, port = address
    with _named("--administration"):
        await administration.start(host, port, ssl=context, allow_remote=allow_remote)
    scheme = "http" if context is None else "https"
    say(f"administration at {scheme}://{f'[{host}]' if ':' in host else host}:{administration.port}")


@contextmanager
def _named(option: str) -> Generator[None]:
    """Name the option whose address can't be listened on. Raises CommandError."""
    try:
        yield
    except ValueError as error:
        raise CommandError(f"{option} {error}: --allow-remote") from None
    except OSError as error:
        free = "; port 0 takes a free one" if error.errno == errno.EADDRINUSE else ""
        raise CommandError(f"{option} {describe(error)}{free}") from None
