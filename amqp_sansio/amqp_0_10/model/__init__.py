"""The rules of 0-10: state tables, and what each end of a session knows."""
