"""Dashboard and alerts: they read, and look only at what is exported."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.charts.rendering import DEADLINE_S, ROOT, Chart
from tests.servers.fixtures import Programs

pytestmark = pytest.mark.slow

DASHBOARD = ROOT / "deploy" / "dashboard.json"
ALERTS = ROOT / "deploy" / "alerts.yaml"
CASES = Path(__file__).with_name("alert-cases.yaml")
SUFFIXES = {"Gauge": ("",), "Counter": ("_total",), "Histogram": ("_bucket", "_count", "_sum")}


def exported() -> dict[str, set[str]]:
    """Every series that the code exports, with its labels."""
    made = re.compile(r'\b(Gauge|Counter|Histogram)\(\s*"(remuda_\w+)",\s*"[^"]*",\s*\[([^]]*)]')
    found = {}
    for path in (ROOT / "src").rglob("*.py"):
        for kind, name, labels in made.findall(path.read_text(encoding="utf-8")):
            for suffix in SUFFIXES[kind]:
                found[name + suffix] = set(re.findall(r"\w+", labels)) | (
                    {"le"} if suffix == "_bucket" else set()
                )
    return found


def rules() -> list[dict[str, Any]]:
    return [
        rule
        for group in yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]
        for rule in group["rules"]
    ]


def asked() -> Iterator[tuple[str, str]]:
    """Every expression, and who asks it."""
    for rule in rules():
        yield rule["alert"], rule["expr"]
    board = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    for panel in board["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]
    for variable in board["templating"]["list"]:
        yield variable["name"], variable["query"]


EXPRESSIONS = [pytest.param(expression, id=f"{who} {n}") for n, (who, expression) in enumerate(asked())]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_asks_only_for_what_is_exported(expression: str) -> None:
    known = exported()
    grouped = {label for names in re.findall(r"by \(([^)]*)\)", expression) for label in names.split(", ")}
    for name, selector in re.findall(r"\b(remuda_\w+)({[^}]*})?", expression):
        assert name in known
        # the namespace comes from where the metrics were read
        assert grouped | set(re.findall(r"(\w+)=~?\"", selector)) <= known[name] | {"namespace"}


def test_what_is_looked_for_is_found() -> None:
    known = exported()
    assert known["remuda_pool_machines"] == {"pool", "state"}
    assert known["remuda_loop_cycle_seconds_bucket"] == {"loop", "le"}
    assert "remuda_loop_errors" not in known


def test_everything_that_is_exported_is_on_the_dashboard() -> None:
    shown = set(re.findall(r"\bremuda_\w+", DASHBOARD.read_text(encoding="utf-8")))
    families = {re.sub("_(bucket|count|sum)$", "", name) for name in shown}
    assert families == {re.sub("_(bucket|count|sum)$", "", name) for name in exported()}


def test_panels_do_not_overlap_and_have_ids_of_their_own() -> None:
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken = set[tuple[int, int]]()
    for at in (panel["gridPos"] for panel in panels):
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert taken.isdisjoint(cells)
        assert max(x for x, _ in cells) < 24
        taken |= cells


def test_every_alert_says_how_bad_it_is_what_it_means_and_what_to_do() -> None:
    for rule in rules():
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        assert rule["annotations"].keys() == {"summary", "description"}


@pytest.mark.slow
def test_the_chart_carries_both_unchanged(chart: Chart) -> None:
    values = {"prometheusRule": {"enabled": True}, "dashboard": {"enabled": True}}
    assert chart.one("PrometheusRule", values)["spec"] == yaml.safe_load(ALERTS.read_text(encoding="utf-8"))
    carried = chart.one("ConfigMap", values)["data"]["remuda.json"]
    assert json.loads(carried) == json.loads(DASHBOARD.read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [("check", "rules", ALERTS), ("test", "rules", CASES)], ids=["read", "fire"]
)
def test_prometheus_takes_the_alerts(words: tuple[str, str, Path], programs: Programs) -> None:
    promtool = programs("promtool")["promtool"]
    done = subprocess.run([promtool, *words], capture_output=True, text=True, check=False, timeout=DEADLINE_S)
    assert done.returncode == 0, done.stdout + done.stderr
