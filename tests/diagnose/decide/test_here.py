"""What `remuda diagnose` makes of a data directory and of who works with it."""

from typing import Any

import pytest
from msgspec import structs

from remuda.diagnose.decide.here import judge_here, judge_process
from remuda.diagnose.here import Here, Process, SeenLoop, SeenPort, SeenQueue, SeenStore
from remuda.model.checks import CheckResult
from remuda.model.databases import ServerCondition
from remuda.model.jobs import QueueHost
from remuda.model.times import DAY, HOUR, MINUTE, SECOND

NOW = 1_900_000_000_000
MIB = 2**20
PORTS = (SeenPort("--health-port", 8000), SeenPort("--live-port", 8001))
STORE = SeenStore(version=3, bytes=2 * MIB, used_bytes=MIB, oldest_at=NOW - 2 * DAY, newest_at=NOW - SECOND)
PROCESS = Process("0.2.0", 42, keep_ms=7 * DAY, keep_bytes=256 * MIB)
LOOP = SeenLoop("pools", "running", last_success_at=NOW - SECOND)
RUNS: dict[str, Any] = {
    "free_bytes": 1024 * MIB,
    "free_files": 1_000_000,
    "store": STORE,
    "answering": "answers",
    "holder": 42,
    "process": PROCESS,
    "loops": (LOOP,),
    "ports": PORTS,
}


def here(**facts: Any) -> Here:
    return Here(**{"now": NOW, "version": "0.2.0", "data_dir": "/d", **RUNS, **facts})


def judged(**facts: Any) -> dict[str, CheckResult]:
    return {item.check: item for item in judge_here(here(**facts))}


def test_a_remuda_that_runs_well_has_no_problem_and_causes_come_first() -> None:
    found = judged()
    assert {name: item.verdict for name, item in found.items()} == dict.fromkeys(
        ["data-directory", "disk", "store", "clock", "process", "ports", "reload", "loops", "foreign"], "ok"
    )
    assert found["process"].message == "remuda 0.2.0 answers (pid 42)"
    assert found["store"].evidence == (
        "version 3, 2.0Mi, 0% of --keep-size 256.0Mi",
        "history since 2030-03-15T17:46:40Z (2d)",
    )
    assert found["loops"].message == "1 loop in order: pools"


