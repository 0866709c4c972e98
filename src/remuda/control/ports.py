"""The ports that a running Remuda listens at, in a file of its data directory, for who has to find them."""

from pathlib import Path

import msgspec
from msgspec import Struct

PORTS = "ports.json"


class Ports(Struct, frozen=True):
    """What was chosen where 0 was asked for."""

    health: int
    live: int
    #: of the dashboard, 0 without one; and its address
    web: int = 0
    web_address: str = ""
    #: the file with the owner's token, where it is not in the data directory
    web_token: str = ""


def read_ports(data_dir: Path) -> Ports | None:
    """The ports of what runs with a data directory; None where they are not known."""
    try:
        return msgspec.json.decode((data_dir / PORTS).read_bytes(), type=Ports)
    except (OSError, msgspec.MsgspecError):
        return None
