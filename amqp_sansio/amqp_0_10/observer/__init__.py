"""The observer of 0-10: both ends of a connection that others hold."""
