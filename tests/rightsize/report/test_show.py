"""A review for people: what matters first, marks in the row, and one flat table for programs."""

import csv
import io
import json

import msgspec
import pytest
import yaml
from tests.rightsize.report.reviews import changed, sample_review

from remuda.output.show import FORMATS, show
from remuda.rightsize.report.compare import Changes, changes
from remuda.rightsize.report.figures import cpu, memory, way
from remuda.rightsize.report.show import MOST_ROWS, report
from remuda.rightsize.review import ADVISED, ContainerReview, Review, Waste
from remuda.rightsize.snapshot import Ask, Size


def shown(review: Review, form: str, found: Changes | None = None) -> str:
    out = io.StringIO(newline="")
    show(report(review, form, found), form, out=out)
    return out.getvalue()


def rows(review: Review) -> list[str]:
    text = shown(review, "table")
    return text[text.index("RISK") : text.index("Findings")].rstrip().splitlines()


def test_it_is_readable_on_160_columns() -> None:
    assert max(map(len, rows(sample_review()))) <= 160


def test_the_totals_come_first() -> None:
    lines = shown(sample_review(), "table").splitlines()
    assert lines[0] == "Sizes of https://cluster.example:6443 at 2026-01-09T00:00:00Z"
    assert lines[1].startswith(
        "7 workloads with 8 containers; use is from http://prometheus.example:9090, 8d back"
    )
    assert lines[2] == "At risk: 1 will OOM, 1 leak. 2 to raise, 2 to lower, 2 to keep, 2 to leave."
    assert lines[3] == "Requested beyond need: 3.94 cores, 54.6 GiB, 196.96 EUR a month."
    assert lines[4] == "Missing elsewhere: 1.25 cores, 1.19 GiB, 21.31 EUR a month."
    assert lines[5].startswith("This review is partial")


def test_risk_comes_first_and_every_number_is_in_its_row() -> None:
    _, first, second, *_ = rows(sample_review())
    assert first.split() == (
        [
            "will",
            "OOM",
            "raise",
            "shop/checkout",
            "app",
            "cpu",
            "510m",
            "813m",
            "914m",
            "500m/1",
            "813m/-",
            "691m",
            "-1.25",
            "-21.31",
        ]
    )
    assert second.split() == [
        "memory",
        "523Mi",
        "600Mi",
        "675Mi",
        "512Mi/512Mi",
        "816Mi/816Mi",
        "588Mi",
        "-1.19Gi",
    ]


def test_the_bounds_are_of_the_strategy_that_the_review_went_by() -> None:
    by_krr = msgspec.structs.replace(sample_review(), strategy="krr")
    _, first, second, *_ = rows(by_krr)
    assert first.split()[5:9] == ["cpu", "691m", "691m", "691m"]
    assert second.split()[:4] == ["memory", "588Mi", "588Mi", "588Mi"]
    (found, *_) = csv.DictReader(io.StringIO(shown(by_krr, "csv"), newline=""))
    assert found["lower_bound"] == found["target"] == found["upper_bound"] == found["krr_request"]
    by_other = msgspec.structs.replace(by_krr, strategy="of-a-plugin")
    assert rows(by_other)[1].split()[5:9] == ["cpu", "-", "-", "-"]


def test_the_word_of_advisors_has_no_window() -> None:
    advised = msgspec.structs.replace(sample_review(), usage=ADVISED)
    line = shown(advised, "table").splitlines()[1]
    assert line == "7 workloads with 8 containers; use is from vpa objects, by the rule vpa"


def test_money_says_whose_it_is() -> None:
    assert "money is of the whole workload, beside its first container)" in shown(sample_review(), "table")


@pytest.mark.parametrize("form", ["table", "markdown", "csv"])
def test_what_a_workload_is_called_steers_nothing(form: str) -> None:
    hostile = "<script>\x1b[2J\x07\u202e"
    text = shown(changed(sample_review(), "checkout", name=hostile), form)
    assert "[2J" in text
    assert not set(text) & set("\x1b\x07\u202e")
    assert ("<script>" in text) == (form != "markdown")


@pytest.mark.parametrize(
    ("workload", "words"),
    [
        pytest.param("web/fresh", ["raise?", "web/fresh"], id="provisional"),
        pytest.param(
            "web/StatefulSet/front", ["keep*", "web/StatefulSet/front"], id="partial, of a common name"
        ),
        pytest.param(
            "batch/report", ["leave", "batch/report", "report", "cpu", "-", "-", "-"], id="no evidence"
        ),
        pytest.param("shop/cart", ["leak", "leave", "shop/cart"], id="a leak"),
    ],
)
def test_what_is_not_certain_is_marked_in_its_row(workload: str, words: list[str]) -> None:
    line = next(line for line in rows(sample_review()) if workload in line)
    assert line.split()[: len(words)] == words


def test_without_prices_there_is_no_money() -> None:
    review = sample_review()
    free = tuple(
        msgspec.structs.replace(item, waste=msgspec.structs.replace(item.waste, monthly=None))
        for item in review.workloads
    )
    text = shown(msgspec.structs.replace(review, workloads=free, waste=Waste(1, 1), currency=""), "table")
    assert "A MONTH" not in text
    assert "a month" not in text
    assert "EUR" not in text


def test_findings_say_what_is_what_should_be_and_how_to_fix_it() -> None:
    text = shown(sample_review(), "table")
    assert "Findings: 2 error, 3 warning, 1 info" in text
    at = text.index("StatefulSet shop/cart spec.template.spec.containers[cart].resources.limits.memory")
    assert text[at:].splitlines()[1].split()[:2] == ["found", "the"]
    assert "fix           find what is never freed" in text[at:]


