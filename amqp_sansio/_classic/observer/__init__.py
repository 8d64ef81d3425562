"""The observer of 0-8 and 0-9-1: both ends of a connection that others hold."""
