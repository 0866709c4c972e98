"""
The judgement of right-sizing: what every workload should ask for, and why.

`review` is pure: equal inputs give equal reviews, in whatever order they come. A container goes through modules that each know
one rule, in a `ContainerContext`: `usage_class` and `tiers` (what it is), `memory` and `cpu` (what it should ask for, with
`traces`, `rounding`, `kills`, `shortage`, `leaks`, `clamps` and `demands`), `certainty` (whether there is enough to go by),
`verdicts` (what that means). `quotas`, `ranges` and `advisors` look at all of them together, `order` says what matters most.
Steps describe every number, and `findings` everything a person must know.
"""

from remuda.rightsize.decide.review import review

__all__ = ["review"]
