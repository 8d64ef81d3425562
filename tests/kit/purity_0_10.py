"""A run of AMQP 0-10's engine in which time, randomness and I/O are forbidden; prints a digest of all it put out.

`python -m tests.kit.purity_0_10` is what the test starts, with different hash seeds.
"""

import pickle
import sys
from itertools import islice

from amqp_sansio import Event, Side
from amqp_sansio.amqp_0_10 import Message, MessageFlow, MessageSubscribe, QueueDeclare
from tests.kit.facing_0_10 import Play
from tests.kit.pair import SIDES, told
from tests.kit.pair_0_10 import Pair, client_config, server_config
from tests.kit.purity import LOGIN, digest_of, forbid, give_keys, numbers


class ScramPair(Pair):
    """A pair whose server has stored keys."""

    def hear(self, side: Side, event: Event) -> None:
        """As the base's, and answers the question for keys."""
        super().hear(side, event)
        give_keys(self.ends[side], event)


def log_in() -> list[str]:
    """An opening with SCRAM, maps with all sorts of keys, messages both ways, a lost transport, a resumed session."""
    properties = {f"key-{number}": {"nested": [number, str(number)]} for number in range(8)}
    client = client_config(sasl=LOGIN, properties=properties, heartbeat=5)
    server = server_config(mechanisms=("SCRAM-SHA-256", "PLAIN"), nonce="servers")
    pair = ScramPair(client=client, server=server).open()
    assert pair.server.mechanism == "SCRAM-SHA-256"
    session, other = pair.sessions()
    headers = {f"key-{number}": number for number in range(20)}
    session.transfer("", Message(bytes(100_000), routing_key="q", application_headers=headers))
    session.call(QueueDeclare("q", arguments=headers))
    session.call(MessageSubscribe("q", "d", 0, 0))
    session.call(MessageFlow("d", 0, None))
    session.call(MessageFlow("d", 1, None))
    pair.pump()
    other.transfer("d", b"x")
    for number in other.incomplete:
        other.complete(number)
    pair.pump()
    pair.now = 4.0
    for end in pair.ends.values():
        end.handle_timeout(pair.now)
    pair.pump()
    session.accept(0)
    pair.cut(200, 100)
    states = [each.detached_state() for each in (session, other)]
    again = ScramPair(client=client, server=server).open()
    session = again.client.resume_session(states[0])
    again.pump()
    again.server.accept_session(session.channel, pickle.loads(pickle.dumps(states[1])))
    again.pump()
    return [
        repr(session),
        *[told(event) for each in (pair, again) for side in SIDES for event in each.events[side]],
        *[bytes(each.sent[side]).hex() for each in (pair, again) for side in SIDES],
    ]


def drive(seed: int) -> list[str]:
    """What a random run shows."""
    octets = bytes([number % 256 for number in islice(numbers(seed), 600)])
    play = Play(octets, SIDES[seed % 2], above=(None, 0, 200)[seed % 3])
    play.run()
    return play.trace


def digest() -> str:
    return digest_of(log_in(), *[drive(seed) for seed in range(1, 9)])


if __name__ == "__main__":
    forbid()
    print(digest(), file=sys.stdout)
