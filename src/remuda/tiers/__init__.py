"""Tiers: every namespace gets its class of service, and pods really get what the policy says."""