@pytest.mark.slow
def test_a_large_review_is_cut_and_says_where_all_of_it_is() -> None:
    review = sample_review()
    many = tuple(
        msgspec.structs.replace(item, name=f"{item.name}-{n}") for n in range(60) for item in review.workloads
    )
    big = msgspec.structs.replace(review, workloads=many, findings=review.findings * 100)
    text = shown(big, "table")
    assert f"and {60 * 16 - MOST_ROWS} more rows: -o json has all" in text
    assert "and 400 more: -o json has all" in text
    assert len(shown(big, "csv").splitlines()) == 60 * 16 + 1


def test_csv_is_one_flat_table_in_base_units() -> None:
    found = list(csv.DictReader(io.StringIO(shown(sample_review(), "csv"), newline="")))
    assert len(found) == 16
    app = found[1]
    assert (app["name"], app["container"], app["resource"], app["unit"]) == (
        "checkout",
        "app",
        "memory",
        "bytes",
    )
    assert app["request"] == app["limit"] == str(512 * 2**20)
    assert app["recommended_limit"] == str(816 * 2**20)
    assert app["waste"] == str(4 * (512 - 816) * 2**20)
    assert (app["risk"], app["verdict"], app["provisional"]) == ("will-oom", "raise", "false")
    assert found[0]["limit"] == "1000"
    assert found[0]["recommended_limit"] == ""
    assert all(row["unit"] in ("millicores", "bytes") for row in found)


def test_the_columns_of_csv_add_up_to_the_totals() -> None:
    review = sample_review()
    found = list(csv.DictReader(io.StringIO(shown(review, "csv"), newline="")))
    assert sum(int(row["waste"]) for row in found if row["resource"] == "cpu") == review.waste.cpu_millicores
    assert sum(int(row["waste"]) for row in found if row["resource"] == "memory") == review.waste.memory_bytes
    money = sum(float(row["workload_monthly"] or 0) for row in found)
    assert money == pytest.approx(review.waste.monthly, abs=0.05)


@pytest.mark.slow
def test_json_and_yaml_are_the_document() -> None:
    review = sample_review()
    message = json.loads(shown(review, "json"))
    assert message["schema"] == "remuda.dev/rightsize-review/v1"
    assert yaml.safe_load(shown(review, "yaml")) == message
    with_changes = json.loads(shown(review, "json", changes(review, review)))
    assert with_changes["changes"]["heard"][0]["outcome"] == "not"


def test_markdown_is_a_page_with_a_title_and_tables() -> None:
    text = shown(sample_review(), "markdown")
    assert text.startswith("# Sizes of https://cluster.example:6443 at 2026-01-09T00:00:00Z\n\n7 workloads")
    assert "\n### Findings: 2 error, 3 warning, 1 info\n\n| Severity |" in text
    assert not any(line.startswith("  ") for line in text.splitlines())


def test_changes_are_shown_with_what_became_of_recommendations() -> None:
    before = sample_review()
    wanted = before.workloads[2].containers[0]
    followed = msgspec.structs.replace(wanted, now=wanted.recommended, verdict="keep")
    after = changed(before, "trainer", containers=(followed,))
    after = msgspec.structs.replace(after, at=after.at + 90 * 86_400_000, findings=after.findings[1:])
    for form in ("table", "markdown"):
        text = " ".join(shown(after, form, changes(before, after)).replace("|", " ").split())
        assert "Since the last review at 2026-01-09T00:00:00Z, 90d before" in text
        assert "1 followed, 2 not followed" in text
        assert (
            "Deployment ml/trainer trainer followed memory 64Gi/64Gi 13.34Gi/19.75Gi 13.34Gi/19.75Gi" in text
        )
        assert "Findings that are gone" in text
        assert "0 appeared, 1 gone" in text


@pytest.mark.parametrize("form", FORMATS)
def test_a_review_of_nothing_can_be_shown(form: str) -> None:
    empty = Review(0, "nowhere", "nothing", "vpa", 1, ())
    assert shown(empty, form, changes(empty, empty)).strip()


@pytest.mark.parametrize(
    ("amount", "message"),
    [(0, "0"), (512, "512"), (104_856, "104856"), (104_858, "0.1Mi"), (2**20, "1Mi"), (100_000_000, "95.4Mi"), (628_694_953, "600Mi"), (2**30, "1Gi"), (1536 * 2**20, "1536Mi"),
     (-(2**30), "-1Gi"), (14_318_501_291, "13.34Gi"), (10**14, "90.95Ti"), (64 * 2**30, "64Gi")],
)  # fmt: skip
def test_memory_is_as_short_as_it_can_be(amount: int, message: str) -> None:
    assert memory(amount) == message


@pytest.mark.parametrize(
    ("amount", "message"),
    [(0, "0"), (25, "25m"), (4_065, "4065m"), (8_000, "8"), (16_500, "16.5"), (211_907, "211.9")],
)
def test_cpu_is_as_short_as_it_can_be(amount: int, message: str) -> None:
    assert cpu(amount) == message


@pytest.mark.parametrize(
    ("now", "then", "ways"),
    [
        pytest.param((100, 32, 80), (50, 50, 64), ("lower", "up/down"), id="both ways"),
        pytest.param((100, 32, 80), (100, 64, 96), ("", "raise"), id="one way"),
        pytest.param((100, 32, None), (100, 32, 96), ("", "lower"), id="a limit where there was none"),
    ],
)
def test_each_resource_tells_which_way_it_goes(
    now: tuple[int, int, int | None], then: tuple[int, int, int | None], ways: tuple[str, str]
) -> None:
    before, after = (Size(Ask(cpu, request), Ask(None, limit)) for cpu, request, limit in (now, then))
    item = ContainerReview("main", before, after, "raise")
    assert (way(item, "cpu"), way(item, "memory")) == ways
