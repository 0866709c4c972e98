"""Machines and needs from files and from reports, checked before they reach the columns of a fleet."""
