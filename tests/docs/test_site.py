"""The site is built from the pages as they are, strictly, and every link in it leads somewhere, without the internet."""

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from manual.stage import REFERENCE, DeadLink, stage

from remuda.jobs import JOBS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
CONFIG = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
BUILD_DEADLINE_S = 120
#: what a browser loads by itself, as tag and attribute
LOADED = {
    ("img", "src"),
    ("script", "src"),
    ("link", "href"),
    ("source", "src"),
    ("iframe", "src"),
    ("object", "data"),
}


class Page(HTMLParser):
    """Links and anchors of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors = {""}
        self.links: list[tuple[str, str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in {"id", "name"} and value:
                self.anchors.add(value)
            if name in {"href", "src", "data"} and value:
                self.links.append((tag, name, value))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Page]:
    """Every page of the site by its path; nothing is fetched to build it."""
    home = tmp_path_factory.mktemp("site")
    stage(ROOT, home / "docs", JOBS)
    (home / "mkdocs.yml").write_text(yaml.safe_dump(CONFIG | {"docs_dir": "docs", "site_dir": "site"}))
    done = subprocess.run(
        [Path(sys.executable).parent / "zensical", "build", "--strict", "--clean"],
        cwd=home,
        capture_output=True,
        text=True,
        timeout=BUILD_DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
    assert "No issues found" in done.stdout + done.stderr
    return {path: Page(path.read_text(encoding="utf-8")) for path in (home / "site").rglob("*.html")}


def links(site: dict[Path, Page]) -> Iterator[tuple[Path, str, Path, str]]:
    """Links that stay in the site: where they are, what they say, and file and anchor they lead to."""
    for path, page in site.items():
        if path.name == "404.html":
            continue  # its links begin at the root of a server
        for _, _, link in page.links:
            parts = urlsplit(link)
            if not parts.scheme and not parts.netloc:
                target = path.parent / unquote(parts.path) if parts.path else path
                yield path, link, target.resolve(), unquote(parts.fragment)


def test_every_link_and_picture_leads_to_a_file(site: dict[Path, Page]) -> None:
    found = list(links(site))
    assert len(found) > 1000
    for path, link, target, _ in found:
        file = target / "index.html" if target.is_dir() else target
        assert file.is_file(), f"{path.name}: {link}"


def test_every_anchor_is_there(site: dict[Path, Page]) -> None:
    pages = {path.resolve(): page for path, page in site.items()}
    for path, link, target, anchor in links(site):
        if target in pages:
            assert anchor in pages[target].anchors, f"{path.name}: {link}"


def test_a_browser_loads_nothing_from_elsewhere(site: dict[Path, Page]) -> None:
    for path, page in site.items():
        for tag, name, link in page.links:
            if (tag, name) in LOADED:
                assert not urlsplit(link).netloc, f"{path.name}: {link}"


def test_every_page_is_in_the_navigation(site: dict[Path, Page]) -> None:
    listed = set(_pages(CONFIG["nav"]))
    written = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    made = {f"reference/{name}" for name in REFERENCE} | {"contributing.md", "changelog.md"}
    # decisions are listed by the page that is about them
    assert listed == {name for name in written | made if not re.match(r"adr/(\d|template)", name)}
    (decisions,) = [
        page for path, page in site.items() if path.parent.name == "adr" and path.name == "index.html"
    ]
    linked = {link for _, _, link in decisions.links}
    assert {f"{path.stem}.html" for path in (ROOT / "docs" / "adr").glob("[0-9]*.md")} <= linked


def _pages(nav: object) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict):
        for each in nav.values():
            yield from _pages(each)
    elif isinstance(nav, list):
        for each in nav:
            yield from _pages(each)


@pytest.mark.parametrize(
    ("link", "problem"),
    [
        ("nonesuch.md", "page.md links to nonesuch.md, which is not there"),
        ("../src/code.py", "page.md links to ../src/code.py, which has no place in the site"),
    ],
)
def test_a_dead_link_is_named_with_its_page(tmp_path: Path, link: str, problem: str) -> None:
    for name in ("docs/reference", "examples", "src"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "docs/reference/index.md", "src/code.py"):
        (tmp_path / name).write_text("")
    (tmp_path / "docs" / "page.md").write_text(f"See [it]({link}).\n")
    with pytest.raises(DeadLink, match=re.escape(problem)):
        stage(tmp_path, tmp_path / "build", JOBS)
