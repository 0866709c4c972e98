"""Capacity: a ceiling over the runner scale sets that share one capability label, audited, planned and guarded."""
