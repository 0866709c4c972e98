"""
Sources and providers that belong together, built for the job that uses them: part of the composition root.

Each module satisfies the backend port of a job by shape. A new one is named in `remuda.jobs`.
"""
