"""Reads a cluster, or files of one, into a snapshot."""
