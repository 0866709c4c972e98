"""
Pictures of the dashboard: real pages of a real Remuda, in a real browser.

`python -m manual.pictures` takes them all anew. Beside them is kept which words and colours they were made of: a test compares
these with the templates, and says when a picture shows what is no longer so. Pixels are not compared: fonts differ.
"""

import asyncio
import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct
from playwright.async_api import expect
from tests.processes import DEADLINE_S, Place, eventually, place
from tests.servers.browser import Browser, Scheme, get_browser, open_in

from remuda.model.jobs import JobList

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
MADE_OF = Path(__file__).with_suffix(".json")
WIDTH, HEIGHT = 1280, 800
_QUALITY = 82
_SOURCE = ROOT / "src" / "remuda"
#: what people hand in before the pictures are taken: so many jobs, each of so many seconds; the last ones outlast all of it
_WAVES = ((4, 6), (9, 8), (2, 15), (12, 9), (3, 20), (7, 12), (14, 8), (2, 20), (5, 10), (16, 600))
#: what other jobs show
_BESIDE = (
    "rightsize review --from rightsize-cluster.yaml --usage usage.json --policy rightsize-policy.yaml --at 2026-01-01T00:00:00Z",
    "capacity audit --from capacity-cluster.json --from capacity-summary.json --policy capacity-policy.yaml --at 2026-11-16T12:00Z",
    "fleet plan --inventory fleet-inventory.yaml --demand fleet-demand.yaml --keep",
)


class Picture(Struct, frozen=True):
    """A page, and what must be on it before it is taken."""

    name: str
    path: str
    #: words that it shows once it is as it should be
    shows: str
    #: the rooms whose templates it is drawn with, beside the frame
    rooms: tuple[str, ...]
    scheme: Scheme = "light"
    height: int = HEIGHT


#: every page of the dashboard that the documentation shows; a new one is a line here
ALL = (
    Picture("now", "/", "Decided in the last minute", ("web", "pools")),
    Picture("now-dark", "/", "Decided in the last minute", ("web", "pools"), scheme="dark"),
    Picture("pool", "/pools/shell?span=15m", "held by ceiling laptop", ("pools",)),
    Picture("jobs", "/jobs", "running", ("sources/queue",), height=620),
    Picture("why", "/why?kind=pool&name=shell", "ceiling", ("web",), height=760),
    Picture("capacity", "/capacity", "nix-kvm", ("capacity",)),
    Picture("sizes", "/sizes", "shop/", ("rightsize",)),
    Picture("workload", "/sizes/workload?name=shop/StatefulSet/search", "OOM-killed", ("rightsize",)),
    Picture("fleet", "/fleet", "prod/inference", ("fleet",)),
)


@contextmanager
def world(waves: tuple[tuple[int, int], ...] = _WAVES) -> Iterator[Place]:
    """A Remuda of the laptop example in the middle of some work, with a review, an audit and a plan beside it."""
    with place() as here:
        here.file.write_text((ROOT / "examples" / "laptop.yaml").read_text(encoding="utf-8"))
        here.start("--web-port", "0")
        _look_around(here)
        try:
            for count, seconds in waves:
                for number in range(count):
                    kind = "local/quick" if number % 5 == 4 else "local/shell"
                    command = ("sh", "-c", f"echo building part {number}; sleep {seconds}; echo done")
                    here.submit(*command, job_class=kind)
                if (count, seconds) != waves[-1]:
                    # Some waves follow each other closely, and after others there is a lull.
                    busy = ("waiting", "running") if count < 5 else ("waiting",)
                    eventually(lambda: not _jobs(here, *busy), "no job waits any more")  # noqa: B023
            yield here
        finally:
            here.clear()


def _jobs(here: Place, *states: str) -> int:
    counts = here.remuda.get("/v1/jobs", JobList, most=1).counts
    return sum(counts.get(state, 0) for state in states)


def _look_around(here: Place) -> None:
    """What other jobs keep for their pages; files are named as a person would who has them at hand."""
    for path in (ROOT / "examples").iterdir():
        (here.home / path.name).write_bytes(path.read_bytes())
    script = [sys.executable, "rightsize-usage.py", "1767225600"]
    usage = subprocess.run(script, cwd=here.home, check=True, capture_output=True).stdout
    (here.home / "usage.json").write_bytes(usage)
    for command in _BESIDE:
        words = [sys.executable, "-m", "remuda", *command.split(), "--data-dir", str(here.data)]
        ran = subprocess.run(words, cwd=here.home, check=False, capture_output=True, text=True)
        if ran.returncode not in {0, 1}:
            raise RuntimeError(f"remuda {command}: {ran.stderr}")


async def take(here: Place, browser: Browser, picture: Picture) -> bytes:
    """One picture, as WebP."""
    port = json.loads((here.data / "ports.json").read_bytes())["web"]
    token = (here.data / "web-token").read_text().strip()
    person = await browser.person(width=WIDTH, scheme=picture.scheme)
    page = await open_in(person, f"http://127.0.0.1:{port}/?token={token}")
    await page.it.set_viewport_size({"width": WIDTH, "height": picture.height})
    await page.it.goto(f"http://127.0.0.1:{port}{picture.path}")
    shown = page.it.locator("main")
    await expect(shown).to_contain_text(picture.shows, timeout=DEADLINE_S * 1_000)
    await expect(page.it.locator("#pulse")).to_have_text(re.compile("^(live|as opened)$"))
    # Twice a frame: what a script draws after a change is on the screen then.
    await page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    session = await person.new_cdp_session(page.it)
    found = await session.send("Page.captureScreenshot", {"format": "webp", "quality": _QUALITY})
    await person.close()
    return base64.b64decode(found["data"])


def made_of(picture: Picture) -> dict[str, str]:
    """The words of its templates and the colours of the style: what a picture must be taken anew for."""
    frame = _SOURCE / "web" / "templates" / "frame.html"
    templates = [
        path for room in picture.rooms for path in sorted((_SOURCE / room / "templates").glob("*.html"))
    ]
    words = " ".join(_words(path.read_text(encoding="utf-8")) for path in dict.fromkeys([frame, *templates]))
    style = (_SOURCE / "web" / "assets" / "remuda.css").read_text(encoding="utf-8")
    colours = " ".join(sorted(re.findall(r"--[\w-]+: *#[0-9a-f]+", style)))
    return {"words": _digest(words), "colours": _digest(colours)}


def _words(template: str) -> str:
    """What a template says itself, without marks and what is filled in."""
    text = re.sub(r"(?s)\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<[^>]*>", " ", template)
    return " ".join(text.split())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def stale() -> list[str]:
    """The pictures that show what is no longer so, or are not there."""
    kept: dict[str, dict[str, str]] = json.loads(MADE_OF.read_text(encoding="utf-8"))
    missing = [each.name for each in ALL if not (PICTURES / f"{each.name}.webp").exists()]
    return sorted({*missing, *(each.name for each in ALL if kept.get(each.name) != made_of(each))})


async def take_all() -> None:
    """Take every picture, and keep what they are made of."""
    PICTURES.mkdir(exist_ok=True)
    with world() as here:
        async with Browser(get_browser(lambda *_: None)) as browser:
            for picture in ALL:
                data = await take(here, browser, picture)
                (PICTURES / f"{picture.name}.webp").write_bytes(data)
                sys.stdout.write(f"{picture.name}.webp {len(data) // 1024} kB\n")
    kept = {each.name: made_of(each) for each in ALL}
    MADE_OF.write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n")


if __name__ == "__main__":
    os.chdir(ROOT)
    asyncio.run(take_all())
