"""The worked numbers of docs/explanation/decisions.md are what the code computes."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.builders import NOW, settings
from tests.rightsize.estimate.builders import DAY, steady

from remuda.model.amount_texts import GIB, MIB
from remuda.model.needs import Need
from remuda.objects.tiers import DEFAULT_POLICY
from remuda.pools.decide.backoff import remember_failures
from remuda.pools.decide.census import Census
from remuda.pools.decide.model import Override, PoolMemory
from remuda.pools.decide.target import Wish, wish
from remuda.rightsize.decide.rounding import MULTIPLIERS, round_up, scaled
from remuda.rightsize.estimate.estimator import estimate_pod
from remuda.rules.ceilings import Member, share

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanation" / "decisions.md").read_text(encoding="utf-8")
DEADLINE_S = 120


def tables(first_heads: str) -> list[list[dict[str, str]]]:
    """All tables whose heads begin so, each as rows by head."""
    found = []
    for head, body in re.findall(r"^(\| .*\|)\n\|[-|]+\n((?:\|.*\n)+)", PAGE, re.MULTILINE):
        heads = [cell.strip() for cell in head.strip("|").split("|")]
        if ", ".join(heads).startswith(first_heads):
            rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in body.splitlines()]
            found.append([dict(zip(heads, row, strict=True)) for row in rows])
    assert found, first_heads
    return found


def census(*, ready: int = 0, live: int = 0, failures: int = 0) -> Census:
    return Census([], [], old=0, ready=ready, live=live, taking_room=live, pending=0, failures=failures)


def wished(need: Need, *, ready: int = 0, live: int = 0, **spec: Any) -> Wish:
    return wish(settings(**spec), need, Override(), PoolMemory(), census(ready=ready, live=live), 0, NOW)


def test_what_a_pool_wants() -> None:
    (rows,) = tables("unclaimed, running, headroom")
    for row in rows:
        spare = row["headroom"]
        given = {"headroom_percent": int(spare[:-1])} if spare.endswith("%") else {"headroom": int(spare)}
        need = Need(int(row["unclaimed"]), int(row["running"]))
        found = wished(need, min=int(row["min"]), max=int(row["max"]), **given)
        demand = found.unclaimed + found.running + found.headroom
        assert (demand, found.wanted, found.held_by) == (
            int(row["demand"]),
            int(row["wanted"]),
            row["because of"],
        ), row


def test_what_a_surge_lets_boot() -> None:
    (rows,) = tables("wanted, ready, live, maxSurge")
    for row in rows:
        found = wished(
            Need(int(row["wanted"]), 0),
            ready=int(row["ready"]),
            live=int(row["live"]),
            max_surge=int(row["maxSurge"]),
        )
        assert found.wanted == int(row["asks for"]), row


def test_how_long_a_pool_waits_after_failures() -> None:
    (rows,) = tables("failures in a row")
    for row in rows:
        memory = PoolMemory(failures=int(row["failures in a row"]) - 1)
        _, _, retry_at = remember_failures(memory, census(failures=1), NOW)
        assert f"{(retry_at - NOW) // 1000}s" == row["waits"], row


def test_how_a_ceiling_is_shared() -> None:
    limits = [int(number) for number in re.findall(r"\*\*A ceiling of (\d+)\*\*", PAGE)]
    found = tables("member, wants, busy")
    assert len(found) == len(limits) == 3
    for limit, rows in zip(limits, found, strict=True):
        members = [
            Member(
                row["member"],
                wants=int(row["wants"]),
                floor=int(row["busy"]),
                guaranteed=int(row["guaranteed"]),
                priority=int(row["priority"]),
                weight=int(row["weight"]),
            )
            for row in rows
        ]
        assert share(limit, members) == tuple(int(row["gets"]) for row in rows)


def asked(*words: str) -> Any:
    """What a command prints as JSON; findings are no failure here."""
    command = [sys.executable, "-m", "remuda", *words, "-o", "json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=DEADLINE_S)
    assert done.returncode in {0, 1}, done.stderr
    return json.loads(done.stdout)


def test_how_many_runners_a_node_fits() -> None:
    audit = asked(
        "capacity", "audit", "--no-keep", "--label", "nix-kvm", "--from", "examples/capacity-cluster.json"
    )
    (one,) = [each["requests"] for each in audit["scaleSets"] if each["name"] == "vm-test"]
    running = {"honey": 1, "sting": 0}  # runners of the label itself do not count
    keys = {
        "cpu": ("cpu_millicores", 1000),
        "memory GiB": ("memory_bytes", GIB),
        "ephemeral GiB": ("ephemeral_storage_bytes", GIB),
    }
    nodes = {each["name"]: each for each in audit["nodes"]}
    (rows,) = tables("node, resource, allocatable")
    least: dict[str, int] = {}
    for row in rows:
        node, (key, unit) = nodes[row["node"]], keys[row["resource"]]
        others = node["requested"][key] - running[row["node"]] * one[key]
        whole = (node["allocatable"][key] - others) // one[key]
        assert f"{node['allocatable'][key] / unit:.2f}".removesuffix(".00") == row["allocatable"], row
        assert (others / unit, one[key] / unit) == (float(row["other pods"]), float(row["one runner"])), row
        assert whole == int(row["whole runners"]), row
        least[row["node"]] = min(whole, least.get(row["node"], whole))
    assert {name: nodes[name]["fits"]["vm-test"] for name in least} == least == {"honey": 5, "sting": 2}


def test_how_bounds_narrow_with_the_days() -> None:
    (rows,) = tables("days, lower bound")
    for row in rows:
        found = estimate_pod({"main": [steady(int(float(row["days"]) * DAY))]})["main"]
        shown = (found.lower_bound, found.target, found.upper_bound)
        assert [f"{each.cpu_millicores}m" for each in shown] == [
            row["lower bound"],
            row["target"],
            row["upper bound"],
        ], row


def test_how_memory_is_scaled_and_rounded() -> None:
    (rows,) = tables("upper bound, class")
    for row in rows:
        larger = scaled(int(row["upper bound"]), *MULTIPLIERS[row["class"]])  # type: ignore[index]
        assert larger == int(row["times"]), row
        assert f"{round_up(larger) // MIB}Mi" == row["advised"], row


def test_which_machine_is_cheapest(tmp_path: Path) -> None:
    (rows,) = tables("interruption penalty, spot costs")
    prices = {"spot": (0.161, 0.05), "on-demand": (0.428, 0.0)}
    for number, row in enumerate(rows):
        penalty = float(row["interruption penalty"].removeprefix("$"))
        for kind, (price, chance) in prices.items():
            assert f"${price + chance * penalty:.3f}" == row[f"{kind} costs"], row
        where = {"key": "remuda.dev/capacity-type", "operator": "In", "values": ["spot", "on-demand"]}
        need = {"name": "one", "count": 1, "unit": {"cpu": 8}, "requirements": [where]}
        demand = {
            "apiVersion": "remuda.dev/v1alpha1",
            "kind": "Demand",
            "metadata": {"name": "c"},
            "spec": {"needs": [need | {"interruptionPenalty": penalty}]},
        }
        file = tmp_path / f"demand-{number}.yaml"
        file.write_text(yaml.safe_dump(demand))
        plan = asked("fleet", "plan", "--inventory", "examples/fleet-inventory.yaml", "--demand", str(file))
        (made,) = [action for action in plan["actions"] if action["op"] == "create"]
        assert made["id"].startswith({"spot": "spot-", "on-demand": "demand-"}[row["it gets"]]), row
        cost = float(row[f"{row['it gets']} costs"].removeprefix("$"))
        assert made["reason"]["terms"]["cost"] == round(cost * 1e6), row


def test_what_a_quota_of_a_tier_holds() -> None:
    (rows,) = tables("tier, by CPU, by memory")
    assert [row["tier"] for row in rows] == list(DEFAULT_POLICY.tiers)
    for row in rows:
        tier = DEFAULT_POLICY.tiers[row["tier"]]
        numbers = (
            tier.quota["requests.cpu"] // tier.default_cpu,
            tier.quota["requests.memory"] // tier.default_memory,
            tier.quota["pods"],
        )
        assert tuple(int(row[key]) for key in ("by CPU", "by memory", "by pods")) == numbers
        assert int(row["holds"]) == min(numbers)


def test_what_sidecars_on_defaults_waste() -> None:
    (how_many, each, all_of_them) = map(int, re.findall(r"waste (\d+) × (\d+)Mi = (\d+)Mi", PAGE)[0])
    aux, sidecar = DEFAULT_POLICY.tiers["4-aux"], DEFAULT_POLICY.sidecars[0]
    assert each * MIB == aux.default_memory - sidecar.memory
    assert how_many * each == all_of_them
