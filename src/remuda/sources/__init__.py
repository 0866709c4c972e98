"""Demand adapters: where needs come from. Each satisfies the `Source` port of `remuda.pools.ports` by its shape."""
