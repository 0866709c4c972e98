"""
Finds out why pools do not do what is wanted of them, and whether workloads are measured.

`observe` reads a cluster into a `Snapshot` from which every secret was taken, `decide` are pure checks of that, and a
bundle is that snapshot in a file: what is found offline is what was found live.
"""
