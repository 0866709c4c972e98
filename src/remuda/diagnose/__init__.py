"""
Finds out why pools do not do what is wanted of them: observe, judge, tell.

`collect` reads a cluster into a `World` from which every secret was taken, `checks` are pure functions from that to
findings, and a bundle is that world in a file: what is found offline is what was found live.
"""
