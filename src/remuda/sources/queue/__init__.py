"""
The durable local job queue.

`rows` is every change as one transaction, `queue` the live queue that machines pull from, `output` the files a job
leaves behind, `routes` its part of the control API.
"""
