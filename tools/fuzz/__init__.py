"""`make fuzz`: damaged and hostile octets for every part of the core that reads foreign input.

Five oracles: no undocumented exception, the same events however the octets are cut, a cost that grows no faster than
the input (steps counted, not timed), no more memory than its octets allow (all bombs and some of the other inputs), and
an end to what is kept once the limits are reached (bombs of entries).
"""
