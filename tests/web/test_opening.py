"""A browser is opened where somebody can see it."""

import pytest

from remuda.web.opening import open_browser


@pytest.mark.parametrize(
    ("environ", "platform", "is_opened"),
    [
        pytest.param({}, "linux", False, id="no screen, no browser that takes the terminal"),
        pytest.param({"DISPLAY": ":0"}, "linux", True, id="X11"),
        pytest.param({"WAYLAND_DISPLAY": "w"}, "linux", True, id="Wayland"),
        pytest.param({"BROWSER": "firefox"}, "linux", True, id="one that was chosen"),
        pytest.param({}, "darwin", True, id="a Mac"),
    ],
)
def test_a_browser_is_opened_where_there_is_a_screen(
    environ: dict[str, str], platform: str, is_opened: bool
) -> None:
    opened: list[str] = []

    def open_(link: str) -> bool:
        opened.append(link)
        return True

    assert open_browser("http://here", environ, platform, open_) is is_opened
    assert opened == ["http://here"] * is_opened


def test_a_browser_that_cannot_be_opened_is_said() -> None:
    assert not open_browser("http://here", {"DISPLAY": ":0"}, "linux", lambda _: False)
