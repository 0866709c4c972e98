"""The report as text: whole, escaped, and with a policy that fits what is in it. A browser opens it elsewhere."""

import base64
import hashlib
import re
from html import unescape
from html.parser import HTMLParser

import msgspec
import pytest
from tests.rightsize.report.reviews import AT, changed, sample_review

from remuda.model.workloads import WorkloadId
from remuda.rightsize.codes import RULES
from remuda.rightsize.patches import FORMS, make, text_of
from remuda.rightsize.report.compare import changes
from remuda.rightsize.review import ADVISED, Review, Waste
from remuda.rightsize.sizes_file import sizes_file as html
from remuda.rightsize.snapshot import Ask, Size

#: tags that need no end
_OPEN = {"meta", "br", "input", "rect", "path"}


class Reader(HTMLParser):
    """Every tag with its attributes, and whether tags are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.stack: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _OPEN:
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in _OPEN:
            assert self.stack.pop() == tag


def test_every_tag_is_closed_and_every_link_leads_somewhere_in_the_page() -> None:
    review = sample_review()
    before = msgspec.structs.replace(review, workloads=review.workloads[1:])
    read = Reader(html(review, changes(before, review)))
    assert read.stack == []
    ids = [attributes["id"] for _, attributes in read.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {attributes["href"] for _, attributes in read.tags if attributes.get("href")}
    assert links <= {f"#{each}" for each in ids}
    assert {"#w0", "#w6", "#f0", "#workloads-title"} <= links


def test_nothing_is_from_elsewhere_and_nothing_is_inline_but_what_the_policy_names() -> None:
    text = html(sample_review())
    read = Reader(text)
    for tag, attributes in read.tags:
        assert tag not in {"img", "link", "iframe", "object", "embed", "base"}
        assert not any(name.startswith("on") or name in {"src", "style"} for name in attributes), attributes
    policy = next(attributes["content"] for _, attributes in read.tags if "http-equiv" in attributes)
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    for tag in ("style", "script"):
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert "url(" not in text
    assert "@import" not in text


def test_the_policy_comes_before_anything_it_is_about() -> None:
    text = html(sample_review())
    assert text.index("Content-Security-Policy") < text.index("<title>") < text.index("<style>")
    assert "action=" not in text, "what is filled in stays in the page"


def test_names_are_escaped_wherever_they_are() -> None:
    hostile = "<b onload='x'>&\"\x1b"
    bad = changed(sample_review(), "checkout", name=hostile, namespace=hostile, kind=hostile)
    bad = msgspec.structs.replace(bad, source=hostile, usage=hostile, currency=hostile)
    text = html(bad, changes(bad, bad))
    assert "<b onload" not in text
    assert "\x1b" not in text
    assert "&lt;b onload=&#39;x&#39;&gt;&amp;&#34;�" in text


def test_what_matters_is_in_it() -> None:
    text = html(sample_review())
    for words in (
        'reviewed <time datetime="2026-01-09T00:00:00Z"',
        "1 will OOM, 1 leak",
        "196.96 EUR",
        "find what is never freed",
        "too little data: provisional",
        "nvidia.com/gpu: 1",
        "12 samples were no number, and left out",
        "1 kill at 512Mi asks for 614Mi",
        "<td>816Mi/816Mi</td><td>816Mi/816Mi</td><td>588Mi/588Mi</td>",
        "There are no samples",
    ):
        assert words in text, words
    assert text.count("<figure") == 16
    assert text.count("data-chart=") == 14, "one has no samples"
    assert text.count('role="img" aria-labelledby=') == 14


def test_workloads_come_before_findings_and_these_by_their_cause() -> None:
    review = sample_review()
    killed = msgspec.structs.replace(review.findings[0], rule="killed")
    twice = [killed, review.findings[1], msgspec.structs.replace(killed, object="Deployment shop/other")]
    text = html(msgspec.structs.replace(review, findings=tuple(twice)))
    assert text.index('id="workloads"') < text.index('id="findings"') < text.index('<section id="w0"')
    found = text[text.index('id="findings"') : text.index('<section id="w0"')]
    assert found.count("<summary>") == 2
    assert found.index('id="f0"') < found.index('id="f2"') < found.index('id="f1"')
    assert f"<b>killed</b> {RULES['killed']}" in found


def test_the_table_of_workloads_shows_what_is_now_and_what_is_advised() -> None:
    text = html(sample_review())
    table = text[text.index('id="workloads"') : text.index('id="findings"')]
    assert "816Mi/816Mi" not in table.replace("→ 816Mi/816Mi", "")
    assert "512Mi/512Mi → 816Mi/816Mi" in table


def test_where_request_and_limit_go_different_ways_both_are_in_the_page() -> None:
    review = sample_review()
    item = review.workloads[0].containers[0]
    item = msgspec.structs.replace(
        item,
        now=Size(Ask(200, 32), Ask(None, 80)),
        recommended=Size(Ask(100, 50), Ask(None, 64)),
        verdict="raise",
    )
    workload = msgspec.structs.replace(review.workloads[0], containers=(item,))
    text = html(msgspec.structs.replace(review, workloads=(workload,)))
    assert text.count(">CPU lower<") == text.count(">memory request up, limit down<") == 2


def test_the_bounds_are_of_the_strategy_that_the_review_went_by() -> None:
    text = html(msgspec.structs.replace(sample_review(), strategy="krr"))
    assert '<th scope="row">Memory</th><td>588Mi</td><td>588Mi</td><td>588Mi</td><td>512Mi/512Mi</td>' in text


def test_the_word_of_advisors_has_no_window() -> None:
    assert "use is from vpa objects.</p>" in html(msgspec.structs.replace(sample_review(), usage=ADVISED))


def test_without_prices_there_is_no_money() -> None:
    review = sample_review()
    free = tuple(
        msgspec.structs.replace(item, waste=msgspec.structs.replace(item.waste, monthly=None))
        for item in review.workloads
    )
    text = html(msgspec.structs.replace(review, workloads=free, waste=Waste(), currency=""))
    assert "a month" not in text
    assert "None" not in text


@pytest.mark.parametrize("history", [1, 3_600, 90 * 86_400])
def test_a_review_of_nothing_is_a_page_too(history: int) -> None:
    text = html(Review(AT, "here", "nothing", "vpa", history, ()))
    assert Reader(text).stack == []
    assert "There is no workload." in text


def test_a_finding_about_something_else_is_not_a_link() -> None:
    review = sample_review()
    quota = msgspec.structs.replace(review.findings[0], object="ResourceQuota shop/all")
    assert ">ResourceQuota shop/all<br>" in html(msgspec.structs.replace(review, findings=(quota,)))


def test_patches_to_copy_are_those_that_the_command_prints() -> None:
    review = sample_review()
    text = html(review)
    item = review.workloads[0]
    only = [WorkloadId(item.namespace, item.kind, item.name)]
    for form in FORMS:
        (found,) = re.findall(rf'<pre id="w0-{form}"[^>]*>(.*?)</pre>', text, re.DOTALL)
        assert unescape(found) == text_of(make(review, form, only), form)
        assert f'data-copy="w0-{form}"' in text


def test_without_a_change_patches_say_so_and_why() -> None:
    review = sample_review()
    kept = tuple(item for item in review.workloads if item.containers[0].verdict in {"keep", "leave"})
    text = html(msgspec.structs.replace(review, workloads=kept[:1]))
    assert "Nothing is to be changed." in text
    assert "left out: " in text


def test_a_large_review_has_no_patches_and_says_what_makes_them() -> None:
    review = sample_review()
    many = tuple(msgspec.structs.replace(review.workloads[0], name=f"w{n}") for n in range(101))
    text = html(msgspec.structs.replace(review, workloads=many, findings=()))
    assert "<pre" not in text
    assert "remuda rightsize patch shop/Deployment/w100 --as kustomize" in text


def test_a_review_that_was_kept_without_points_says_why_there_is_no_chart() -> None:
    review = sample_review()
    item = review.workloads[0].containers[0]
    assert item.evidence is not None
    old = msgspec.structs.replace(item, evidence=msgspec.structs.replace(item.evidence, series=None))
    workload = msgspec.structs.replace(review.workloads[0], containers=(old,))
    text = html(msgspec.structs.replace(review, workloads=(workload,)))
    assert text.count("review again to see it") == 2
    assert "data-chart=" not in text.partition("<main")[2].partition("</main>")[0]
