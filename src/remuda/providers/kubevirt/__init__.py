"""Machines as KubeVirt virtual machines."""
