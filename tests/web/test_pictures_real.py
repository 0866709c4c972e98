"""The pictures of the documentation can be taken: every page in them is there and shows what it should."""

from pathlib import Path

import pytest
from manual import pictures
from tests.servers.browser import Browser

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


async def test_every_picture_can_be_taken(browser_program: Path) -> None:
    with pictures.world(((14, 600),)) as here:
        async with Browser(browser_program) as browser:
            for picture in pictures.ALL:
                taken = await pictures.take(here, browser, picture)
                assert taken[8:12] == b"WEBP"
                assert len(taken) <= 150_000, picture.name
