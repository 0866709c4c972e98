"""Small reviews to make patches of, and what is hostile about names."""

from typing import Any

from hypothesis import strategies as st
from tests.rightsize.report.reviews import AT, SOURCE, USAGE, size

from remuda.rightsize.patches import FORMS, Made
from remuda.rightsize.patches.changes import changes_of
from remuda.rightsize.review import ContainerReview, Finding, Review, WorkloadReview
from remuda.rightsize.snapshot import Size

SMALL = size(100, 128, 200, 256)
LARGE = size(587, 768, None, 768)


def container(
    name: str = "app", now: Size = SMALL, recommended: Size = LARGE, **words: Any
) -> ContainerReview:
    """One that should be larger."""
    return ContainerReview(name, now, recommended, words.pop("verdict", "raise"), **words)


def workload(
    *containers: ContainerReview,
    namespace: str = "shop",
    kind: str = "Deployment",
    name: str = "web",
    **words: Any,
) -> WorkloadReview:
    return WorkloadReview(namespace, kind, name, 1, None, containers or (container(),), **words)


def review(*workloads: WorkloadReview, findings: tuple[Finding, ...] = (), **words: Any) -> Review:
    return Review(AT, SOURCE, USAGE, "vpa", 8 * 86_400, workloads or (workload(),), findings, **words)


def finding(rule: str, field: str, is_: str, who: str = "Deployment shop/web") -> Finding:
    return Finding(rule, "info", who, field, is_, "something else", "do it")


def unchecked(made: Review, form: str) -> Made:
    """Patches whatever things are called: that no such name comes so far is one fence, that it is only text another."""
    return FORMS[form].write(made, changes_of(made)[0])


#: templates, quotes, comments and ends of lines of every format, and what a file system takes for a path
PIECES = (
    "${", "%{", "$", "%", "{", "}", '"', "'", "\\", "\n", "\r", "\t", "\0", "\u2028", "\u0085", "\u202e", "\x1b", "#", "//", "/*", ": ",
    "- ", "&", "*", "!", "|", ">", "@", "`", "..", "/", ".", "~", "null", "yes", "1e3", "0x1f", "for", "é", "\U0001f600", "a", "B",
)  # fmt: skip
HOSTILE = st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join)
#: of objects: with a slash, a name is refused
NAMES = HOSTILE.map(lambda name: name.replace("/", "|"))


@st.composite
def hostile_workloads(draw: st.DrawFn) -> WorkloadReview:
    """Of hostile names, with whatever sizes."""
    names = draw(st.lists(HOSTILE, min_size=1, max_size=3, unique=True))
    kind = draw(st.sampled_from(("Deployment", "CronJob", "deployment", "Ro${llout")))
    made = []
    for number, name in enumerate(names):
        memory = draw(st.integers(1, 2**30))
        made.append(
            container(
                name,
                size(),
                size(draw(st.integers(1, 10**5)), memory, None, memory),
                others=draw(st.dictionaries(HOSTILE, HOSTILE, max_size=2)),
                other_requests=draw(st.dictionaries(HOSTILE, HOSTILE, max_size=1)),
                is_sidecar=draw(st.booleans()),
                index=number,
            )
        )
    return workload(*made, namespace=draw(NAMES), kind=kind, name=draw(NAMES))
