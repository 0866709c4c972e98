"""Where the browser is found, and what is said where it is not; an apt-get of our own stands in for Debian's."""

import os
from pathlib import Path

import pytest
from tests.servers.browser import find_browser, get_browser
from tests.servers.fixtures import provide_browser
from tests.servers.found import ServersError

INSTALLS = """\
#!/bin/sh
echo "$@" >> "$CALLS"
[ "$1" = install ] && touch "$BIN/chromium" && chmod +x "$BIN/chromium"
exit 0
"""
FAILS = """\
#!/bin/sh
echo "E: Unable to locate package chromium" >&2
exit 100
"""


def show(doing: str, elapsed_s: float) -> None:
    del doing, elapsed_s


def program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def around(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "bin").mkdir()
    # touch and chmod are what the stand-in needs
    path = f"{tmp_path / 'bin'}:{tmp_path / 'tools'}"
    (tmp_path / "tools").mkdir()
    for name in ("touch", "chmod"):
        (tmp_path / "tools" / name).symlink_to(f"/bin/{name}")
    return {"PATH": path, "BIN": str(tmp_path / "bin"), "CALLS": str(tmp_path / "calls")}


def test_the_one_that_is_given_comes_before_the_one_on_the_path(
    tmp_path: Path, around: dict[str, str]
) -> None:
    assert find_browser(around) is None
    on_path = program(tmp_path / "bin" / "google-chrome")
    assert find_browser(around) == on_path
    given = program(tmp_path / "given" / "chromium")
    assert find_browser({**around, "REMUDA_SERVERS": str(given.parent)}) == given
    assert find_browser({**around, "REMUDA_SERVERS": str(tmp_path)}) == on_path


def test_a_test_without_a_browser_is_skipped_with_the_command_that_provides_it(
    around: dict[str, str],
) -> None:
    with pytest.raises(pytest.skip.Exception, match=r"needs chromium; `make servers`"):
        provide_browser(around)


def test_where_servers_are_required_it_fails(around: dict[str, str]) -> None:
    with pytest.raises(pytest.fail.Exception, match="only root may install it: apt-get install"):
        provide_browser({**around, "REMUDA_REQUIRE_SERVERS": "1"})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root installs")
def test_debians_is_installed_once_where_there_is_none(tmp_path: Path, around: dict[str, str]) -> None:
    program(tmp_path / "bin" / "apt-get", INSTALLS)
    for _ in range(2):
        assert get_browser(show, around) == tmp_path / "bin" / "chromium"
    assert (tmp_path / "calls").read_text().splitlines() == [
        "update",
        "install -y --no-install-recommends chromium fonts-dejavu-core",
    ]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root installs")
def test_why_it_cannot_be_installed_is_reported(tmp_path: Path, around: dict[str, str]) -> None:
    program(tmp_path / "bin" / "apt-get", FAILS)
    with pytest.raises(ServersError, match=r"update exited with 100\n  E: Unable to locate package chromium"):
        get_browser(show, around)
