"""
The dashboard: pages over the HTTP API, live, for people; and the API itself over TCP, for programs.

The frame knows no job by name. A job's pages are part of what it describes (`Job.pages`, `Job.panels`); each is a function
of answers of the API, so that it is the same in `remuda up`, in `remuda web` beside it, and when nothing runs.
"""
