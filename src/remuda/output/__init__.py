"""
One way to words, tables and exit codes.

`words` turns reasons into sentences and is the only place that does, `show` prints data as a table for a person or as
JSON, YAML, CSV or markdown for a program, `moments` writes instants and ages for people.
"""
