"""The transport is cut at every octet."""

from tests.classic.endpoint.test_model import test_a_cut_at_any_octet_ends_every_handle_once

__all__ = ["test_a_cut_at_any_octet_ends_every_handle_once"]
