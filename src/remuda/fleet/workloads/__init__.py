"""
Workloads: fleets and demands whose right answer is known, for measuring how long a decision takes.

This module needs no NumPy, so that a command can name the workloads without it.
"""

#: name → how many machines it has by default
SIZES: dict[str, int] = {
    "aggregate-warm": 500_000,
    "aggregate-cold": 500_000,
    "one-to-one-warm": 100_000,
    "one-to-one-cold": 100_000,
    "realistic": 60_000,
    "gangs": 60_000,
    "one-pool": 100_000,
    "churn": 500_000,
    "preempt": 500_000,
}
