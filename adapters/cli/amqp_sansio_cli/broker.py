"""`amqp-sansio broker`: the in-memory broker on a port, for tests and demonstrations."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import ssl
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from amqp_sansio.broker import DialectName, Settings, User
from amqp_sansio.capture import NotACapture, endpoint
from amqp_sansio_asyncio import BrokerServer, RecordTarget, serve_broker

from .errors import CommandError, describe, say
from .record import Address, announce, cut_torn_end, parse_address
from .tls import make_context

if TYPE_CHECKING:
    from .page import PageServer

_COLLECT = (10_000, 20, 10)
"""Garbage collection thresholds: new objects for a young collection, and collections for an older one."""


def broker_command(
    listen: str,
    *,
    users: Sequence[str] = (),
    vhosts: Sequence[str] = (),
    record: Path | None = None,
    record_secrets: bool = False,
    page: str | None = None,
    ready_file: Path | None = None,
    tls: tuple[Path | None, Path | None, Path | None] = (None, None, None),
    allow_remote: bool = False,
    anonymous: bool = False,
    heartbeat: float = 60.0,
    product: str | None = None,
    dialect: DialectName = "",
) -> int:
    """Serve until SIGINT or SIGTERM; return the exit status.

    `tls` are the certificate, its key, and the authority of client certificates. Raises CommandError for unusable
    arguments, files and addresses.
    """
    settings = make_settings(users, vhosts, anonymous=anonymous, heartbeat=heartbeat, product=product, dialect=dialect)
    address = parse_address(listen)
    page_address = None if page is None else _page_address(page, address)
    context = make_context(*tls)
    if record is not None:
        try:
            cut_torn_end(record)
        except (OSError, NotACapture) as error:
            raise CommandError(describe(error)) from None
    recording = record, record_secrets
    asyncio.run(_serve(settings, address, context, recording, page_address, ready_file, allow_remote=allow_remote))
    return 0


def _page_address(text: str, broker: Address) -> Address:
    try:
        address = parse_address(text)
    except CommandError as error:
        raise CommandError(f"--page {error}, such as 127.0.0.1:8080") from None
    if address == broker and address[1]:
        raise CommandError(f"--page {text}: the broker listens there; give the page another port, or 0 for a free one")
    return address


def make_settings(
    users: Sequence[str],
    vhosts: Sequence[str],
    *,
    anonymous: bool = False,
    heartbeat: float = 60.0,
    product: str | None = None,
    dialect: DialectName = "",
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
    settings = Settings(anonymous=anonymous, heartbeat=heartbeat, dialect=dialect)
    changes: dict[str, object] = {}
    if known:
        changes["users"] = known
    if vhosts:
        changes["vhosts"] = tuple(dict.fromkeys(["/", *vhosts]))
    if product is not None:
        name, slash, version = product.partition("/")
        changes["product"] = name
        if slash:
            changes["product_version"] = version
    try:
        return settings.but(**changes)
    except ValueError as error:
        raise CommandError(str(error)) from None


async def _serve(
    settings: Settings,
    address: Address,
    context: ssl.SSLContext | None,
    record: tuple[Path | None, bool],
    page_address: Address | None,
    ready_file: Path | None,
    *,
    allow_remote: bool,
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    path, secrets = record
    target: RecordTarget | None = path
    page: PageServer | None = None
    try:
        if page_address is not None:
            from .page import PageServer

            page = PageServer(path)
            target, settings = page.target, page.with_history(settings)
        opening = serve_broker(
            settings, *address, ssl=context, record=target, record_secrets=secrets, allow_remote=allow_remote
        )
        server = await opening
    except ValueError as error:
        raise CommandError(f"{error}: --allow-remote") from None
    except OSError as error:
        raise CommandError(_unusable(error, address)) from None
    # Messages and connections live long and are freed by their reference counts; the collector, which looks for cycles,
    # would traverse all of them again and again.
    gc.freeze()
    gc.set_threshold(*_COLLECT)
    where = endpoint(server.host.partition("%")[0], server.port)
    announced = False
    try:
        if page is not None and page_address is not None:
            await _start(page, server, page_address, allow_remote=allow_remote)
        say(f"listening on {where}{' with TLS' if context is not None else ''}; stop with Ctrl-C")
        if ready_file is not None:
            announce(ready_file, where)
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
        await server.close()
        if page is not None:
            page.end_recording()
    say(f"stopped; {count} connection{'' if count == 1 else 's'} closed")


async def _start(page: PageServer, server: BrokerServer, address: Address, *, allow_remote: bool) -> None:
    try:
        await page.start(server, address, allow_remote=allow_remote)
    except ValueError as error:
        raise CommandError(f"--page {error}: --allow-remote") from None
    except OSError as error:
        raise CommandError(f"--page {_unusable(error, address)}; port 0 takes a free one") from None
    say(f"page at {page.url}")


def _unusable(error: OSError, address: Address) -> str:
    """Return one line about an unusable address or recording."""
    if error.filename is not None:
        return describe(error)
    if isinstance(error, socket.gaierror) or error.errno is None:
        return f"{endpoint(*address)}: {error.strerror or error}".lower()
    return f"{endpoint(*address)}: {os.strerror(error.errno).lower()}"
