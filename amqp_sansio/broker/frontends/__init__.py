"""The front ends: between the engine of each version and the model."""
