"""What every version asks of a server that gets a protocol header it doesn't take."""

from __future__ import annotations

from collections.abc import Callable

from ..conversation import Conversation
from ..verdicts import Seen, Verdict, judged

REFUSED = "the octets of a protocol header that the server speaks, then the end of the connection"
HTTP = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


def refuses_header(talk: Conversation, octets: bytes, fits: Callable[[bytes], bool] = lambda said: True) -> Seen:
    """Send octets that are no header of this version; judge whether the server names one it takes, and hangs up."""
    talk.send(octets)
    ended = talk.ends()
    said = talk.said
    if not ended:
        return Seen(Verdict.BREAKS, f"the connection stays open; it said {said[:16].hex() or 'nothing'}")
    if len(said) == 8 and said.startswith(b"AMQP"):
        return judged(fits(said), f"the header {said.hex()}, then the end")
    if not said:
        return Seen(Verdict.BREAKS, f"no header: the connection is {talk.transport.how_it_ended}")
    return Seen(Verdict.BREAKS, f"{said[:32].hex()}, then the end")
