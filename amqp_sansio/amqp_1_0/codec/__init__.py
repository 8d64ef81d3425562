"""Octets of 1.0: frames, composite types, values and messages."""
