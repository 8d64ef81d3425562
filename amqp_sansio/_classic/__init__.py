"""The engine of 0-8 and 0-9-1."""
