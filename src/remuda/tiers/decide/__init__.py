"""Judgement about tiers: what a cluster should have, and what is not as its tier says."""
