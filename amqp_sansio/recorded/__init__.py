"""Recorded traffic as rows: tables, lifecycles, JSON lines, states at an instant, and histories of messages."""