NOBODY = {"answering": "nobody", "holder": None, "process": None, "loops": ()}
CASES: list[tuple[str, str, dict[str, Any], str, str, str, str]] = [
    # what, check, facts, verdict, message, evidence, fix
    (
        "a directory of others",
        "data-directory",
        {"unfit": "it belongs to user 7"},
        "problem",
        "not fit",
        "user 7",
        "",
    ),
    (
        "other files",
        "data-directory",
        {"strangers": ("notes.txt",)},
        "ok",
        "ours alone",
        "left alone: notes.txt",
        "",
    ),
    ("a full disk", "disk", {"free_bytes": MIB}, "problem", "full", "1.0Mi free below /d", "--keep-size"),
    ("no more inodes", "disk", {"free_files": 3}, "problem", "full", "3 more files", "inodes"),
    (
        "files that are not counted",
        "disk",
        {"free_files": None},
        "ok",
        "there is room: 1,024.0Mi free",
        "",
        "",
    ),
    ("much room", "disk", {"free_bytes": 2**40}, "ok", "there is room: 1,024.0Gi free", "", ""),
    ("no ballast", "disk", {"has_ballast": False}, "problem", "full", "ballast", "laid out again"),
    ("no ballast at rest", "disk", {"has_ballast": False, **NOBODY}, "ok", "there is room", "", ""),
    ("an unknown disk", "disk", {"free_bytes": None}, "unknown", "could not be found out", "", ""),
    (
        "a store that is no file",
        "store",
        {"store": SeenStore(address="postgresql://db.example/remuda")},
        "ok",
        "the store answers",
        "postgresql://db.example/remuda",
        "",
    ),
    ("no store", "store", {"store": None, **NOBODY}, "ok", "there is no store yet", "", ""),
    (
        "a store that was removed",
        "store",
        {"store": None},
        "problem",
        "gone",
        "somebody removed it",
        "backup",
    ),
    (
        "a damaged store",
        "store",
        {"store": SeenStore("d is damaged")},
        "problem",
        "cannot be read",
        "d is damaged",
        "",
    ),
    ("an empty store", "store", {"store": SeenStore(version=3)}, "ok", "whole", "version 3, 0.0Mi", ""),
    ("a store at rest", "store", {"process": None}, "ok", "whole", "version 3, 2.0Mi", ""),
    (
        "a store at its quota",
        "store",
        {"store": SeenStore(version=3, bytes=300 * MIB, used_bytes=250 * MIB, oldest_at=NOW - DAY)},
        "ok",
        "whole",
        "given up before it is 7d old (--keep): --keep-size is full; raise it",
        "",
    ),
    (
        "a clock that is behind what is recorded",
        "clock",
        {"store": SeenStore(newest_at=NOW + 2 * HOUR)},
        "problem",
        "cannot be relied on",
        "2h ahead of this clock",
        "timedatectl",
    ),
    (
        "a clock that was set back",
        "clock",
        {"store": SeenStore(newest_at=NOW, set_back=(("pools", NOW - HOUR, NOW - 2 * HOUR),))},
        "problem",
        "cannot be relied on",
        "set back by 1h",
        "timedatectl",
    ),
    (
        "a clock that was set back long ago",
        "clock",
        {"store": SeenStore(newest_at=NOW, set_back=(("pools", NOW - DAY, NOW - 2 * DAY),))},
        "ok",
        "agrees with what is recorded",
        "2030-03-17T17:46:40Z",
        "",
    ),
    (
        "a server ahead",
        "clock",
        {"process": Process("0.2.0", 42, 5 * MINUTE)},
        "problem",
        "relied",
        "5m ahead of",
        "",
    ),
    (
        "a server behind",
        "clock",
        {"process": Process("0.2.0", 42, -5 * MINUTE)},
        "problem",
        "relied",
        "5m behind",
        "",
    ),
    ("nothing recorded", "clock", {"store": None}, "ok", "nothing is recorded", "", ""),
    (
        "nobody yet",
        "process",
        {**NOBODY, "store": None},
        "ok",
        "nothing has run with /d yet",
        "remuda up FILE",
        "",
    ),
    ("nobody now", "process", NOBODY, "ok", "ended in good order", "last record", ""),
    (
        "a death",
        "process",
        {**NOBODY, "answering": "died"},
        "problem",
        "ended unexpectedly",
        "socket",
        "remuda up FILE",
    ),
    (
        "a silent process",
        "process",
        {**NOBODY, "answering": "silent", "silence": "no answer within 10 s", "holder": 42},
        "problem",
        "does not answer",
        "pid 42 holds /d",
        "stop it and start it again",
    ),
    (
        "a silent server",
        "process",
        {**NOBODY, "answering": "silent", "silence": "no answer within 10 s"},
        "problem",
        "does not answer",
        "no answer within 10 s",
        "stop it and start it again",
    ),
    (
        "a process without a socket",
        "process",
        {**NOBODY, "holder": 42},
        "problem",
        "cannot be asked",
        "pid 42",
        "wait",
    ),
    (
        "an older version",
        "process",
        {"process": None},
        "unknown",
        "older version",
        "does not say",
        "start it again",
    ),
    (
        "another version",
        "process",
        {"process": Process("0.1.0", 42)},
        "problem",
        "something is wrong",
        "pid 42 is version 0.1.0, and this command is 0.2.0",
        "start it again",
    ),
    ("a lost lease", "process", {"trouble": ("lost",)}, "problem", "something is wrong", "lost", ""),
    ("unknown ports", "ports", {"ports": ()}, "unknown", "not known", "", ""),
    (
        "an unready page",
        "ports",
        {"ports": (SeenPort("--health-port", 80, "503"),)},
        "problem",
        "not well",
        "port 80 (--health-port): 503",
        "look at what it says",
    ),
    (
        "a taken port",
        "ports",
        {**NOBODY, "ports": (SeenPort("--health-port", 80, "address already in use"),)},
        "problem",
        "in use",
        "port 80 (--health-port): address already in use",
        "--health-port 0",
    ),
    (
        "a store that cannot be read",
        "process",
        {**NOBODY, "store": SeenStore(trouble="it is of a newer version")},
        "ok",
        "no remuda runs",
        "cannot be read",
        "",
    ),
    (
        "a dashboard",
        "ports",
        {"ports": (SeenPort("--health-port", 80), SeenPort("--web-port", 81))},
        "ok",
        "health, metrics and the dashboard answer at 80, 81",
        "",
        "",
    ),
    ("free ports", "ports", NOBODY, "ok", "ports 8000, 8001 are free", "", ""),
    (
        "a refused reload",
        "reload",
        {"refused_reload": ("a.yaml:3:1: no",)},
        "problem",
        "refused",
        "a.yaml:3:1",
        "validate",
    ),
    ("no loop", "loops", {"loops": ()}, "ok", "there is no loop", "", ""),
    (
        "a paused loop",
        "loops",
        {"loops": (SeenLoop("pools", "paused"),)},
        "problem",
        "not every",
        "paused",
        "resume pools",
    ),
    (
        "a loop that stays paused",
        "loops",
        {**NOBODY, "paused": ("pools",)},
        "problem",
        "a loop is paused",
        "stays so at the next start",
        "remuda loops resume pools",
    ),
    ("no loop that stays paused", "loops", NOBODY, "ok", "no loop is paused", "", ""),
    (
        "a failing loop",
        "loops",
        {"loops": (SeenLoop("pools", "failing", "no"),)},
        "problem",
        "not",
        "fails: no",
        "by itself",
    ),
    (
        "a broken loop",
        "loops",
        {"loops": (SeenLoop("pools", "broken", "no"),)},
        "problem",
        "not",
        "stopped: no",
        "bundle",
    ),
    (
        "a starting loop",
        "loops",
        {"loops": (SeenLoop("pools", "starting"),)},
        "problem",
        "not",
        "is starting",
        "in a moment",
    ),
    ("a standby", "loops", {"loops": (SeenLoop("pools", "standby"),)}, "ok", "1 loop in order", "", ""),
    ("a new loop", "loops", {"loops": (SeenLoop("pools", "running"),)}, "ok", "1 loop in order", "", ""),
    (
        "a slow loop",
        "loops",
        {"loops": (SeenLoop("pools", "running", last_success_at=NOW - MINUTE),)},
        "problem",
        "not every",
        "ended 1m ago",
        "remuda_loop_cycle_seconds",
    ),
    (
        "a slow loop of an older version",
        "loops",
        {"process": None, "loops": (SeenLoop("pools", "running", last_success_at=NOW - MINUTE),)},
        "problem",
        "not every",
        "ended 1m ago",
        "",
    ),
    (
        "a loop with a long interval",
        "loops",
        {
            "process": Process("0.2.0", 42, interval_s=60),
            "loops": (SeenLoop("pools", "running", last_success_at=NOW - MINUTE),),
        },
        "ok",
        "1 loop in order",
        "",
        "",
    ),
    (
        "foreign machines",
        "foreign",
        {"foreign_machines": 1},
        "problem",
        "another store",
        "1 machine and",
        "store clean",
    ),
    (
        "foreign output",
        "foreign",
        {"foreign_attempts": 2},
        "problem",
        "another store",
        "2 attempts",
        "store foreign",
    ),
    ("nobody who knows of foreign ones", "foreign", NOBODY, "unknown", "only while remuda runs", "", ""),
]


