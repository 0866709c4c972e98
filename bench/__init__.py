"""Benchmarks: what each promise costs on this machine. `make bench` prints one table."""
