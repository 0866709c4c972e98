"""Values: what they say, and what a chart makes of them."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from tests.charts.rendering import Helm
from tests.rightsize.patches.cases import container, hostile_workloads, review, unchecked, workload
from tests.rightsize.report.reviews import size
from tests.servers.fixtures import Programs

from remuda.rightsize.patches import make
from remuda.rightsize.review import WorkloadReview

#: as charts have it; `app` and `proxy` are of one with two containers
VALUES = {
    "resources": {"requests": {"cpu": "100m"}, "limits": {"cpu": 1, "memory": "256Mi", "nvidia.com/gpu": 1}},
    "app": {"image": "a", "resources": {"limits": {"cpu": "500m"}}},
    "proxy": {"image": "p", "resources": {"requests": {"memory": "32Mi"}}},
}
TEMPLATE = "one:\n  {{- toYaml .Values.resources | nindent 2 }}\n" + "".join(
    f"{name}:\n  {{{{- toYaml .Values.{name}.resources | nindent 2 }}}}\n" for name in ("app", "proxy")
)
BOTH = {"requests": {"cpu": "587m", "memory": "768Mi"}, "limits": {"memory": "768Mi"}}


def values(item: WorkloadReview) -> Any:
    (file,) = unchecked(review(item), "helm").files
    return yaml.safe_load(file.text)


def test_one_container_has_its_resources_at_the_top() -> None:
    assert values(workload()) == {
        "resources": {
            "requests": {"cpu": "587m", "memory": "768Mi"},
            "limits": {"cpu": None, "memory": "768Mi"},
        }
    }


def test_of_several_each_that_changes_has_them_under_its_name() -> None:
    item = workload(
        container(), container("proxy", verdict="keep"), container("c", size(587, 1), size(587, 2))
    )
    assert values(item) == {
        "app": {
            "resources": {
                "requests": {"cpu": "587m", "memory": "768Mi"},
                "limits": {"cpu": None, "memory": "768Mi"},
            }
        },
        "c": {"resources": {"requests": {"memory": "2Mi"}}},
    }


def test_of_several_one_that_changes_alone_has_them_under_its_name_too() -> None:
    assert set(values(workload(container(), container("proxy", verdict="keep")))) == {"app"}


@given(hostile_workloads())
def test_hostile_names_are_read_back_exactly(item: WorkloadReview) -> None:
    names = {each.name for each in item.containers}
    assert set(values(item)) == (names if len(names) > 1 else {"resources"})


@pytest.fixture
def helm(programs: Programs, tmp_path: Path) -> Helm:
    return Helm(programs("helm")["helm"], tmp_path)


@pytest.mark.slow
def test_a_chart_takes_the_values_and_loses_the_limit_that_should_not_be(helm: Helm, tmp_path: Path) -> None:
    chart = tmp_path / "chart"
    (chart / "templates").mkdir(parents=True)
    meta = {"apiVersion": "v2", "name": "tiny", "version": "1.0.0"}
    (chart / "Chart.yaml").write_text(yaml.safe_dump(meta), encoding="utf-8")
    (chart / "values.yaml").write_text(yaml.safe_dump(VALUES), encoding="utf-8")
    (chart / "templates" / "it.yaml").write_text(TEMPLATE, encoding="utf-8")
    one = workload(container(now=size(100, None, 1000, 256)))
    two = workload(
        container(now=size(None, None, 500)),
        container("proxy", size(None, 32), size(5, 32, None, 64)),
        name="two",
    )
    given_: list[str | Path] = []
    for file in make(review(one, two), "helm").files:
        (tmp_path / file.path).write_text(file.text, encoding="utf-8")
        given_ += ["--values", tmp_path / file.path]
    done = helm("template", "it", chart, *given_)
    assert done.code == 0, done.err
    assert yaml.safe_load(done.out) == {
        "one": {**BOTH, "limits": {"memory": "768Mi", "nvidia.com/gpu": 1}},
        "app": BOTH,
        "proxy": {"requests": {"cpu": "5m", "memory": "32Mi"}, "limits": {"memory": "64Mi"}},
    }
