"""An audit of tiers, for people and programs."""
