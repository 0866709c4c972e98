"""What the queue of our own brings to Remuda."""

from remuda.job import Command, Job, Section

JOB = Job(
    name="queue",
    commands={
        "submit": Command(
            "remuda.sources.queue.submit_commands:submit",
            "Hand a job in, as in remuda submit CLASS -- command.",
            Section.RUN,
            also=("run", "exec", "start"),
        ),
        "jobs": Command(
            "remuda.sources.queue.commands:jobs",
            "Look at jobs, their output, cancel and retry them.",
            Section.RUN,
            also=("ps", "job"),
        ),
    },
    views="remuda.sources.queue.routes:VIEWS",
)
