"""
A page as one file: the templates, the style and the charts of the dashboard, with everything that it needs inside.

It loads nothing from anywhere, which its own policy forbids, too: it allows this style and this script by their hashes.
"""

from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from importlib import resources

from markupsafe import Markup

from remuda.model.times import Instant
from remuda.web.draw import environment
from remuda.web.page import Content

_STYLES = ("uPlot.min.css", "remuda.css")
_SCRIPTS = ("uPlot.iife.min.js", "charts.js", "tables.js")


def write_page(content: Content, packages: Iterable[str], now: Instant, made: str = "") -> str:
    """
    The whole page. Its template is one of the dashboard, with the frame of a file around it.

    `packages` are those that templates come from, as `remuda.rightsize`; `made` says at the top what the page is from.
    A template may ask `is_file` where a file needs something else: it has no other pages, no person and nothing live.
    """
    style, script = _together(_STYLES), _together(_SCRIPTS)
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    frame = {
        "title": content.title,
        "policy": policy,
        "style": Markup(style),  # noqa: S704 - our own file
        "script": Markup(script),  # noqa: S704 - our own file
        "logo": Markup(_read("remuda.svg")),  # noqa: S704 - our own file
        "now": now,
        "made": made,
        "is_file": True,
        "may_write": False,
    }
    templates = environment(packages, frame="file.html")
    return templates.get_template(content.template).render(frame | dict(content.values))


def _together(names: Iterable[str]) -> str:
    return "\n".join(map(_read, names))


def _read(name: str) -> str:
    return (resources.files("remuda.web") / "assets" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
