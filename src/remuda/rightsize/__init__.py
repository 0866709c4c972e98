"""Rightsize: the size each workload really needs, from what it used."""
