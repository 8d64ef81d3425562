"""`make fuzz`: damaged and hostile octets for every part of the core that reads foreign input.

Three oracles: no undocumented exception, the same events however the octets are cut, and a cost that grows no faster
than the input (steps counted, not timed).
"""