@pytest.mark.parametrize(
    ("check", "facts", "verdict", "message", "evidence", "fix"),
    [pytest.param(*case, id=what) for what, *case in CASES],
)
def test_what_is_seen_gets_a_verdict_evidence_and_a_fix(
    check: str, facts: dict[str, Any], verdict: str, message: str, evidence: str, fix: str
) -> None:
    found = judged(**facts)[check]
    assert found.verdict == verdict
    assert message in found.message
    assert evidence in " ".join(found.evidence)
    assert fix in " ".join(found.fix)
    if verdict == "problem":
        assert found.evidence


def test_of_a_directory_that_is_not_there_only_what_keeps_from_starting_is_judged() -> None:
    assert [item.check for item in judge_here(here(is_there=False, store=None, **NOBODY))] == [
        "process",
        "ports",
    ]


def test_of_a_server_elsewhere_only_what_it_says_itself_is_judged() -> None:
    assert [item.check for item in judge_process(here(is_there=False))] == ["process", "reload", "loops"]


SERVER = ServerCondition(
    version="17.2",
    round_trip_ms=0.4,
    ahead_ms=3,
    connections=12,
    most_connections=97,
    is_standby=False,
    synchronous_commit="on",
    synchronous_standbys="",
    standbys=0,
    autovacuum=True,
    live_rows=100,
    dead_rows=10,
    bytes=MIB,
    may_create=True,
    holder="build-1, pid 7",
    held_since=NOW - DAY,
)
HOST = QueueHost("build-1-a", "build-1, pid 7", 120_000, 900, running=2, classes=("c",))


def on_server(**facts: Any) -> CheckResult:
    server = structs.replace(SERVER, **facts)
    return judged(store=SeenStore(address="postgresql://db/h", server=server))["store"]


