"""The rules of 1.0: state tables, and what both halves of sessions, links and deliveries have said."""
