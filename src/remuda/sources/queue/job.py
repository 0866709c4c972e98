"""What the queue of our own brings to Remuda."""

from remuda.job import Command, Job, PageReference, Section

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
    pages=(
        PageReference(
            "/jobs",
            "remuda.sources.queue.pages:jobs_page",
            "/v1/jobs",
            menu="Jobs",
            query={
                "state": "Only this state.",
                "class": "Only this class.",
                "before": "Only older ones than this.",
            },
        ),
        PageReference("/jobs/{job}", "remuda.sources.queue.pages:job_page", "/v1/jobs/{job}"),
    ),
)
