"""Reads workloads, what bounds them and what they used: from a cluster, from files, from Prometheus."""
