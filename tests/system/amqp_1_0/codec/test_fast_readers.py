"""Readers of records: every octet at every place."""

from tests.amqp_1_0.codec.test_fast_readers import test_every_damage_to_a_full_record

__all__ = ["test_every_damage_to_a_full_record"]
