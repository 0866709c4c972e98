"""
The HTTP API of Prometheus, and of what speaks like it: Thanos, Mimir, VictoriaMetrics.

`access` says where it is and proves who we are; `transport` sends one request; `client` asks, repeats what is worth
repeating, and bounds what it takes at once; `split` cuts an answer into series while it comes in, `series` makes arrays
of them; `probe` asks what a diagnosis wants to know. Nothing is ever written there.
"""
