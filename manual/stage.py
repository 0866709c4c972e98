"""
The pages of the site in one directory: those of `docs/`, those that the code gives, and what both link to.

Nothing of it is committed. Links of `docs/` are right where they stand, in the repository; those that leave it lead to a
copy here.
"""

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from os.path import relpath
from pathlib import Path, PurePosixPath

from manual import cli, codes, http_api, metrics, objects, permissions
from manual.tables import table
from remuda.job import Jobs

#: a page by its name, with its title and what it holds
Reference = Mapping[str, tuple[str, str, Callable[[Jobs], str]]]

REFERENCE: Reference = {
    "cli.md": ("Commands", "every command with its options", cli.page),
    "objects.md": ("Objects", "every kind with every field, its type, default and meaning", objects.page),
    "reasons.md": ("Reasons", "every code that `why` gives, and what it means", codes.reasons_page),
    "findings.md": ("Findings", "every rule of an audit or a review, and how to fix it", codes.findings_page),
    "metrics.md": ("Metrics", "every metric with its labels", lambda _: metrics.page()),
    "http-api.md": ("HTTP API", "every request and the types of bodies and answers", http_api.page),
    "permissions.md": ("Permissions", "what each command asks of the Kubernetes API", permissions.page),
}
#: what is not below `docs/` and has a place in the site
_BESIDE = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "LICENSE": "LICENSE.txt"}
_LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s#]+)((?:#[^)\s]*)?\))")


class DeadLink(Exception):
    """A page links to what is neither in the repository nor made for the site."""


def stage(root: Path, to: Path, jobs: Jobs) -> None:
    """Fill a directory anew; `DeadLink` names the first page with a link that leads nowhere."""
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(root / "examples", to / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    for source, place in _sources(root):
        target = to / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            target.write_text(_relinked(root, source, place), encoding="utf-8")
        else:
            shutil.copyfile(source, target)
    for name, (_, _, make) in REFERENCE.items():
        (to / "reference" / name).write_text(make(jobs), encoding="utf-8")
    rows = [(f"[{title}]({name})", what) for name, (title, what, _) in REFERENCE.items()]
    _append(to / "reference" / "index.md", table(("page", "holds"), rows))
    decisions = sorted((to / "adr").glob("[0-9]*.md"))
    _append(to / "adr" / "README.md", "".join(f"- [{_title(page)}]({page.name})\n" for page in decisions))


def _append(page: Path, text: str) -> None:
    with page.open("a", encoding="utf-8") as file:
        file.write(f"\n{text}")


def _title(page: Path) -> str:
    return page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def _sources(root: Path) -> Iterator[tuple[Path, PurePosixPath]]:
    """Every file of the site that is in the repository, and its place in the site."""
    for path in sorted((root / "docs").rglob("*")):
        if path.is_file():
            yield path, PurePosixPath(path.relative_to(root / "docs").as_posix())
    for name, place in _BESIDE.items():
        yield root / name, PurePosixPath(place)


def _relinked(root: Path, page: Path, place: PurePosixPath) -> str:
    def follow(found: re.Match[str]) -> str:
        before, target, after = found.groups()
        if ":" in target:
            return found[0]
        path = (page.parent / target).resolve()
        try:
            new = _place(root.resolve(), path)
        except ValueError:
            raise DeadLink(
                f"{page.relative_to(root)} links to {target}, which has no place in the site"
            ) from None
        if not path.exists():
            raise DeadLink(f"{page.relative_to(root)} links to {target}, which is not there")
        return f"{before}{relpath(new, place.parent)}{after}"

    text = page.read_text(encoding="utf-8")
    parts = re.split(r"(^ *```.*?^ *```)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if n % 2 else _LINK.sub(follow, part) for n, part in enumerate(parts))


def _place(root: Path, path: Path) -> str:
    """Where a file of the repository is in the site; `ValueError` when it is not."""
    inside = path.relative_to(root).as_posix()
    if inside in _BESIDE:
        return _BESIDE[inside]
    if inside.startswith("examples/"):
        return inside
    return path.relative_to(root / "docs").as_posix()
