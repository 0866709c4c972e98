"""The dashboard of a real `remuda up` in a real browser: it moves, it acts, and it can be read by everybody."""

import asyncio
import hashlib
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import expect
from tests.processes import DEADLINE_S, Place, ceiling, eventually, place, pool
from tests.servers.browser import Browser, Page, Scheme, open_in

from remuda.model.jobs import JobState

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
READ = "the-token-of-a-reader-for-tests"
#: where pictures of the pages are left, for a person or the documentation; nowhere by default
PICTURES = os.environ.get("REMUDA_PICTURES")
expect.set_options(timeout=DEADLINE_S * 1_000)


@pytest.fixture(scope="module")
def up() -> Iterator[Place]:
    """A Remuda with two pools under a ceiling, some jobs behind it and some in front."""
    with place() as here:
        access = here.home / "access.yaml"
        digest = hashlib.sha256(READ.encode()).hexdigest()
        access.write_text(f'tokens: [{{name: reader, sha256: "{digest}"}}]')
        here.write(
            pool("shell", min=2, max=8, headroom=1, ceiling="all"),
            pool("quick", min=1, max=2, singleTask=False, ceiling="all"),
            ceiling("all", 5),
        )
        here.start("--web-port", "0", "--web-access", str(access))
        for number in range(6):
            here.submit("sh", "-c", f"echo job {number}; exit {number % 2}")
        for number in range(1, 7):
            here.wait_end(number)
        yield here
        here.clear()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def browser(browser_program: Path) -> AsyncIterator[Browser]:
    async with Browser(browser_program) as running:
        yield running


def link(up: Place) -> str:
    """What `remuda web` prints, without starting it each time."""
    port = json.loads((up.data / "ports.json").read_bytes())["web"]
    return f"http://127.0.0.1:{port}/?token={(up.data / 'web-token').read_text().strip()}"


def address(up: Place, path: str = "") -> str:
    return link(up).partition("/?")[0] + path


async def test_the_command_prints_the_link_that_opens_it(browser: Browser, up: Place) -> None:
    printed = await asyncio.to_thread(up.cli, "web")
    assert (printed.code, printed.out.strip()) == (0, link(up))
    page = await open_in(await browser.person(), printed.out.strip())
    assert page.it.url == address(up, "/"), "the token leaves the address"
    assert await page.it.title() == "Now · Remuda"


async def sign_in(
    browser: Browser, up: Place, path: str = "/", *, scheme: Scheme = "light", width: int = 1280
) -> Page:
    """A page of the owner, once it is live."""
    person = await browser.person(scheme=scheme, width=width)
    page = await open_in(person, link(up))
    if path != "/":
        await page.it.goto(address(up, path))
    await expect(page.it.locator("#pulse")).to_have_text("live")
    return page


async def check_clean(page: Page) -> None:
    assert page.complaints == []
    assert await page.evaluate("window.broken ?? []") == [], "it breaks no rule of its own policy"


async def picture(page: Page, name: str) -> None:
    if PICTURES:
        await page.it.screenshot(path=f"{PICTURES}/{name}.png", full_page=True)


PAGES = (
    "/",
    "/pools",
    "/pools/shell",
    "/jobs",
    "/jobs/1",
    "/capacity",
    "/fleet",
    "/sizes",
    "/why",
    "/why?kind=pool&name=shell",
    "/why?kind=machine&name=shell-1",
)


