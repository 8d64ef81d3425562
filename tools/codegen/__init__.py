"""The code generator: turns facts of the specifications into the records of each version."""
