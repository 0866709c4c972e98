"""The guest's image: found whole or not at all."""

from pathlib import Path

from tests.servers import guest_image
from tests.servers.found import Surroundings


def test_an_image_without_its_disk_is_none(tmp_path: Path) -> None:
    around = Surroundings(tmp_path)
    assert guest_image.find_guest_image(around) is None
    (tmp_path / f"{guest_image.NAME}-{guest_image.VERSION}").mkdir()
    assert guest_image.find_guest_image(around) is None
