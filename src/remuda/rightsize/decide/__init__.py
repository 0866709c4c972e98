"""
The judgement of right-sizing: what every workload should ask for, and why.

`review` is pure: equal inputs give equal reviews, in whatever order they come. A container is a `case` on its way through
modules that each know one rule: `evenness` and `tiers` (what it is), `memory` and `cpu` (what it should ask for, with
`traces`, `rounding`, `kills`, `shortage`, `leaks`, `clamps` and `demands`), `certainty` (whether there is enough to go by), `verdicts` (what
that means). `quotas`, `ranges` and `advisors` look at all of them together, `order` says what matters most. Every number
is told by steps, and everything a person must know by `findings`.
"""

from remuda.rightsize.decide.review import review

__all__ = ["review"]
