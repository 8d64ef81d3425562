"""Simulates many messages and faults, for each version and settle mode."""
