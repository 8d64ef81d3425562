"""`make quick`: the tests nearest to what changed, as many as fit into half a minute.

`imports.py` keeps the map of which module imports which, `changes.py` asks git what changed, `choosing.py` ranks the
test modules, `costs.py` knows what they cost, `running.py` runs them in one process.
"""
