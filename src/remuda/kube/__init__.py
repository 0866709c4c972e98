"""
The Kubernetes API, thin: what Remuda needs of it and nothing more.

`config` finds a cluster and `credentials` prove who we are; `client` asks, `resources` says where things are and
`discovery` which versions a server has; `cache` follows a kind of object without missing a deletion; `lease` elects one
leader; `events` are for people; `rbac` is the one table of what each command may do.
"""
