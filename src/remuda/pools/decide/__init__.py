"""
The judgement of pools: how many machines each pool should have, which to make and which to let go.

`decide` is pure: equal inputs give equal plans, whatever the machine, the day or the hash seed. It works in steps,
each in a module of its own: `model` (what is seen, remembered and set), `census` (who is where), `concurrency` (which
tasks may run at all), `target` (how many machines a pool wants), `backoff` (how many it may make after failures),
`ceiling` (how many it gets of what it shares), `moves` (which come and go), `possibly_busy` (of which nobody says whether they work), `reasons` (why) and `judge` (the
whole); a `pool_decision` is one pool on its way through them.
"""

from remuda.pools.decide.judge import decide

__all__ = ["decide"]
