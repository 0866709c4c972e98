"""Workloads and what bounds them, read from a cluster or from files."""
