"""Reads what a diagnosis looks at: a cluster, what measures workloads, or a bundle; secrets are taken out on the way."""
