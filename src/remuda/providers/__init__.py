"""Supply adapters: where machines come from. Each satisfies the `Provider` port of `remuda.pools.ports` by its shape."""
