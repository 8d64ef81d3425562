"""`make fuzz`: damaged and hostile octets for every part of the core that reads what somebody else wrote.

Three oracles: no exception that isn't documented, the same events however the octets are cut, and a cost that grows
no faster than the input does (steps counted, not timed).
"""