@pytest.mark.parametrize(
    ("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390), ("light", 320)]
)
async def test_every_page_is_clean_readable_and_as_wide_as_the_screen(
    browser: Browser, up: Place, scheme: Scheme, width: int
) -> None:
    page = await sign_in(browser, up, scheme=scheme, width=width)
    for path in PAGES:
        await page.it.goto(address(up, path))
        await expect(page.it.locator("#pulse")).to_have_text(re.compile("^(live|as opened)$"))
        assert await page.evaluate("document.documentElement.scrollWidth") <= width, path
        found = await Axe().run(page.it)
        assert found.violations_count == 0, f"{path}\n{found.generate_report()}"
        await picture(
            page, f"{scheme}-{width}-{path.strip('/').replace('/', '-').partition('?')[0] or 'now'}"
        )
    await check_clean(page)
    assert all(each.startswith(address(up)) for each in page.requests), "nothing comes from anywhere else"


async def test_on_a_phone_a_row_is_not_stretched_by_the_words_at_its_end(browser: Browser, up: Place) -> None:
    page = await sign_in(browser, up, width=390)
    for path in ("/pools", "/jobs"):
        await page.it.goto(address(up, path))
        rows = (
            "[...document.querySelectorAll('main tbody tr')].map(row => row.getBoundingClientRect().height)"
        )
        heights = await page.evaluate(rows)
        assert heights, path
        # Three lines: what is longer scrolls with the table.
        assert max(heights) < 100, path


#: what has the focus: whether it is seen to have it, and stands on the screen and not below what stays at its top
FOCUS = """(() => {
  const it = document.activeElement;
  if (!it || it === document.body) return null;
  const box = it.getBoundingClientRect();
  const top = it.closest(".top, .skip") ? 0 : document.querySelector(".top").getBoundingClientRect().bottom - 1;
  const look = getComputedStyle(it);
  const isSeen = look.outlineStyle !== "none" && box.top >= top && box.bottom <= innerHeight;
  return { isSeen, text: it.textContent.trim() || it.getAttribute("aria-label") || it.name };
})()"""


@pytest.mark.parametrize(
    ("path", "reached"), [("/pools/shell", "Scale"), ("/jobs", "Cancel chosen"), ("/why", "Why?")]
)
async def test_everything_is_reached_by_keyboard_and_what_has_the_focus_is_seen(
    browser: Browser, up: Place, path: str, reached: str
) -> None:
    page = await sign_in(browser, up, path)
    found: list[str] = []
    while len(found) < 40:
        await page.it.keyboard.press("Tab")
        at = await page.evaluate(FOCUS)
        if at is None:
            break
        assert at["isSeen"], at["text"]
        found.append(at["text"])
    assert found[0] == "Skip to the page"
    assert {"Now", "Why", "Sign out", reached} <= set(found)


async def test_a_job_that_is_submitted_shows_up_by_itself_and_its_output_as_it_comes(
    browser: Browser, up: Place
) -> None:
    jobs = await sign_in(browser, up, "/jobs")
    gate = up.mark("gate")
    number = up.submit("sh", "-c", f"echo begun; while [ ! -s {gate} ]; do sleep 0.05; done; echo finished")
    row = jobs.it.locator(f"#job-{number}")
    await expect(row).to_contain_text("running")
    await row.get_by_role("link", name=str(number)).click()
    output = jobs.it.locator(".output")
    await expect(output).to_contain_text("begun")
    assert "finished" not in (await output.text_content() or "")
    gate.write_text("go")
    await expect(output).to_contain_text("finished")
    await expect(jobs.it.locator("#job-head h1")).to_contain_text("succeeded")
    await check_clean(jobs)


async def test_numbers_decisions_and_charts_of_now_move(browser: Browser, up: Place) -> None:
    page = await sign_in(browser, up)
    assert await page.evaluate("document.querySelectorAll('.strip canvas').length") == 2
    gate = up.mark("hold")
    numbers = [up.submit("sh", "-c", f"while [ ! -s {gate} ]; do sleep 0.05; done") for _ in range(7)]
    waiting = page.it.locator(".number", has_text="waiting").locator("dd")
    await expect(waiting).to_have_text("3")
    await expect(page.it.locator("#decisions")).to_contain_text("held by ceiling all")
    gate.write_text("go")
    await expect(waiting).to_have_text("0")
    for number in numbers:
        up.wait_end(number)
    await check_clean(page)


async def test_a_chart_says_at_each_moment_what_was_decided(browser: Browser, up: Place) -> None:
    page = await sign_in(browser, up, "/pools/shell")
    note = page.it.locator(".note")
    before = await note.text_content()
    await page.it.locator(".u-over").hover(position={"x": 40, "y": 60})
    await expect(note).to_contain_text("demand:")
    await expect(note).not_to_have_text(before or "")
    await check_clean(page)


async def test_pausing_asks_first_shows_up_as_an_alarm_and_is_taken_back(browser: Browser, up: Place) -> None:
    page = await sign_in(browser, up, "/pools/quick")
    await page.it.get_by_role("button", name="Pause").click()
    await page.it.get_by_role("button", name="Leave it").click()
    assert not up.pools().pools[0].override.paused
    await page.it.get_by_role("button", name="Pause").click()
    await page.it.get_by_role("button", name="Do it").click()
    await expect(page.it.locator("#pool-head")).to_contain_text("quick is paused")
    now = await sign_in(browser, up)
    await expect(now.it.locator("#alarms")).to_contain_text("quick is paused")
    await page.it.get_by_role("button", name="Resume").click()
    await page.it.get_by_role("button", name="Do it").click()
    await expect(page.it.locator("#pool-head")).not_to_contain_text("paused")
    await expect(now.it.locator("#alarms")).not_to_contain_text("quick is paused")
    await check_clean(page)


async def test_bounds_are_set_by_keyboard_and_cleared(browser: Browser, up: Place) -> None:
    page = await sign_in(browser, up, "/pools/quick")
    await page.it.get_by_role("button", name="Scale").focus()
    await page.it.keyboard.press("Enter")
    await page.it.keyboard.type("9")
    await page.it.keyboard.press("Tab")
    await page.it.keyboard.type("1")
    await page.it.get_by_role("button", name="Do it").focus()
    await page.it.keyboard.press("Enter")
    await expect(page.it.locator("#notice")).to_contain_text("min 9 is more than max 1")
    page.complaints.clear()  # the browser counts the refusal as an error, and so it is
    await page.it.get_by_role("button", name="Scale").click()
    await page.it.get_by_label("min").fill("2")
    await page.it.get_by_role("button", name="Do it").click()
    await expect(page.it.locator("#pool-why")).to_contain_text("set by hand")
    await page.it.get_by_role("button", name="Scale").click()
    await page.it.get_by_label("min").fill("")
    await page.it.get_by_role("button", name="Do it").click()
    await expect(page.it.locator("#pool-why")).not_to_contain_text("set by hand")
    await check_clean(page)


async def test_many_jobs_are_cancelled_and_tried_again_together(browser: Browser, up: Place) -> None:
    gate = up.mark("many")
    numbers = [up.submit("sh", "-c", f"while [ ! -s {gate} ]; do sleep 0.05; done") for _ in range(3)]
    page = await sign_in(browser, up, "/jobs")
    for number in numbers:
        await page.it.get_by_label(f"Choose job {number}", exact=True).check()
    await page.it.get_by_role("button", name="Cancel chosen").click()
    await page.it.get_by_role("button", name="Do it").click()
    for number in numbers:
        await expect(page.it.locator(f"#job-{number}")).to_contain_text("cancelled")
    gate.write_text("go")
    for number in numbers[:2]:
        await page.it.get_by_label(f"Choose job {number}", exact=True).check()
    await page.it.get_by_role("button", name="Retry chosen").click()
    await page.it.get_by_role("button", name="Do it").click()
    for number in numbers[:2]:
        await expect(page.it.locator(f"#job-{number}")).to_contain_text("succeeded")
    assert up.job(numbers[2]).state is JobState.CANCELLED
    await check_clean(page)


async def test_what_somebody_chose_stays_chosen_while_the_page_moves(browser: Browser, up: Place) -> None:
    page = await sign_in(browser, up, "/jobs")
    await page.it.get_by_label("Choose job 1", exact=True).check()
    number = up.submit("true")
    await expect(page.it.locator(f"#job-{number}")).to_contain_text("succeeded")
    assert await page.it.get_by_label("Choose job 1", exact=True).is_checked()


async def test_who_may_only_look_has_no_buttons_and_is_refused(browser: Browser, up: Place) -> None:
    person = await browser.person()
    page = await open_in(person, address(up, f"/pools/shell?token={READ}"))
    await expect(page.it.locator(".who")).to_contain_text("may look only")
    assert await page.it.get_by_role("button", name="Pause").count() == 0
    status = await page.evaluate(
        "fetch('/v1/pools/shell/pause', {method: 'POST', headers: {'X-Remuda-Proof':"
        " document.querySelector('meta[name=proof]').content}}).then(answer => answer.status)"
    )
    assert status == 403
    assert not any(each.override.paused for each in up.pools().pools)


async def test_who_signs_out_is_out_in_every_tab_and_goes_on_without_a_reload_once_in_again(
    browser: Browser, up: Place
) -> None:
    page = await sign_in(browser, up, "/pools/quick")
    other = await open_in(page.it.context, address(up, "/jobs"))
    await expect(other.it.locator("#pulse")).to_have_text("live")
    await other.it.get_by_role("button", name="Sign out").click()
    await expect(other.it.get_by_role("alert")).to_have_text("You are signed out.")
    await expect(page.it.locator("#pulse")).to_have_text("signed out")
    await expect(page.it.locator("#notice")).to_contain_text("You are signed out")
    await other.it.goto(link(up))
    await expect(page.it.locator("#pulse")).to_have_text("live")
    await expect(page.it.locator("#notice")).to_be_hidden()
    # What the page proves itself with is that of the new session.
    await page.it.get_by_role("button", name="Pause").click()
    await page.it.get_by_role("button", name="Do it").click()
    await expect(page.it.locator("#pool-head")).to_contain_text("quick is paused")
    await page.it.get_by_role("button", name="Resume").click()
    await page.it.get_by_role("button", name="Do it").click()
    await expect(page.it.locator("#pool-head")).not_to_contain_text("paused")


async def test_who_loses_a_token_is_out_of_open_pages_and_goes_on_by_itself_once_it_is_back(
    browser: Browser, up: Place
) -> None:
    access = up.home / "access.yaml"
    allowed = access.read_text()
    page = await open_in(await browser.person(), address(up, f"/?token={READ}"))
    await expect(page.it.locator("#pulse")).to_have_text("live")
    access.write_text("tokens: nonsense")
    await expect_log(up, "the file of --web-access is refused")
    await expect(page.it.locator("#pulse")).to_have_text("live")
    access.write_text("tokens: []")
    await expect(page.it.locator("#pulse")).to_have_text("signed out")
    await expect(page.it.locator("#notice")).to_contain_text("You are signed out")
    access.write_text(allowed)
    await expect(page.it.locator("#pulse")).to_have_text("live")
    await expect(page.it.locator("#notice")).to_be_hidden()


async def expect_log(up: Place, words: str) -> None:
    await asyncio.to_thread(eventually, lambda: words in up.log, words)


async def test_a_refused_reload_and_a_paused_loop_come_first(browser: Browser, up: Place) -> None:
    page = await sign_in(browser, up)
    good = up.file.read_text()
    up.file.write_text("kind: Nonsense")
    await expect(page.it.locator("#alarms")).to_contain_text("the last reload was refused")
    up.file.write_text(good)
    await expect(page.it.locator("#alarms")).not_to_contain_text("refused")
    up.cli("loops", "pause", "pools")
    await expect(page.it.locator("#alarms")).to_contain_text("loop pools is paused and decides nothing")
    up.cli("loops", "resume", "pools")
    await expect(page.it.locator("#alarms")).not_to_contain_text("paused")
    await check_clean(page)


async def test_the_past_is_asked_with_the_slider(browser: Browser, up: Place) -> None:
    page = await sign_in(browser, up, "/why?kind=pool&name=shell")
    await page.it.locator("#when").focus()
    await page.it.keyboard.press("Home")
    await page.it.wait_for_url("**at=*")
    await expect(page.it.locator("#answer")).to_contain_text("as of")
    await check_clean(page)


async def test_the_past_is_judged_again_by_todays_rules_and_by_a_changed_policy(
    browser: Browser, up: Place
) -> None:
    page = await sign_in(browser, up, "/why?kind=pool&name=quick")
    await page.it.get_by_role("button", name="Replay").click()
    replayed = page.it.locator("#replayed")
    await expect(replayed).to_contain_text(re.compile(r"\d+ recorded steps .* 0 decided differently"))
    await page.it.get_by_text("With a changed policy").click()
    objects = page.it.locator("#objects")
    text = await objects.input_value()
    assert "kind: RunnerPool" in text
    await objects.fill(text.replace("max: 2", "max: 0").replace("min: 1", "min: 0"))
    await page.it.get_by_role("button", name="Replay").click()
    await expect(replayed).to_contain_text("pool quick")
    await expect(replayed).not_to_contain_text(" 0 decided differently")
    await objects.fill("kind: Nonsense")
    await page.it.get_by_role("button", name="Replay").click()
    await expect(replayed).to_contain_text("the changed objects")
    page.complaints.clear()  # the browser counts the refusal as an error, and so it is
    await check_clean(page)


async def test_a_page_goes_on_by_itself_after_a_restart_and_says_meanwhile_that_nobody_answers(
    browser: Browser,
) -> None:
    with place() as here:
        here.write(pool("shell", min=1, max=2))
        here.start("--web-port", "0")
        page = await sign_in(browser, here)
        port = json.loads((here.data / "ports.json").read_bytes())["web"]
        here.kill()
        await expect(page.it.locator("#notice")).to_contain_text("no longer answers")
        await expect(page.it.locator("#pulse")).to_have_text("not live")
        await asyncio.to_thread(here.start, "--web-port", str(port))
        await expect(page.it.locator("#pulse")).to_have_text("live")
        await expect(page.it.locator("#notice")).to_be_hidden()
        number = here.submit("true")
        await expect(page.it.locator("#decisions")).to_contain_text("shell")
        here.wait_end(number)
        here.clear()


async def test_the_output_of_a_job_is_read_on_by_itself_after_a_restart(browser: Browser) -> None:
    with place() as here:
        here.write(pool("shell", min=1, max=2))
        here.start("--web-port", "0")
        port = json.loads((here.data / "ports.json").read_bytes())["web"]
        gate = here.mark("gate")
        number = here.submit("sh", "-c", f"echo begun; while [ ! -s {gate} ]; do sleep 0.05; done; echo over")
        page = await sign_in(browser, here, f"/jobs/{number}")
        output = page.it.locator(".output")
        await expect(output).to_contain_text("begun")
        here.kill()
        await expect(output).to_contain_text("the connection was lost")
        await asyncio.to_thread(here.start, "--web-port", str(port))
        gate.write_text("go")
        await expect(output).to_have_text("begun\nover\n")
        await expect(page.it.locator("#job-head")).to_contain_text("succeeded")
        here.clear()


async def test_when_nothing_runs_the_records_are_served_and_nothing_can_be_changed(browser: Browser) -> None:
    with place() as here:
        here.write(pool("shell", min=1, max=2))
        here.start()
        here.wait_end(here.submit("true"))
        assert here.cli("web").code == 2, "it was started without one"
        here.stop()
        serving = here.launch(
            [sys.executable, "-m", "remuda", "web", "--data-dir", str(here.data), "--port", "0"]
        )
        try:
            text = eventually(lambda: found if "/?token=" in (found := here.log) else None, "a link")
            where = next(line for line in text.splitlines() if line.startswith("http"))
            page = await open_in(await browser.person(), where)
            await expect(page.it.locator("#alarms")).to_contain_text("Nothing runs")
            await expect(page.it.locator("#pools-strips")).to_contain_text("shell")
            await page.it.goto(where.partition("/?")[0] + "/jobs/1")
            await expect(page.it.locator("#job-head")).to_contain_text("succeeded")
            assert page.complaints == []
        finally:
            serving.terminate()
            assert serving.wait(60) == 0
        here.clear()
