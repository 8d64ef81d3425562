"""The parts that every version shares. Nothing here knows a version."""
