"""Claims-based security over sockets, with a recording."""

from tests.asyncio.test_cbs import (
    test_a_refusal_has_its_description_and_concerns_its_entity_alone,
    test_a_token_is_put_before_the_first_link_of_an_entity,
    test_a_token_stands_in_no_recording_log_or_repr,
)

__all__ = [
    "test_a_refusal_has_its_description_and_concerns_its_entity_alone",
    "test_a_token_is_put_before_the_first_link_of_an_entity",
    "test_a_token_stands_in_no_recording_log_or_repr",
]
