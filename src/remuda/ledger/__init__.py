"""
What happened and why, in one SQLite file that the running process writes, and commands only to keep a document.

`store` holds the file and its single writer, `schema` its versions, `record` what a loop writes each cycle, `history`
what `why` and `replay` read, `retention` what is forgotten, `documents` what commands keep for the next of their kind.
"""
