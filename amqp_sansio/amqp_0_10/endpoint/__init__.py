"""One end of a 0-10 connection: its sessions, commands, events, opening and closing."""
