"""The command tree: help that teaches, mistakes that are met with a hint, exit codes."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml
from tests.cli.conftest import Run
from tests.processes import Place

from remuda import __version__
from remuda.cli.completion import SHELLS
from remuda.cli.tree import OWN, root
from remuda.job import Command, load
from remuda.jobs import JOBS


def tree(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command below a group, with the words that lead to it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from tree(command, (*path, name))


EVERY = [pytest.param(path, command, id=" ".join(path)) for path, command in tree(root)]
GROUPS = [
    pytest.param(path, id=" ".join(path) or "remuda")
    for path in [(), *(p for p, c in tree(root) if isinstance(c, click.Group))]
]


@pytest.mark.parametrize(
    ("words", "described"),
    [pytest.param(*item, id=item[0]) for item in OWN.items()]
    + [pytest.param(*item, id=item[0]) for job in JOBS for item in job.commands.items()],
)
def test_the_line_in_the_list_of_commands_is_the_first_of_its_help(words: str, described: Command) -> None:
    command: click.Command = load(described.command)
    assert (command.help or "").strip().splitlines()[0] == described.help
    assert command.name == words.rsplit(maxsplit=1)[-1]


@pytest.mark.parametrize(("path", "command"), EVERY)
def test_every_command_teaches(path: tuple[str, ...], command: click.Command, run: Run) -> None:
    ran = run(*path, "--help")
    assert ran.code == 0
    first = (command.help or "").strip().splitlines()[0]
    assert first.endswith(".")
    assert len(first.split()) >= 3
    assert first in " ".join(ran.out.split())
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{parameter.name} has no help"


@pytest.mark.parametrize("path", GROUPS)
def test_no_line_in_a_list_of_commands_is_cut_short(path: tuple[str, ...], run: Run) -> None:
    commands = run(*path, "--help").out.partition("Options:\n")[2].partition(":\n")[2]
    assert commands
    assert "..." not in commands


@pytest.mark.parametrize("path", [item for item in GROUPS if item.values[0] != ("diagnose",)])
def test_a_group_alone_shows_its_help_and_is_a_mistake(path: tuple[str, ...], run: Run) -> None:
    ran = run(*path)
    assert ran.code == 2
    assert ran.err.startswith("Usage: ")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        pytest.param(["pols"], "Did you mean 'pools'?", id="a command"),
        pytest.param(["pools", "lst"], "Did you mean 'list'?", id="a command of a group"),
        pytest.param(["jobs", "cancle"], "Did you mean 'cancel'?", id="letters swapped"),
        pytest.param(["pools", "list", "--quite"], "--quiet", id="an option"),
        pytest.param(["explain", "RunnerPol"], "did you mean RunnerPool?", id="a kind"),
        pytest.param(["explain", "RunnerPool.spec.mni"], "did you mean min?", id="a field"),
        pytest.param(["logs", "1"], "Did you mean 'jobs logs'?", id="a command below another"),
        pytest.param(["get", "jobs"], "Did you mean 'jobs list'?", id="a verb of another tool"),
        pytest.param(["run", "x"], "Did you mean 'submit'?", id="another word for a command"),
        pytest.param(["pool"], "Did you mean 'pools'?", id="a slip, before a command below another"),
        pytest.param(["diagnose", "hots"], "Did you mean 'host'?", id="a slip, where no word is needed"),
        pytest.param(["diagnose", "--bundel", "x"], "--bundle", id="an option, where no word is needed"),
        pytest.param(["xyzzy"], "No such command 'xyzzy'.", id="nothing near"),
    ],
)
def test_a_mistake_names_the_nearest_right_word(words: list[str], hint: str, run: Run) -> None:
    ran = run(*words)
    assert ran.code == 2
    assert hint in ran.err
    assert ran.out == ""


def test_the_version_comes_with_the_commit(run: Run) -> None:
    ran = run("--version")
    assert ran.code == 0
    assert re.fullmatch(
        rf"remuda {re.escape(__version__)}( \(commit [0-9a-f]{{7,12}}(\+changes)?\))?\n", ran.out
    )


@pytest.mark.slow
def test_help_costs_no_import_of_what_it_does_not_need() -> None:
    script = "import sys; from remuda.cli import main\ntry: main(['--help'])\nfinally: print(*sys.modules, file=sys.stderr)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert {"aiohttp", "rich", "sqlite3", "msgspec", "yaml", "prometheus_client"}.isdisjoint(
        ran.stderr.split()
    )


#: servers are not asked, and what is large is only worth its import where there is much to compute
_LARGE = {"aiohttp", "asyncio", "numba", "prometheus_client", "rich", "scipy", "ssl"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "needless"),
    [
        pytest.param(
            "rightsize review --from examples/rightsize-cluster.yaml --usage {usage} --at 2026-01-01T00:00:00Z",
            {
                *_LARGE,
                "jinja2",
                "remuda.rightsize.sizes_file",
                "remuda.rightsize.patches",
            },
            id="review",
        ),
        pytest.param(
            "capacity audit --no-keep --label nix-kvm --from examples/capacity-cluster.json --at 2026-11-16T12:00:00Z",
            {*_LARGE, "numpy", "sqlite3"},
            id="audit",
        ),
        pytest.param(
            "fleet plan --inventory examples/fleet-inventory.yaml --demand examples/fleet-demand.yaml",
            {*_LARGE, "sqlite3"},
            id="plan",
        ),
    ],
)
def test_a_small_input_costs_no_import_of_what_it_does_not_need(
    words: str, needless: set[str], tmp_path: Path
) -> None:
    """Nor of any other job but for its description."""
    root = Path(__file__).parents[2]
    usage = tmp_path / "usage.json"
    with usage.open("w") as into:
        subprocess.run(
            [sys.executable, "examples/rightsize-usage.py", "1767225600"], stdout=into, check=True, cwd=root
        )
    asked = ["--data-dir", str(tmp_path), *words.format(usage=usage).split()]
    script = f"import sys; from remuda.cli import main\ntry: main({asked})\nfinally: print(*sys.modules, file=sys.stderr)"
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=root
    )
    imported = set(ran.stderr.splitlines()[-1].split())
    assert "remuda.cli" in imported, ran.stderr
    assert needless & imported == set()
    own = words.split(maxsplit=1)[0]
    others = {
        name
        for name in imported
        for job in ("capacity", "diagnose", "fleet", "pools", "rightsize")
        if job != own and name.startswith(f"remuda.{job}.") and name != f"remuda.{job}.job"
    }
    assert others == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "same"),
    [
        pytest.param("why shell", "why pool shell", id="a pool"),
        pytest.param("why 2", "why job 2", id="a job"),
        pytest.param("why MACHINE", "why machine MACHINE", id="a machine"),
        pytest.param("why pool/shell", "why pool shell", id="as kubectl writes it"),
        pytest.param("why rp shell", "why pool shell", id="another word for a kind"),
        pytest.param("why jobs 2", "why job 2", id="the plural of a kind"),
    ],
)
def test_a_name_alone_is_answered_as_if_its_kind_had_been_named(
    words: str, same: str, lively: Place, run: Run
) -> None:
    for form in ("table", "json"):
        asked, wanted = (
            run(*filled(each, lively), "--data-dir", lively.data, "-o", form) for each in (words, same)
        )
        assert (asked.code, asked.err) == (0, "")
        assert asked.out.strip()
        # Moments and counts of cycles go on between the two.
        assert re.sub("[0-9]+", "N", asked.out) == re.sub("[0-9]+", "N", wanted.out)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param("why shel", "nothing is called 'shel'; did you mean remuda why pool shell", id="a slip"),
        pytest.param(
            "why xyzzy", "nothing is called 'xyzzy', and nothing is called alike", id="nothing near"
        ),
        pytest.param("why 999", "nothing is called '999'", id="a job that is not there"),
        pytest.param("why poool shell", "Did you mean 'why pool'?", id="a slip in the kind"),
        pytest.param("why shell --at 2999-01-01", "ahead of this computer's clock", id="a time to come"),
        pytest.param("why job 1 --at 2999-01-01", "ahead of this computer's clock", id="of a job"),
        pytest.param("replay --since 2999-01-01", "ahead of this computer's clock", id="to replay from"),
    ],
)
def test_a_name_that_nothing_has_is_met_with_what_is_called_alike(
    words: str, told: str, lively: Place, run: Run
) -> None:
    ran = run(*words.split(), "--data-dir", lively.data)
    assert ran.code == 2
    assert told in ran.err
    assert ran.out == ""


def test_asking_by_name_where_nothing_has_run_says_so(tmp_path: Path, run: Run) -> None:
    ran = run("why", "shell", "--data-dir", tmp_path)
    assert ran.code == 2
    assert f"there is no store at {tmp_path}/remuda.db" in ran.err


@pytest.mark.slow
def test_asking_a_running_process_costs_no_import_of_the_store_or_an_event_loop(lively: Place) -> None:
    words = ["jobs", "list", "--data-dir", str(lively.data)]
    script = f"import sys; from remuda.cli import main\ntry: main({words})\nfinally: print(*sys.modules, file=sys.stderr)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert {"aiohttp", "asyncio", "rich", "sqlite3", "yaml"}.isdisjoint(ran.stderr.split())


@pytest.mark.slow
def test_it_is_installed_as_a_plugin_of_kubectl_too() -> None:
    plugin = Path(sys.executable).with_name("kubectl-remuda")
    ran = subprocess.run([plugin, "pools", "lst"], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert ran.stderr.startswith("Usage: kubectl remuda pools")


@pytest.mark.slow
@pytest.mark.parametrize("shell", SHELLS)
def test_completion_prints_a_script_that_calls_remuda(shell: str, run: Run) -> None:
    script = run("completion", shell).out
    assert f"_REMUDA_COMPLETE={shell}_complete" in script
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=script.encode(), check=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "found"),
    [
        pytest.param("remuda po", {"pools"}, id="commands"),
        pytest.param("remuda pools sc", {"scale"}, id="commands of a group"),
        pytest.param("remuda import ", {"provisioner-values"}, id="what can be imported"),
        pytest.param("remuda pools list -o js", {"json"}, id="values of an option"),
        pytest.param(
            "remuda why ",
            {"pool", "machine", "job", "need", "label", "workload", "pod", "namespace", "node"},
            id="kinds, where nothing has run",
        ),
        pytest.param("remuda explain run", {"RunnerPool"}, id="kinds"),
        pytest.param(
            "remuda schema ",
            {
                "RunnerPool",
                "Ceiling",
                "CapacityPolicy",
                "Inventory",
                "Demand",
                "FleetPolicy",
                "RightsizePolicy",
                "TierPolicy",
            },
            id="kinds of a schema",
        ),
        pytest.param(
            "remuda crds ",
            {"RunnerPool", "Ceiling", "CapacityPolicy", "TierPolicy"},
            id="kinds that a cluster keeps",
        ),
    ],
)
def test_completion_knows(words: str, found: set[str]) -> None:
    count = str(len(words.split(" ")) - 1)
    ran = subprocess.run(
        [sys.executable, "-m", "remuda"],
        env={**os.environ, "_REMUDA_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": count},
        capture_output=True,
        text=True,
        check=False,
    )
    assert {line.partition(",")[2] for line in ran.stdout.splitlines()} == found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "found"),
    [
        pytest.param("remuda pools pause sh", {"shell"}, id="a pool to steer"),
        pytest.param("remuda why pool ", {"shell"}, id="a pool to ask about"),
        pytest.param("remuda submit te", {"test/shell"}, id="a class to submit to"),
        pytest.param("remuda submit x", set(), id="no class begins so"),
        pytest.param("remuda why job ", {"1", "2"}, id="a job to ask about"),
        pytest.param("remuda jobs logs ", {"1", "2"}, id="a job to look at"),
        pytest.param("remuda jobs list --state wai", {"waiting"}, id="a state"),
        pytest.param("remuda jobs list --state failed,r", {"failed,running"}, id="one more state"),
        pytest.param("remuda jobs cancel --pool ", {"shell"}, id="a pool whose jobs are cancelled"),
        pytest.param("remuda pools pause x", set(), id="none begins so"),
    ],
)
def test_completion_knows_what_there_is(words: str, found: set[str], lively: Place) -> None:
    assert completed(words, lively) == found


@pytest.mark.slow
def test_completion_knows_the_machines(lively: Place) -> None:
    found = completed("remuda why machine ", lively)
    assert found
    assert all(name.startswith("shell-") for name in found)


@pytest.mark.slow
def test_completion_knows_names_without_their_kind(lively: Place) -> None:
    machines = completed("remuda why machine ", lively)
    assert completed("remuda why she", lively) >= {"shell", *machines}
    assert completed("remuda why MACHINE --hist".replace("MACHINE", "shell"), lively) == {"--history"}


def completed(words: str, lively: Place) -> set[str]:
    env = {
        **os.environ,
        "_REMUDA_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "REMUDA_DATA_DIR": str(lively.data),
    }
    env["COMP_CWORD"] = str(len(words.split(" ")) - 1)
    ran = subprocess.run(
        [sys.executable, "-m", "remuda"], env=env, capture_output=True, text=True, check=True
    )
    return {line.partition(",")[2] for line in ran.stdout.splitlines() if line.strip()}


@pytest.mark.slow
@pytest.mark.parametrize("words", ["schema RunnerPool", "crds", "completion bash", "explain Ceiling"])
def test_output_that_cannot_be_written_is_one_clear_line(words: str) -> None:
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "remuda", *words.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ran.returncode == 1
    assert ran.stderr == "remuda: the output cannot be written: No space left on device\n"


@pytest.mark.slow
def test_jobs_are_ended_one_by_one_and_what_is_not_there_is_reported(lively: Place, run: Run) -> None:
    ran = run("jobs", "cancel", "1", "999", "2", "--data-dir", lively.data)
    assert ran.code == 1
    assert ran.out == "job 1 has ended already: succeeded\njob 2 has ended already: failed\n"
    assert ran.err == "remuda: there is no job 999\n"
    assert run("jobs", "cancel", "999", "--data-dir", lively.data).code == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [("submit", "x\n", "--", "true"), ("pools", "status", "x\ny"), ("why", "pool", "x\ny")]
)
def test_a_name_of_two_lines_is_one_problem(words: tuple[str, ...], lively: Place, run: Run) -> None:
    ran = run("--data-dir", lively.data, *words)
    assert ran.code == 2
    assert ran.err.startswith("remuda: ")
    assert len(ran.err.splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("words", ["why pool shell", "why machine MACHINE", "jobs show 1", "why job 1"])
def test_an_answer_in_markdown_is_markdown(words: str, lively: Place, run: Run) -> None:
    output = run(*filled(words, lively), "--data-dir", lively.data, "-o", "markdown").out
    assert "| --- | --- |" in output or "\n- attempt 1 on " in output
    assert not any(line.startswith("  ") for line in output.splitlines())


@pytest.mark.parametrize("words", ["pools list", "jobs list", "why pool shell", "replay"])
def test_an_empty_store_is_reported(words: str, tmp_path: Path, run: Run) -> None:
    (tmp_path / "remuda.db").touch()
    ran = run(*words.split(), "--data-dir", tmp_path)
    assert ran.code == 2
    assert (
        ran.err
        == f"remuda: the store at {tmp_path}/remuda.db is empty: nothing has run with this data directory yet\n"
    )


@pytest.mark.slow
def test_a_reader_that_leaves_early_is_no_error() -> None:
    script = f"{sys.executable} -m remuda schema RunnerPool | head -n 1; echo ${{PIPESTATUS[0]}}"
    ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "{\n0\n"
    assert ran.stderr == ""


READS = [
    "pools list",
    "pools status",
    "pools status shell",
    "pools describe shell",
    "pools rollout shell",
    "machines list",
    "machines list --pool shell",
    "machines describe MACHINE",
    "machines console MACHINE",
    "jobs list",
    "jobs list --state failed",
    "jobs show 1",
    "top",
    "why pool shell",
    "why pool shell --history",
    "why machine MACHINE",
    "why job 1",
    "replay",
    "loops list",
    "explain RunnerPool",
    "explain RunnerPool.spec.schedules --recursive",
    "schema Ceiling",
    "validate FILE",
    "up FILE --dry-run",
]


def filled(words: str, place: Place) -> list[str]:
    """The words of a command with the names of things that are there."""
    machine = place.pools().machines[0].name
    return words.replace("MACHINE", machine).replace("FILE", str(place.file)).split()


@pytest.mark.slow
@pytest.mark.parametrize("words", READS)
def test_every_reading_command_prints_in_every_form(words: str, lively: Place, run: Run) -> None:
    asked = [*filled(words, lively), "--data-dir", lively.data]
    plain = run(*asked)
    assert plain.code == 0
    # What holds jobs in depends on the host: validate says it beside its answer, and nothing else says anything there.
    notes = plain.err.splitlines() if words == "validate FILE" else []
    assert all(note.startswith("on this host, ") for note in notes)
    assert notes or not plain.err
    assert plain.out.strip()
    as_json = run(*asked, "-o", "json")
    assert as_json.code == 0
    output = json.loads(as_json.out)
    as_yaml = yaml.safe_load(run(*asked, "-o", "yaml").out)
    assert type(as_yaml) is type(output)
    if isinstance(output, dict):
        assert as_yaml.keys() == output.keys()
    for form in ("markdown", "csv"):
        answer = run(*asked, "-o", form)
        assert answer.code == 0
        assert answer.out.strip()
    assert not any(line.startswith("\x1b") for line in plain.out.splitlines())


@pytest.mark.slow
def test_the_form_may_be_said_before_or_after_the_command(lively: Place, run: Run) -> None:
    before = run("-o", "json", "--data-dir", lively.data, "jobs", "list")
    between = run("jobs", "--data-dir", lively.data, "-o", "json", "list")
    after = run("jobs", "list", "-o", "json", "--data-dir", lively.data)
    assert before.out == between.out == after.out


@pytest.mark.slow
def test_quiet_leaves_only_numbers_and_names(lively: Place, run: Run) -> None:
    output = run("jobs", "list", "--data-dir", lively.data, "--quiet").out
    assert output == "2\n1\n"
    assert run("pools", "list", "-q", "--data-dir", lively.data).out == "shell\n"


@pytest.mark.slow
def test_commands_are_distinguished_as_a_shell_would(lively: Place, run: Run) -> None:
    output = run("jobs", "show", "1", "--data-dir", lively.data).out
    assert """command    sh -c 'echo '"'"'it [/works]'"'"' | cat'""" in output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "output"),
    [
        pytest.param("pools status nope", "there is no pool nope; there is: shell", id="a pool"),
        pytest.param("pools scale nope 1", "there is no pool nope; there is: shell", id="a pool to steer"),
        pytest.param("machines describe shell-999", "there is no machine shell-999 now", id="a machine"),
        pytest.param("machines console shell-999", "there is no machine shell-999 now", id="a console"),
        pytest.param("jobs show 999", "there is no job 999", id="a job"),
        pytest.param("jobs logs 999", "there is no job 999", id="its output"),
        pytest.param("jobs retry 999", "there is no job 999", id="a job to retry"),
        pytest.param("why pool nope", "there was no pool nope then; there was: shell", id="why of a pool"),
        pytest.param("why machine nope-9", "nothing is recorded of a machine nope-9", id="why of a machine"),
        pytest.param("why job 999", "there is no job 999", id="why of a job"),
        pytest.param("why job x", "job wants a whole number, found 'x'", id="why of no job"),
        pytest.param("loops pause nope", "there is no loop nope; there is: pools", id="a loop"),
        pytest.param("jobs list --state lost", "lost is no state of a job: waiting", id="a state"),
        pytest.param("why pool shell --at noon", "'noon' is no time", id="a time"),
        pytest.param("why pool shell --at ", "'' is no time", id="no time at all"),
        pytest.param("replay --since noon", "'noon' is no time", id="a time to replay from"),
        pytest.param("replay --since 1s --until 1h", "nothing is recorded", id="an empty span"),
        pytest.param(
            "pools scale shell", "say one of: a COUNT, --min and/or --max, or --clear", id="no bound"
        ),
        pytest.param("pools scale shell 2 --clear", "say one of", id="two orders at once"),
        pytest.param("pools scale shell --min 5 --max 2", "min 5 is more than max 2", id="crossed bounds"),
        pytest.param("pools scale shell -- -1", "not in the range", id="a negative count"),
        pytest.param("jobs list --server ftp://x", "is no address: write unix:PATH", id="an address"),
    ],
)
def test_what_is_not_there_is_reported_with_what_is(words: str, output: str, lively: Place, run: Run) -> None:
    ran = (
        run(*words.split(" "), "--data-dir", lively.data)
        if " -- " not in words
        else run("pools", "--data-dir", lively.data, *words.split(" ")[1:])
    )
    assert ran.code == 2
    assert output in ran.err
    assert ran.out == ""
    assert len(ran.err.splitlines()) == 1 or ran.err.startswith("Usage")


@pytest.mark.parametrize(
    "words", ["pools list", "jobs list", "top", "why pool shell", "replay", "jobs logs 1"]
)
def test_without_a_store_commands_say_that_nothing_has_run(words: str, tmp_path: Path, run: Run) -> None:
    ran = run(*words.split(), "--data-dir", tmp_path)
    assert ran.code == 2
    assert (
        f"there is no store at {tmp_path}/remuda.db: nothing has run with this data directory yet" in ran.err
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    ["submit a/b -- true", "pools pause shell", "jobs cancel 1", "loops list", "machines console x-1"],
)
def test_what_needs_a_running_remuda_says_how_to_start_one(words: str, tmp_path: Path, run: Run) -> None:
    ran = run(*words.split()[:2], "--data-dir", tmp_path, *words.split()[2:])
    assert ran.code == 1
    assert ran.err == f"remuda: no remuda runs with {tmp_path}: start one with `remuda up FILE…`\n"


def test_a_server_that_is_not_there_is_reported_and_no_store_is_read_instead(
    tmp_path: Path, run: Run
) -> None:
    ran = run("pools", "list", "--server", f"unix:{tmp_path}/nope.sock")
    assert ran.code == 1
    assert f"nobody answers at unix:{tmp_path}/nope.sock: start Remuda there" in ran.err


def test_a_diagnosis_of_an_address_where_nobody_answers_is_one_sentence(tmp_path: Path, run: Run) -> None:
    ran = run("diagnose", "--server", f"unix:{tmp_path}/nope.sock")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        f"remuda: nobody answers at unix:{tmp_path}/nope.sock: start Remuda there with `remuda up`, or give --server the"
        " address of its dashboard\n"
    )


@pytest.mark.slow
def test_a_command_that_is_interrupted_says_so_and_ends_as_shells_expect(tmp_path: Path) -> None:
    pipe = tmp_path / "samples"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "remuda", "rightsize", "estimate", "--samples", str(pipe)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as waiting:
        # opens when the command reads
        with pipe.open("wb"):
            waiting.send_signal(signal.SIGINT)
            assert waiting.wait(60) == 130
        assert waiting.stderr is not None
        assert waiting.stderr.read().endswith(b"remuda: stopped\n")
