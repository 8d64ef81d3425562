"""The rules of 0-8 and 0-9-1, for both ends of a connection: state tables, and what channels remember."""
