"""Captures."""
from .reader import CaptureReader, read_segments
