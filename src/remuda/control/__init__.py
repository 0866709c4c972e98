"""
The HTTP API of a running Remuda, on a Unix socket in the data directory that its owner alone may open.

`routes` is what a route is, `server` answers, `client` asks, `openapi` describes. Each room that has something to say
or to change brings its own routes; those that only read are plain functions of the store, so that a command can
answer them itself when nothing runs.
"""