def test_a_server_that_is_well_says_what_matters() -> None:
    found = on_server()
    assert found.verdict == "ok"
    assert found.evidence == (
        "postgresql://db/h",
        "PostgreSQL 17.2, 0.4 ms away, 12 of 97 connections taken",
        "synchronous_commit on, no standby is seen",
        "written by build-1, pid 7 since 2030-03-16T17:46:40Z",
    )
    assert on_server(held_since=None).evidence[-1] == "nobody writes it now"


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        pytest.param({"is_standby": True, "may_create": False}, "is a standby", id="a standby"),
        pytest.param({"may_create": False}, "may not make tables", id="no permission"),
        pytest.param({"connections": 90}, "90 of 97 connections", id="connections"),
        pytest.param({"round_trip_ms": 35.2}, "take 35 ms", id="far away"),
        pytest.param({"ahead_ms": 5_000}, "its clock is 5s ahead of", id="a clock ahead"),
        pytest.param({"ahead_ms": -5_000}, "its clock is 5s behind", id="a clock behind"),
        pytest.param({"autovacuum": False}, "autovacuum is off", id="no vacuum"),
        pytest.param({"dead_rows": 200_000}, "200,000 dead rows", id="dead rows"),
    ],
)
def test_what_is_wrong_with_a_server(facts: dict[str, Any], said: str) -> None:
    found = on_server(**facts)
    assert found.verdict == "problem"
    assert [said in line for line in found.evidence] == [True]
    assert found.fix


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        pytest.param({"standbys": 1}, "1 standby no commit waits for", id="one that is not waited for"),
        pytest.param({"synchronous_standbys": "ANY 1 (*)"}, "wait for standbys (ANY 1 (*))", id="waited for"),
    ],
)
def test_how_a_server_is_replicated(facts: dict[str, Any], said: str) -> None:
    assert said in on_server(**facts).evidence[2]


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        pytest.param({"standbys": 0}, "ok", id="no standby"),
        pytest.param({"standbys": 1}, "problem", id="a standby that nobody waits for"),
        pytest.param({"standbys": 1, "synchronous_standbys": "*"}, "ok", id="a standby that is waited for"),
        pytest.param(
            {"standbys": 2, "synchronous_standbys": "*", "synchronous_commit": "local"},
            "problem",
            id="commits that wait for nobody",
        ),
    ],
)
def test_a_shared_queue_whose_standby_may_lack_something_is_a_problem(
    facts: dict[str, Any], verdict: str
) -> None:
    found = shared(HOST, server=structs.replace(SERVER, **facts))
    assert found.verdict == verdict
    assert ("give a job out twice" in " ".join(found.evidence)) == (verdict == "problem")
    assert on_server(**facts).verdict == "ok", "a store that lost something is not written on"


def shared(*hosts: QueueHost, **facts: Any) -> CheckResult:
    return judged(queue=SeenQueue("postgresql://db/q", hosts=hosts, **facts))["shared-queue"]


def test_a_shared_queue_lists_its_hosts() -> None:
    assert "shared-queue" not in judged()
    gone = structs.replace(HOST, host="old", is_ended=True, running=0)
    found = shared(HOST, gone, server=SERVER)
    assert (found.verdict, found.message) == ("ok", "1 host of the shared queue there")
    assert found.evidence[-2:] == (
        "build-1-a (build-1, pid 7): wrote 900 ms ago, lease 2m, 2 jobs running",
        "old (build-1, pid 7): has left, 0 jobs running",
    )
    assert not any("writes" in line or "written" in line for line in found.evidence), "there is no one seat"


@pytest.mark.parametrize(
    ("found", "said"),
    [
        pytest.param(shared(trouble="no way there"), "no way there", id="it cannot be read"),
        pytest.param(
            shared(structs.replace(HOST, silent_ms=600_000)), "has been silent for 10m, and 2 jobs", id="gone"
        ),
        pytest.param(
            shared(structs.replace(HOST, is_ended=True, running=0, bound=3)),
            "3 jobs with secrets can run on host build-1-a alone",
            id="secrets of a host that has left",
        ),
        pytest.param(
            shared(structs.replace(HOST, silent_ms=600_000, running=0, bound=1)),
            "1 job with secrets",
            id="secrets of a host that is silent",
        ),
    ],
)
def test_what_is_wrong_with_a_shared_queue(found: CheckResult, said: str) -> None:
    assert found.verdict == "problem"
    assert said in found.evidence[0]
