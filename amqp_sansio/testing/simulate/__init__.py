"""A simulator: brokers, clients and their programs in one process, under one clock, one step at a time.

A `World` has pure brokers, programs with pure clients, a network and a clock. Nothing in it is real: no socket, no
time, no randomness. Each choice, such as which octets arrive next or whether a connection is cut now, comes from one
source, so a run repeats exactly. `explore` runs a program under every schedule with few faults and under random ones,
and reports what it loses, doubles or leaves unsettled, with the shortest schedule that shows it.

Programs are async functions over the clients of `amqp_sansio.client`. Those written for asyncio run unchanged, in
`amqp_sansio_asyncio.simulated`. docs/simulate.md is a guide.
"""

from __future__ import annotations

from .choices import Choices, Recorded, Schedule, Seeded
from .exploring import RANDOM, USUAL, Report, explore, replay
from .judging import Finding, Kind, Promise
from .network import Direction
from .programs import Process, Program
from .tasks import Pause, discard
from .world import CALM, Fault, Hazards, World

__all__ = [
    "CALM",
    "RANDOM",
    "USUAL",
    "Choices",
    "Direction",
    "Fault",
    "Finding",
    "Hazards",
    "Kind",
    "Pause",
    "Process",
    "Program",
    "Promise",
    "Recorded",
    "Report",
    "Schedule",
    "Seeded",
    "World",
    "discard",
    "explore",
    "replay",
]
