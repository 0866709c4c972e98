"""Where what a review found becomes sentences: the form in which it is kept, printed and made patches of."""

from collections.abc import Iterable

from msgspec import structs

from remuda.model import findings as model
from remuda.output.findings import describe
from remuda.rightsize.review import Finding, Review


def with_findings(review: Review, findings: Iterable[model.Finding]) -> Review:
    """A review with what was found, in words."""
    worded = (
        Finding(each.rule, each.severity, each.subject, each.field, *describe(each)) for each in findings
    )
    return structs.replace(review, findings=tuple(worded))
