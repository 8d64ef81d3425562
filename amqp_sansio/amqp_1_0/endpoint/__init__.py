"""One end of a 1.0 connection: its sessions, links, events, opening and closing."""
