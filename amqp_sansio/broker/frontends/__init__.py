"""The front ends, which connect the engine of each version to the model."""
