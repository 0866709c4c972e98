"""Which tests stay together when they are shared out."""

from pathlib import Path

from tests.spread import FAMILIES, SINGLY, choose, unit

ROOT = Path(__file__).parents[1]


def test_tests_of_a_file_stay_together_and_long_ones_that_share_nothing_go_singly() -> None:
    assert unit("tests/kube/test_lease.py::test_a[b::c]") == unit("tests/kube/test_lease.py::test_b")
    assert unit("tests/sim/test_fleet.py::test_a[20]") != unit("tests/sim/test_fleet.py::test_a[60]")


def test_what_goes_singly_is_there() -> None:
    assert all((ROOT / place).exists() for place in SINGLY)


def test_files_that_share_servers_are_there() -> None:
    tests = [str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")]
    for starts in FAMILIES.values():
        for start in starts:
            assert any(test.startswith(start) for test in tests), start


def test_a_process_goes_on_with_the_servers_it_runs_and_starts_no_others_before_it_must() -> None:
    runners, provider = "tests/test_runners.py", "tests/providers/kubevirt/test_provider.py"
    cache, rules = "tests/kube/test_cache.py", "tests/rules/test_cron.py"
    waiting = [cache, rules, provider]
    assert choose(waiting, [runners], []) == provider
    assert choose(waiting, [], [runners]) == cache
    assert choose(waiting, [], [runners, "tests/kube/test_lease.py"]) == rules
    assert choose([provider, cache], [rules], [runners, "tests/kube/test_lease.py"]) == provider
    assert choose([rules, cache], [], []) == rules
