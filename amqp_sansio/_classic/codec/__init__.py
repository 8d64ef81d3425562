"""Octets of 0-8 and 0-9-1: frames, methods, properties, field tables, and their dialects."""
