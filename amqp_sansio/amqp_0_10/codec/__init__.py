"""Octets of 0-10: frames, records and values."""
