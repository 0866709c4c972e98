"""
The runtime: it turns observe, decide and act into supervised loops.

`controller` is what a loop runs, `loop` runs one, `supervise` runs several side by side, `health`, `metrics` and
`logs` report how they fare, `clock` is the only way to know the time.
"""
