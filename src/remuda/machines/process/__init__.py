"""
Machines that are supervised process groups: a driver in Remuda, and a shim that holds each machine.

The two sides share a directory for each machine and the control socket, nothing else. `shim` and what it
imports (`launch`, `init`, `program`, `link`, `output`, `records` and others) are loaded by each shim: the standard library only.
"""
