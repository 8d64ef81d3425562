"""One end of a 0-8 or 0-9-1 connection: its commands, events, opening and closing."""
