"""What the observers of all versions share: streams, detection, units, outcomes, holders and ends."""
