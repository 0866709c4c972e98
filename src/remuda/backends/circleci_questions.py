"""What a diagnosis asks of CircleCI itself, beside what the cluster says."""

from remuda.diagnose.snapshot import Asked
from remuda.errors import BadInput
from remuda.loop.clock import SystemClock
from remuda.sources.circleci.client import Client
from remuda.sources.circleci.errors import CircleError


async def ask_circleci(url: str, token: str, job_class: str) -> Asked:
    """What CircleCI says of a class: its queue, its running tasks and its agents. It never raises."""
    try:
        client = Client(url, lambda: token, SystemClock())
    except BadInput as error:
        return Asked("redirect", str(error))
    try:
        waiting, running = await client.unclaimed(job_class), await client.running(job_class)
        listing = await client.agents(job_class)
    except CircleError as error:
        return Asked(error.outcome, str(error))
    finally:
        await client.close()
    agents = {name: worker.connected_at or worker.since for name, worker in listing.workers.items()}
    return Asked("answered", "", waiting, running, agents, max(listing.called_at.values(), default=0))
