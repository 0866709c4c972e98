"""Opens a page in the browser of whoever sits here."""

import os
import sys
import webbrowser
from collections.abc import Callable, Mapping


def open_browser(
    link: str,
    environ: Mapping[str, str] = os.environ,
    platform: str = sys.platform,
    open_: Callable[[str], bool] = webbrowser.open,
) -> bool:
    """
    Whether a browser was opened.

    Without a screen none is looked for: what would be found is one for the terminal, which is in use.
    """
    has_screen = (
        platform == "darwin" or "BROWSER" in environ or "DISPLAY" in environ or "WAYLAND_DISPLAY" in environ
    )
    return has_screen and open_(link)
