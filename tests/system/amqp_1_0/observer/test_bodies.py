"""Many deliveries that never end."""

from tests.amqp_1_0.observer.test_bodies import test_deliveries_that_never_end_are_not_held_for_ever

__all__ = ["test_deliveries_that_never_end_are_not_held_for_ever"]
