"""Real hosts that take from one queue, for tests; what their jobs do is counted by themselves."""

import json

from tests.processes import Place, eventually
from tests.servers.postgres import PostgresServer

from remuda.model.jobs import Attempt, Job

#: beats come each 1.5 s and jobs are stopped after 9 s without: a loaded machine keeps that
LEASE_S = 15


class Hosts:
    """Several hosts on this one, and a file that all jobs write to. `standby` may take over from `server`."""

    def __init__(
        self,
        server: PostgresServer,
        schema: str,
        places: list[Place],
        standby: PostgresServer | None = None,
    ) -> None:
        self.server, self.schema, self.places, self._standby = server, schema, places, standby
        self.marks = places[0].mark("marks")

    def environ(self, here: Place) -> dict[str, str]:
        """Where the queue of a host is, and its store where there is a standby."""
        if self._standby is None:
            return {"REMUDA_QUEUE": self.server.url(self.schema)}
        store = f"{self.schema}_{self.places.index(here)}"
        return {
            "REMUDA_QUEUE": self.server.url_with(self._standby, self.schema),
            "REMUDA_STORE": self.server.url_with(self._standby, store),
        }

    def start(self, here: Place, lease_s: int = LEASE_S) -> None:
        here.start("--queue-lease", f"{lease_s}s", env=self.environ(here))

    def start_all(self, lease_s: int = LEASE_S) -> None:
        for each in self.places:
            self.start(each, lease_s)

    def name(self, here: Place) -> str:
        name: str = json.loads((here.data / "queue-host").read_bytes())["host"]
        return name

    def of(self, attempt: Attempt) -> Place:
        """Who runs an attempt."""
        host = attempt.machine.partition("/")[0]
        return next(each for each in self.places if self.name(each) == host)

    def lines(self) -> list[list[str]]:
        return [line.split() for line in self.marks.read_text().splitlines()]

    def count(self, what: str) -> int:
        return int(self.server.psql(f"SELECT count(*) FROM {self.schema}.{what}"))

    def beating(self, beats: int) -> str:
        """A job that writes its number, its try and the time, ten times a second; later tries are short."""
        return (
            f"most={beats}; [ $REMUDA_ATTEMPT = 1 ] || most=5; n=0; while [ $n -lt $most ]; do"
            f' echo "$REMUDA_JOB $REMUDA_ATTEMPT $(date +%s%N)" >> {self.marks}; n=$((n+1)); sleep 0.1; done'
        )

    def hand_in_beating(self, beats: int) -> tuple[int, Place]:
        """A job that may be tried twice, once it beats, and the host that it runs on."""
        number = self.places[0].submit("sh", "-c", self.beating(beats), retries=1)
        eventually(self.lines, "a sign of life of the job")
        return number, self.of(self.places[0].job(number).attempts[0])

    def ended(self, number: int, other: Place) -> Job:
        return eventually(
            lambda: job if (job := other.job(number)).state.is_end else None, "its end", deadline=120
        )

    def never_two(self, number: int) -> None:
        """All beats of one try are over before those of the next begin."""
        beats = [(int(attempt), int(at)) for job, attempt, at in self.lines() if int(job) == number]
        assert beats == sorted(beats, key=lambda each: each[1])
        assert [attempt for attempt, _ in beats] == sorted(attempt for attempt, _ in beats)
