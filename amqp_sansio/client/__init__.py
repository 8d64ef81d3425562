"""A client above the cores, pure: channels, sessions, consumers, requests, and how they wait."""
