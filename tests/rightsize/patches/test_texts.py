"""Names of files, headers and quantities."""

import os
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rightsize.patches.cases import NAMES, finding, review, workload

from remuda.model.amount_texts import quantity
from remuda.model.quantities import Quantity
from remuda.model.workloads import WorkloadId
from remuda.rightsize.patches import FORMS, make
from remuda.rightsize.patches.texts import stem
from remuda.rightsize.review import ADVISED

IDS = st.builds(WorkloadId, NAMES, st.sampled_from(("Deployment", "deployment", "Job", "X")), NAMES)


@pytest.mark.parametrize(
    ("resource", "amount", "written"),
    [
        ("cpu", 587, "587m"),
        ("cpu", 2000, "2"),
        ("cpu", 0, "0"),
        ("memory", 768 * 2**20, "768Mi"),
        ("memory", 2**30, "1Gi"),
        ("memory", 1152 * 2**20, "1152Mi"),
        ("memory", 500_000_000, "500M"),
    ],
)
def test_quantities_are_written_as_a_server_gives_them_back(resource: str, amount: int, written: str) -> None:
    assert quantity(resource, amount) == written


@given(st.integers(0, 10**12))
def test_no_quantity_is_rounded(amount: int) -> None:
    assert Quantity.parse(quantity("memory", amount)).bytes == amount
    assert Quantity.parse(quantity("cpu", amount)).milli == amount


def test_plain_names_make_plain_files() -> None:
    assert stem(WorkloadId("shop", "CronJob", "web.app-1")) == "shop_cronjob_web.app-1"


@given(IDS)
def test_whatever_a_workload_is_called_its_file_is_safe(who: WorkloadId) -> None:
    assert re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,199}", stem(who))
    assert ".." not in stem(who)


@given(st.lists(IDS, max_size=4, unique=True))
def test_no_two_workloads_have_one_file(ids: list[WorkloadId]) -> None:
    assert len({stem(who) for who in ids}) == len(ids)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a_b", "Job", "c"), ("a", "Job", "b_c")),
        (("a", "Job", "b"), ("a", "job", "b")),
        (("a", "Job", "B"), ("a", "Job", "b")),
        (("a", "Job", "b" * 300), ("a", "Job", "b" * 301)),
        (("a", "Job", "-"), ("a", "Job", "--")),
    ],
)
def test_names_that_look_alike_are_told_apart(one: tuple[str, str, str], other: tuple[str, str, str]) -> None:
    assert stem(WorkloadId(*one)) != stem(WorkloadId(*other))


@pytest.mark.parametrize("form", FORMS)
def test_every_file_says_which_review_it_is_from(form: str) -> None:
    for file in make(review(workload(), workload(name="b"), is_partial=True), form).files:
        message = file.text + "".join(file.about)
        assert "from the review of 2026-01-09T00:00:00Z, which is partial: " in message
        assert "workloads of https://cluster.example:6443, use from http://prometheus.example:9090" in message
        assert "strategy vpa over 8d" in message


def test_the_word_of_advisors_has_no_window() -> None:
    message = "\n".join(make(review(), "helm").files[0].text.splitlines()[:1])
    assert message.endswith("strategy vpa over 8d")
    advised = msgspec.structs.replace(review(), usage=ADVISED)
    assert make(advised, "helm").files[0].text.splitlines()[0].endswith("use from vpa objects, strategy vpa")


@pytest.mark.parametrize("form", FORMS)
def test_a_review_of_no_time_there_is_does_not_crash(form: str) -> None:
    odd = msgspec.structs.replace(review(), at=10**18)
    (file, *_) = make(odd, form).files
    assert "from the review of 1000000000000000000 ms after 1970" in file.text + "".join(file.about)


@pytest.mark.parametrize("form", ["terraform", "tfvars", "kustomize", "helm"])
def test_findings_about_a_workload_stand_beside_its_patch(form: str) -> None:
    found = finding("advisor-acts", "spec", "VPA web is in mode Auto\nresources: injected")
    texts = [file.text for file in make(review(findings=(found,)), form).files]
    message = (
        "# info advisor-acts, spec: VPA web is in mode Auto resources: injected; should be: something else"
    )
    assert any(message in text for text in texts)


@pytest.mark.slow
def test_the_same_review_gives_the_same_text_in_every_process() -> None:
    message = "from tests.rightsize.report.reviews import sample_review as s; from remuda.rightsize.patches import FORMS, make"
    code = f"{message}; print([make(s(), form) for form in FORMS])"
    outs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PATH": os.environ["PATH"]},
            cwd=Path(__file__).parents[3],
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outs) == 1
