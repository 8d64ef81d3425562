"""Clients of 0-8 and 0-9-1 at the whole broker, against the naive model: what hypothesis has them do, both do."""

from __future__ import annotations

from typing import Any, ClassVar

from hypothesis import settings
from hypothesis import strategies as st

from tests.broker.front_classic import ClassicStage
from tests.broker.front_classic_machine import (
    OFTEN,
    PLAIN,
    WITHOUT_IMMEDIATE,
    ClassicMachine,
    Options,
    mostly,
    rarely,
)

LONG = settings(stateful_step_count=50)
"""What takes place only after other things have is found in long runs."""


class Rabbit091(ClassicStage):
    """0-9-1 as RabbitMQ has it."""

    dialect = "0-9-1-rabbit"


class Rabbit091Machine(ClassicMachine):
    """With what RabbitMQ added."""

    stage_type = Rabbit091
    properties = WITHOUT_IMMEDIATE
    weights: ClassVar[dict[str, int]] = {**OFTEN, "selects_confirms": 3, "binds_exchanges": 2, "unbinds_exchanges": 1}
    exchange_options: ClassVar[Options] = (
        *rarely("durable", "auto_delete", "internal"),
        {"alternate": "amq.fanout"},
        {"alternate": "amq.direct", "durable": True},
        {"alternate": "amq.topic", "auto_delete": True},
    )
    subscribe_options: ClassVar[Options] = (
        *rarely("settles", "exclusive", "no_local", "unnamed"),
        {"priority": 1},
        {"priority": -1, "settles": True},
    )


TestRabbit091 = Rabbit091Machine.TestCase
TestRabbit091.settings = LONG


class Rabbit08(ClassicStage):
    """0-8 as RabbitMQ had it."""

    dialect = "0-8-rabbit"


class Rabbit08Machine(ClassicMachine):
    """0-8 with RabbitMQ's habits."""

    stage_type = Rabbit08
    properties = WITHOUT_IMMEDIATE


TestRabbit08 = Rabbit08Machine.TestCase
TestRabbit08.settings = LONG


class SpecMachine(ClassicMachine):
    """Names in tables have no hyphens: there are none of RabbitMQ's arguments."""

    queue_arguments: ClassVar[st.SearchStrategy[dict[str, Any]]] = st.just(PLAIN)
    binding_arguments: ClassVar[Options] = mostly(PLAIN, {"h": "1"}, {"h": "1", "i": "2"})


class Spec091(ClassicStage):
    """0-9-1 as its specification has it."""

    dialect = "0-9-1"
    queue_compare = ("durable", "exclusive", "arguments")
    exchange_compare = ("type", "durable", "alternate")


class Spec091Machine(SpecMachine):
    """What the specification alone says."""

    stage_type = Spec091


TestSpec091 = Spec091Machine.TestCase
TestSpec091.settings = LONG


class Spec08(ClassicStage):
    """0-8 as its specification has it."""

    dialect = "0-8"
    queue_compare = ()
    exchange_compare = ("type",)


class Spec08Machine(SpecMachine):
    """What the specification of 0-8 alone says, which has no queue.unbind."""

    stage_type = Spec08
    weights: ClassVar[dict[str, int]] = {**OFTEN, "unbinds": 0}


TestSpec08 = Spec08Machine.TestCase
TestSpec08.settings = LONG
