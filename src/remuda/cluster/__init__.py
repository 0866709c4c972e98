"""
Objects from an API server instead of files, their statuses back, and who of several replicas leads.

`followed` reads the objects of every kind that jobs run, `status` writes what jobs say about them, `replica` is one
process among several, `preflight` says beforehand whether it will work.
"""
