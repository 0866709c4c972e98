"""Reviews in the ledger: the last of a source, and that nothing is lost where one cannot be kept."""

import random
from pathlib import Path

import msgspec
import pytest
from tests.rightsize.estimate.builders import BEGIN
from tests.rightsize.report.reviews import AT, SOURCE, sample_review

from remuda.errors import BadInput
from remuda.ledger import documents
from remuda.ledger.record import pack
from remuda.ledger.store import FILE
from remuda.rightsize.evidence import Series
from remuda.rightsize.report.kept import MOST_POINTS, keep, kept_form, last, newest_of_each
from remuda.rightsize.review import Review


def at(moment: int, source: str = SOURCE) -> Review:
    return msgspec.structs.replace(sample_review(), at=moment, source=source)


def test_the_last_review_of_a_source_is_read_back_with_the_points_of_its_charts(tmp_path: Path) -> None:
    assert last(tmp_path, SOURCE) is None
    assert keep(tmp_path, at(AT)) == ""
    assert keep(tmp_path, at(AT + 5)) == ""
    assert last(tmp_path, SOURCE) == at(AT + 5)
    assert last(tmp_path, SOURCE, until=AT + 4) == at(AT)
    assert last(tmp_path, SOURCE, until=AT - 1) is None


def of_many(containers: int, points: int) -> Review:
    """Workloads with a container each, whose use is all noise: what can be compressed least."""
    rng = random.Random(7)
    review = sample_review()
    item = review.workloads[0].containers[0]
    assert item.evidence is not None
    workloads = []
    for n in range(containers):
        used = Series(
            BEGIN,
            1_800,
            tuple(rng.randrange(4_000) for _ in range(points)),
            tuple(rng.randrange(2**33) for _ in range(points)),
        )
        own = msgspec.structs.replace(item, evidence=msgspec.structs.replace(item.evidence, series=used))
        workloads.append(
            msgspec.structs.replace(
                review.workloads[0], name=f"{review.workloads[0].name}-{n}", containers=(own,)
            )
        )
    return msgspec.structs.replace(review, workloads=tuple(workloads))


def test_points_of_charts_are_kept_few_however_many_there_were() -> None:
    review = of_many(20, 400)
    for item in kept_form(review).workloads:
        evidence = item.containers[0].evidence
        assert evidence is not None
        assert evidence.series is not None
        assert len(evidence.series.memory_bytes) == MOST_POINTS


@pytest.mark.slow
def test_two_thousand_workloads_are_kept_in_a_few_megabytes_even_of_noise() -> None:
    packed = pack(kept_form(of_many(2_000, 384)))
    assert len(packed) < 5 * 2**20


def test_sources_do_not_mix_even_where_one_begins_as_the_other(tmp_path: Path) -> None:
    keep(tmp_path, at(AT, "https://a"))
    keep(tmp_path, at(AT + 1, "https://a/b"))
    found = last(tmp_path, "https://a")
    assert found is not None
    assert found.at == AT
    assert last(tmp_path, "https://") is None
    assert [review.source for review in newest_of_each(tmp_path)] == ["https://a/b", "https://a"]
    assert [review.source for review in newest_of_each(tmp_path, AT)] == ["https://a"]


def test_why_a_review_cannot_be_kept_is_reported_and_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "cannot be used: " in keep(tmp_path / "file" / "below", at(AT))
    (tmp_path / FILE).write_bytes(b"garbage " * 999)
    assert "is damaged" in keep(tmp_path, at(AT))
    assert (tmp_path / FILE).read_bytes() == b"garbage " * 999


def test_a_review_of_another_version_is_not_taken_for_one(tmp_path: Path) -> None:
    documents.keep(
        tmp_path,
        f"rightsize/{SOURCE}",
        AT,
        msgspec.structs.replace(sample_review(), schema="remuda.dev/other/v9"),
    )
    with pytest.raises(BadInput, match=r"is remuda.dev/other/v9, and this remuda reads .*: review again"):
        last(tmp_path, SOURCE)


def test_a_damaged_review_is_named(tmp_path: Path) -> None:
    documents.keep(tmp_path, f"rightsize/{SOURCE}", AT, {"at": "noon"})
    with pytest.raises(
        BadInput, match=r"kept of rightsize/https://cluster.* at 2026-01-09T00:00:00Z cannot be read"
    ):
        newest_of_each(tmp_path)
    keep(tmp_path, at(AT, "other"))
    message: list[str] = []
    assert [review.source for review in newest_of_each(tmp_path, damaged=message.append)] == ["other"]
    assert len(message) == 1


def test_a_review_of_some_workloads_is_not_taken_for_one_of_all(tmp_path: Path) -> None:
    assert keep(tmp_path, at(AT)) == ""
    assert keep(tmp_path, at(AT + 5), "shop/*") == ""
    found = last(tmp_path, SOURCE)
    assert found is not None
    assert found.at == AT
    of_some = last(tmp_path, SOURCE, "shop/*")
    assert of_some is not None
    assert of_some.at == AT + 5
    assert [review.at for review in newest_of_each(tmp_path)] == [AT + 5, AT]
