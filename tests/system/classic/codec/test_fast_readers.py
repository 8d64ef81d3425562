"""Readers of properties: all words of flags."""

from tests.classic.codec.test_fast_readers import test_every_word_of_flags

__all__ = ["test_every_word_of_flags"]
