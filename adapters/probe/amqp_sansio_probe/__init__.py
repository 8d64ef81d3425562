"""A conformance tester for AMQP: cases that say what a rule asks of a server or client, and judge what it does.

`amqp-sansio probe` is made of it. `Runner` runs `CASES` against what an `Opener` opens: sockets, by `SocketOpener`, or
anything else that carries octets. `page` has the page of several runs side by side.
"""

from __future__ import annotations

from .capabilities import Capabilities, find_capabilities
from .case import Case
from .cases import CASES
from .client_case import ClientCase
from .client_cases import CLIENT_CASES
from .client_running import ClientRunner
from .conversation import Login, Names, Patience
from .listening import Listener, SocketListener
from .profiles import PROFILES
from .programs import Command, Program
from .running import Result, Runner
from .transport import Opener, SocketOpener, Transport
from .verdicts import Verdict

__all__ = [
    "CASES",
    "CLIENT_CASES",
    "PROFILES",
    "Capabilities",
    "Case",
    "ClientCase",
    "ClientRunner",
    "Command",
    "Listener",
    "Login",
    "Names",
    "Opener",
    "Patience",
    "Program",
    "Result",
    "Runner",
    "SocketListener",
    "SocketOpener",
    "Transport",
    "Verdict",
    "find_capabilities",
]
