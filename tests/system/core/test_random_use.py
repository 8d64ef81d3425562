"""An endpoint that is pickled goes on in another process."""

import pickle
import subprocess
import sys
from pathlib import Path

from amqp_sansio import Side
from tests.kit import pair_0_10

ROOT = Path(__file__).resolve().parents[3]

GO_ON = """
import pickle, sys
connection, octets = pickle.load(sys.stdin.buffer)
connection.receive_data(octets, 1.0)
events = []
while type(event := connection.next_event()).__name__ != "Signal":
    events.append(type(event).__name__)
print(events, connection.data_to_send(1.0).hex(), connection.next_deadline)
"""


def test_a_copy_goes_on_in_another_process() -> None:
    """Nothing that it needs is in this one's memory."""
    ends = pair_0_10.Pair().open()
    session, other = ends.sessions()
    session.transfer("", b"x")
    ends.pump()
    other.reject(0, code=1)
    ends.write(Side.SERVER)
    octets = bytes(ends.flying[Side.SERVER])
    result = subprocess.run(
        [sys.executable, "-c", GO_ON],
        input=pickle.dumps((ends.client, octets)),
        capture_output=True,
        check=False,
        cwd=ROOT,
    )
    assert result.returncode == 0, result.stderr
    ends.client.receive_data(octets, 1.0)
    ends.events[Side.CLIENT].clear()
    ends.drain(Side.CLIENT)
    names = [type(event).__name__ for event in ends.events[Side.CLIENT]]
    sent, deadline = ends.client.data_to_send(1.0).hex(), ends.client.next_deadline
    assert "Settled" in names
    assert result.stdout.decode().strip() == f"{names} {sent} {deadline}"
