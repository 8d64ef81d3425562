"""The code generator: turns the XML of the specifications into the records of each version."""
