"""What is known of this host and of the pools whose jobs run on it as processes, as `remuda diagnose host` reads it."""

from typing import Literal

from msgspec import Struct

#: how far a limit holds: for all processes of a machine together, for each process alone, or not at all
Hold = Literal["whole", "part", "none"]


class Limit(Struct, frozen=True):
    """A limit that a pool sets, and how it is enforced here."""

    name: str
    how: str
    hold: Hold


class ProcessPool(Struct, frozen=True):
    """A pool whose machines are processes."""

    name: str
    #: auto, required or none
    separation: str = "auto"
    limits: tuple[Limit, ...] = ()


class Host(Struct, frozen=True):
    """What this host lets Remuda do for jobs."""

    #: what separates jobs: user, namespaces, landlock or none
    means: str
    #: the same in words
    separation: str
    #: why that could not be found out
    trouble: str = ""
    #: what of it is missing under Landlock
    gaps: tuple[str, ...] = ()
    is_linux: bool = True
    is_root: bool = False
    #: settings of the kernel that forbid namespaces of users, as `name=value`
    forbidding: tuple[str, ...] = ()
    #: where control groups can be made, and by which controllers
    control_groups: str = ""
    controllers: tuple[str, ...] = ()
    pools: tuple[ProcessPool, ...] = ()
