"""What can be asked of a fleet's records, as data; nothing here needs NumPy."""

from msgspec import Struct

from remuda.errors import NotFound
from remuda.fleet import states
from remuda.model.plans import Reason
from remuda.model.times import Instant
from remuda.output.steps import Step

#: the name of the shard's loop
LOOP = "fleet"
STATES: tuple[str, ...] = tuple(str(each) for each in states.STATES[1:])


class NothingRecorded(NotFound):
    """No shard decided anything, and no plan is kept."""


class NeedWhy(Struct, frozen=True):
    """An answer: a headline, since when it holds, and the arithmetic behind it."""

    subject: str
    headline: str
    code: str
    since: Instant
    at: Instant
    steps: tuple[Step, ...] = ()
    reason: Reason | None = None


class Chosen(Struct, frozen=True):
    """Which machines are looked at; nothing is any."""

    state: str = ""
    zone: str = ""
    type: str = ""
    cluster: str = ""


class Group(Struct, frozen=True):
    """Machines that have something in common, by state, and what they cost an hour in micro-dollars."""

    name: str
    machines: int
    #: how many are in each state, in the order of `STATES`
    states: tuple[int, ...]
    cost: int
    #: of a zone its region and provider, where it has one; of a rest how many groups it is
    region: str = ""
    provider: str = ""
    of: int = 1


class Block(Struct, frozen=True):
    """The machines of a type in a zone."""

    zone: str
    type: str
    states: tuple[int, ...]


class Provider(Struct, frozen=True):
    """What a provider's machines cost an hour, and may cost; None for no cap."""

    name: str
    machines: int
    cost: int
    cap: int | None


class Spending(Struct, frozen=True):
    """Micro-dollars an hour: now, once the plan is carried out, and of what that is made up."""

    now: int
    after: int
    made: int
    given_back: int
    #: of machines that nobody needs now
    idle: int
    providers: tuple[Provider, ...]


class UnmetNeed(Struct, frozen=True):
    """A need that misses something."""

    name: str
    priority: int
    missing: str
    since: Instant
    code: str
    told: str


class Cause(Struct, frozen=True):
    """Why needs miss something: how many do for this cause, for how long the first, and an example in words."""

    code: str
    meaning: str
    needs: int
    since: Instant
    example: str
    told: str


class Told(Struct, frozen=True):
    """A reason in words."""

    code: str
    told: str


class Names(Struct, frozen=True):
    """What can be chosen; of many clusters those with most machines."""

    zones: tuple[str, ...]
    types: tuple[str, ...]
    clusters: tuple[str, ...]


class Moment(Struct, frozen=True):
    """When something was decided, until when it was found so, and how often."""

    at: Instant
    until: Instant
    cycles: int = 1
    #: the first decision of a shard that is recorded; 0 in a plan
    since: Instant = 0
    #: the number and the files of a plan that is kept; 0 for what a shard recorded
    plan: int = 0
    name: str = ""
    #: why newer plans are passed over, which cannot be read
    unread: str = ""


class Overview(Struct, frozen=True):
    """The whole of it. Machines are those that were chosen; needs those of the chosen cluster; the rest is of the whole fleet."""

    moment: Moment
    #: False while some provider had not been read yet, and nothing was decided
    is_complete: bool
    chosen: Chosen
    names: Names
    #: all there are, and those that were chosen
    all_machines: int
    machines: int
    states: dict[str, int]
    zones: tuple[Group, ...]
    types: tuple[Group, ...]
    clusters: tuple[Group, ...]
    blocks: tuple[Block, ...]
    cost: int
    spending: Spending
    all_clusters: int
    #: clusters that were not heard since the start, and whose last report is not believed yet
    unheard: int
    held: int
    needs: int
    unmet: int
    causes: tuple[Cause, ...]
    unmet_needs: tuple[UnmetNeed, ...]
    rails: tuple[Told, ...]
    notes: tuple[Told, ...]
    actions: dict[str, int]
    withheld: int
