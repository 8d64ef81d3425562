"""The common part of clients under test: what `amqp-sansio probe --client` tells them, and how they answer."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple, NoReturn

from amqp_sansio import CloseReport, EndpointClosed

CANNOT: Final = 89
"""The exit status that says: this client can't do this."""


class Wanted(NamedTuple):
    """What the prober wants, from the environment.

    `do` is "open", "publish", "consume" or "rpc", `messages` their number. `reject`: a consumer rejects them.
    `busy`: seconds that the handler takes for each message.
    """

    url: str
    version: str
    do: str
    messages: int
    reject: bool
    queue: str
    size: int
    busy: float

    def body(self, number: int) -> bytes:
        """Return the body of a message."""
        return str(number).encode().ljust(self.size, b".")


def wanted(*versions: str) -> Wanted:
    """Read the environment; ends the program for a version that isn't one of these."""
    words = os.environ["AMQP_DO"].split()
    version = os.environ["AMQP_VERSION"]
    if version not in versions or words[0] not in ("open", "publish", "consume", "rpc"):
        cannot()
    return Wanted(
        os.environ["AMQP_URL"],
        version,
        words[0],
        int(words[1]) if len(words) > 1 else 1,
        words[-1] == "reject",
        os.environ["AMQP_QUEUE"],
        int(os.environ["AMQP_SIZE"]),
        float(os.environ["AMQP_BUSY"]),
    )


def cannot() -> NoReturn:
    """End the program: the client can't do this."""
    raise SystemExit(CANNOT)


def say(event: str, **about: object) -> None:
    """Tell the prober what happened: one line of JSON."""
    sys.stdout.write(json.dumps({"event": event, **about}) + "\n")
    sys.stdout.flush()


def published(number: int, outcome: str) -> None:
    """Tell what became of a message: "accepted", "rejected", "released", "modified", "returned" or "unknown"."""
    say("published", number=number, outcome=outcome)


def returned(bodies: Sequence[bytes], came_back: Collection[bytes]) -> None:
    """Tell of all messages where nobody confirms them: those that the server returned, and nothing of the others."""
    for number, body in enumerate(bodies, 1):
        published(number, "returned" if body in came_back else "unknown")


def received(body: bytes | str, redelivered: bool) -> None:
    """Tell of a message."""
    say("received", body=body if isinstance(body, str) else body.decode("utf-8", "replace"), redelivered=redelivered)


def closed(scope: str, code: object, text: object) -> None:
    """Tell that the server ended a "connection", "channel" or "link"."""
    say("closed", scope=scope, code=str(code), text=str(text))


def outcome_of(outcome: object) -> str:
    """Return the word for an outcome of this project's clients."""
    return type(outcome).__name__.lower()


def ended(error: EndpointClosed) -> None:
    """Tell what ended a connection of this project's clients, or a part of it."""
    if error.report is None:
        closed("", "", error)
    else:
        left(error.report)


def left(report: CloseReport) -> None:
    """Tell how a connection of this project's clients ended."""
    closed("", report.code or report.condition, report.text or report)
