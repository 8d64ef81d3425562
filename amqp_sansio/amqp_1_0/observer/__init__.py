"""The observer of 1.0: both ends of a connection that others hold."""
