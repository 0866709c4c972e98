"""A review as one HTML file: the page of sizes, with every workload below it."""

from typing import Any

from remuda import __version__
from remuda.rightsize.pages import RISK_NAMES, Filter
from remuda.rightsize.report import sizes
from remuda.rightsize.report.changes_show import change_tables
from remuda.rightsize.report.compare import Changes
from remuda.rightsize.report.figures import describe_usage, key_of, names
from remuda.rightsize.report.size_charts import span_of
from remuda.rightsize.report.size_patches import with_patches
from remuda.rightsize.review import Review
from remuda.web.page import Content
from remuda.web.standalone import write_page

#: with more containers than this, charts have fewer points, their tables fewer rows, and there are no patches
_LARGE = 500
_POINTS, _FEW_POINTS = 200, 60
_ROWS, _FEW_ROWS = 24, 6
#: patches are made for each workload in each form
_MOST_PATCHED = 100


def sizes_file(review: Review, changes: Changes | None = None) -> str:
    """The whole page."""
    title = f"Sizes of {review.source}"
    content = Content("rightsize/sizes.html", _values(review, changes) | {"title": title}, title)
    return write_page(content, ["remuda.rightsize"], review.at, f"remuda {__version__}")


def _values(review: Review, changes: Changes | None) -> dict[str, Any]:
    containers = sum(len(workload.containers) for workload in review.workloads)
    is_large = containers > _LARGE
    found = sizes.all_found(review)
    about, called, span = sizes.by_workload(found), names(review), span_of(review)
    has_patches = len(review.workloads) <= _MOST_PATCHED
    sections = []
    for workload in review.workloads:
        shown = sizes.show_workload(
            review,
            workload,
            called[key_of(workload)],
            about.get(sizes.write_key(workload), []),
            span,
            _FEW_POINTS if is_large else _POINTS,
        )
        sections.append(with_patches(shown, review) if has_patches else shown)
    places = {shown.row.key: f"#w{n}" for n, shown in enumerate(sections)}
    return {
        "review": review,
        "usage": describe_usage(review),
        "reviews": (),
        "cards": sizes.cards(review),
        "changes": list(change_tables(changes, review.currency)) if changes is not None else None,
        "rows": [shown.row for shown in sections],
        "found": len(sections),
        "count": len(sections),
        "has_prices": review.waste.monthly is not None,
        "filter": Filter(),
        "namespaces": sorted({each.namespace for each in review.workloads}),
        "risks": RISK_NAMES,
        "href": places.__getitem__,
        "causes": sizes.causes(found),
        "most_findings": len(found),
        "sections": sections,
        "has_patches": has_patches,
        "most_rows": _FEW_ROWS if is_large else _ROWS,
    }
