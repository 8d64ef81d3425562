"""For tests: Hypothesis strategies for AMQP's data, one module for each version, and a simulator, `simulate`.

| module | strategies |
|---|---|
| `amqp_0_9_1`, `amqp_0_8` | `tables`, `records`, `methods`, `properties`, `messages`, `frames` |
| `amqp_0_10` | `values`, `maps`, `records`, `structs`, `controls`, `commands`, `headers`, `messages`, `frames` |
| `amqp_1_0` | `values`, `maps`, `records`, `performatives`, `outcomes`, `delivery_states`, `messages`, `frames` |

All generated data can be encoded and decodes to itself. They need Hypothesis, which the extra `amqp-sansio[testing]`
installs; nothing else of the library imports them.

>>> from amqp_sansio import Side
>>> from amqp_sansio.testing import amqp_0_9_1
>>> requests = amqp_0_9_1.methods(sent_by=Side.CLIENT)  # BasicQos(prefetch_count=17), ConnectionOpen(...)...
"""

__all__: list[str] = []
