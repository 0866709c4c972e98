"""
Machines that are supervised process groups: a driver in Remuda, and a shim that holds each machine.

The two sides share a directory for each machine and the control socket, nothing else. `shim`, `launch`, `link`,
`output` and `records` are what a shim loads: the standard library only.
"""
