"""
The only place where a reason becomes a sentence.

`CODES` is the list of every code there is, with what it means; codes never change their meaning. A reason with a code
that is not in the list (from a newer Remuda's ledger) is still told, with its terms.
"""

from collections.abc import Mapping

from remuda.model.plans import Reason, Term
from remuda.model.times import write_duration
from remuda.model.units import PINNED
from remuda.output.fleet_codes import FLEET_ASIDES, FLEET_CODES
from remuda.output.moments import age, clock_time
from remuda.output.registry import added_words

#: code → (what it means, the sentence with the reason's terms in it)
CODES: Mapping[str, tuple[str, str]] = {
    "pool.steady": ("The pool has what it wants.", "has the {target:machine} it wants"),
    "pool.growing": ("Machines are being made.", "wants {target:machine} and has {live}: making {created}"),
    "pool.shrinking": (
        "Surplus idle machines are told to take no more work.",
        "wants {target:machine} and has {live}: letting {closed:idle machine} go",
    ),
    "pool.rolling": (
        "Machines of an old template are being replaced.",
        "has the {target:machine} it wants; {old:still has|still have} an old template{unrolled}",
    ),
    "pool.held-by-max": (
        "Demand is above the maximum.",
        "wants {demand:machine} and may have {max}: held by max",
    ),
    "pool.held-by-surge": (
        "As many machines are booting as maxSurge allows.",
        "wants {bounded:machine} and has {live}: {creating:is|are} booting, held by maxSurge {max_surge}",
    ),
    "pool.held-by-delay": (
        "Demand fell, and the scale-down delay is not over.",
        "wants {bounded:machine} and keeps {target}: held by the scale-down delay",
    ),
    "pool.held-by-concurrency": (
        "More tasks wait than the organisation's plan lets run at once.",
        "has the {target:machine} it wants: {beyond:more task waits|more tasks wait} for the plan, which runs {concurrency} at once",
    ),
    "pool.held-by-stale": (
        "The source does not answer; the pool never shrinks on old numbers.",
        "keeps its {live:machine}: its source does not answer",
    ),
    "pool.held-by-ceiling": (
        "The ceiling it is under gives it less than it wants.",
        "wants {wanted:machine} and has {live}: held by ceiling {ceiling}{retires}",
    ),
    "pool.over-ceiling": (
        "The ceiling was lowered below what is busy: nothing is made, and the pool shrinks as jobs end.",
        "has {busy} busy under ceiling {ceiling} of {limit}{beside}: it shrinks as they finish{retires}",
    ),
    "pool.waiting-for-room": (
        "What it may have is still taken up by machines on their way out.",
        "wants {target:machine} and has {live}: waiting until machines on their way out are gone",
    ),
    "pool.surplus-busy": (
        "It has more machines than it wants, and all of those are busy.",
        "wants {target:machine} and has {live}: {busy:is|are} busy, and a busy machine is never removed{retires}",
    ),
    "pool.surplus-booting": (
        "It has more machines than it wants, and those are booting: they go once they are idle.",
        "wants {target:machine} and has {live}: {creating:is|are} booting, and can go once idle",
    ),
    "pool.surplus-natural": (
        "It has more machines than it wants and never removes an unused one (scaleIn: natural).",
        "wants {target:machine} and has {live}: it shrinks naturally",
    ),
    "pool.surplus-unconfirmed": (
        "Surplus machines look idle and must do so a little longer.",
        "wants {target:machine} and has {live}: {unconfirmed:looks|look} idle, and must for a while before going",
    ),
    "pool.surplus-undrainable": (
        "Surplus machines would lose a job that they may take at any moment: their grace period is too short to end it.",
        "wants {target:machine} and has {live}: {undrainable:has|have} too short a grace period to end a job, and can only end by themselves",
    ),
    "pool.backing-off": (
        "Machines failed to become ready; the next is made after a while.",
        "wants {target:machine} and has {live}: {failures} failed{because}; trying again at {retry_at}",
    ),
    "pool.failing": (
        "Machines fail one after the other; one at a time is tried, with long waits.",
        "wants {target:machine} and has {live}: {failures} failed in a row{because}{next_try}",
    ),
    "pool.provider-silent": (
        "Its provider does not answer; until it does, nothing is made or taken away.",
        "is left alone with {live:machine}: {blind}",
    ),
    "pool.broken": (
        "Its object has a problem; until that is mended, nothing is made or taken away.",
        "is left alone with {live:machine}: its object has a problem",
    ),
    "pool.paused": (
        "Paused by an operator: nothing is made or removed.",
        "is paused and has {live:machine}",
    ),
    "pool.draining": (
        "Drained by an operator: idle machines go, busy ones finish.",
        "drains: {live:machine is|machines are} left{retires}{in_doubt}{undrained}",
    ),
    "pool.drained": ("Drained by an operator, and empty.", "is drained"),
    "pool.removed": (
        "It is not configured any more: idle machines go, busy ones finish.",
        "is not configured any more: {live:machine is|machines are} left{in_doubt}{undrained}",
    ),
    "pool.source-silent": ("The source has not answered yet.", "waits for the first answer of its source"),
    "machine.wanted": (
        "A machine is made because the pool lacks some.",
        "makes a machine: it lacks {lacking} of {target}",
    ),
    "machine.surplus": (
        "Let go because the pool had too many.",
        "goes: the pool has {live} and wants {target}",
    ),
    "machine.gives-way": (
        "Let go because others under the ceiling need the room.",
        "gives way under ceiling {ceiling}: the pool has {live} and may have {target}",
    ),
    "machine.retires": (
        "Told to take no more jobs after the one it has: more are busy than the pool may have.",
        "ends after its job: the pool has {busy} busy and may have {target}{under}",
    ),
    "machine.old-template": (
        "Let go because its template is old.",
        "is replaced: its template {had} is now {template}",
    ),
    "machine.rollout-now": (
        "Removed, busy or not, because an operator ordered the rollout at once.",
        "is removed at once by an ordered rollout{with_job}",
    ),
    "machine.drained": (
        "Removed: it takes no more work and has none.",
        "is removed: it took no more work and has none",
    ),
    "machine.powered-off": (
        "Powered off: it must go, and nobody says whether it works. It takes no more work, and a job it may have ends first.",
        "is powered off: it must go, and nobody has said since {unsure_since} whether it works; a job it may have ends first",
    ),
    "machine.unheard": (
        "Powered off: it is up, and its source never told of it. It takes no more work, and a job it may have ends first.",
        "is powered off: it is up, and its source has not told of it since {unheard_since}; a job it may have ends first",
    ),
    "machine.finished": ("Removed: it did its work.", "is removed: it did its work"),
    "machine.closed": ("Removed: it was told to end while idle.", "is removed: it ended as it was told"),
    "machine.idle": (
        "Removed: it ended itself after its idle timeout.",
        "is removed: it was idle too long and ended",
    ),
    "machine.orphaned": (
        "Removed: it ended itself because Remuda was away too long.",
        "is removed: it ended because Remuda was away",
    ),
    "machine.boot": ("Removed: it could not start.", "is removed: it could not start: {detail}"),
    "machine.boot-timeout": (
        "Removed: it was not ready in time.",
        "is removed: it was not ready after {timeout}",
    ),
    "machine.boot-trouble": (
        "Removed: it was not ready in time, and its provider says what kept it.",
        "is removed: it was not ready after {timeout}: {detail}",
    ),
    "machine.crashed": ("Removed: it ended by itself unexpectedly.", "is removed: it crashed: {detail}"),
    "machine.lost": ("Removed: it is gone since the host was restarted.", "is removed: it is gone: {detail}"),
    "machine.vanished": ("Forgotten: its provider no longer knows it.", "is forgotten: {detail}"),
    "machine.failed": ("Removed: its provider says that it failed.", "is removed: it failed: {detail}"),
    **FLEET_CODES,
}
#: reasons of pools of which nobody knows what they want or have
UNKNOWN = frozenset({"pool.provider-silent", "pool.source-silent"})


def words_of(code: str) -> tuple[str, ...] | None:
    """What a code means and its texts; None for one that is not known."""
    return CODES.get(code) or added_words(code)


def sentence(reason: Reason) -> str:
    """The reason in words, beginning with its subject's name."""
    name = reason.subject.partition("/")[2] or reason.subject
    known = words_of(reason.code)
    if known is None:
        terms = ", ".join(
            f"{key} {value}" for key, value in sorted(reason.terms.items()) if value is not None
        )
        return f"{name}: {reason.code}" + (f" ({terms})" if terms else "")
    told, trouble = known[1].format_map(_Told(reason.terms)), reason.terms.get("trouble")
    return f"{name} {told}" + (f"; {trouble}" if trouble else "")


class Word(str):
    """A term as text; `{live:machine}` is `1 machine` or `3 machines`, `{live:is|are}` is `1 is` or `3 are`."""

    __slots__ = ()

    def __format__(self, noun: str) -> str:
        if not noun:
            return str(self)
        one, _, more = noun.partition("|")
        return f"{self} {one if self == '1' else more or f'{one}s'}"


_IN_DOUBT = "; nobody says whether {doubtful} of them work: from {powers_off_at} on they are powered off, and a job they may have ends first"
_UNDRAINED = "; nobody says whether {undrainable} of them work, and powered off they would lose a job: delete by hand what has none"
_UNROLLED = "; {undrainable:has|have} too short a grace period to end a job: an immediate rollout removes what does not end by itself"
#: what is said only where a term has something to say: its name in a sentence, the term, the words
_ASIDES = (
    ("next_try", "retry_at", "; one more is tried at {retry_at}"),
    ("because", "failure", ": {failure}"),
    ("in_doubt", "doubtful", _IN_DOUBT),
    ("undrained", "undrainable", _UNDRAINED),
    ("unrolled", "undrainable", _UNROLLED),
    ("beside", "others", ", where others hold {others}"),
    ("retires", "retiring", "; {retiring:ends after its job|end after their jobs}"),
    ("under", "ceiling", " under ceiling {ceiling}"),
    ("with_job", "job", ", and its job {job} with it"),
    *FLEET_ASIDES,
)


class _Told(dict[str, Word]):
    """Terms as text: instants and durations written out, and what is missing as a dash."""

    def __init__(self, terms: Mapping[str, Term]) -> None:
        told = {name: Word(_told(name, value)) for name, value in terms.items()}
        if "unclaimed" in terms:
            told["demand"] = Word(demand(terms))
        super().__init__(told)
        for name, term, words in _ASIDES:
            self[name] = Word(words.format_map(self) if terms.get(term) else "")

    def __missing__(self, name: str) -> Word:
        return Word("-")


#: terms of a fleet that are sums of micro-dollars
_SUMS = frozenset({"cap", "cost", "left", "price", "spent"})
_DURATIONS = frozenset({"grace", "hold", "timeout"})


def _told(name: str, value: Term) -> str:
    if value is None or value == "":
        return "-"
    if isinstance(value, int) and name in {"retry_at", "until"}:
        return clock_time(value, value)  # minutes from when it is told
    if isinstance(value, int) and name.endswith(("_at", "_since")):
        return clock_time(value, 0)  # with its date
    if isinstance(value, int) and name in _DURATIONS:
        return write_duration(value)
    if isinstance(value, int) and name == "idle_for":
        return age(value)
    if isinstance(value, int) and name in _SUMS:
        return _sum(name, value)
    return str(value)


def _sum(name: str, micros: int) -> str:
    """A sum as it stands in a sentence; what something costs is by the hour."""
    if name != "cost":
        return dollars(micros)
    return "a cost that nothing outweighs" if micros >= PINNED else f"{dollars(micros)} an hour"


def dollars(micros: int) -> str:
    """A sum of micro-dollars: `$0.34`, `$1,250.00`, `$0.0035`; what nothing outweighs is `pinned`."""
    if micros >= PINNED:
        return "pinned"
    whole, part = divmod(abs(micros), 1_000_000)
    cents = f"{part:06}".rstrip("0").ljust(2, "0")
    return f"{'-' if micros < 0 else ''}${whole:,}.{cents}"


def demand(terms: Mapping[str, Term]) -> int:
    """What a pool's load asks for, before any bound."""
    load = sum(number(terms, name) for name in ("unclaimed", "running", "headroom"))
    return load - number(terms, "beyond")


def number(terms: Mapping[str, Term], name: str) -> int:
    """A term that is a number; 0 when it is missing."""
    value = terms.get(name)
    return value if isinstance(value, int) else 0


def pool_lines(reason: Reason) -> list[tuple[str, str, str]]:
    """How a pool's number came about, step by step: label, arithmetic, remark."""
    terms = reason.terms
    lines = [_demand_line(terms), _bounds_line(terms)]
    if terms.get("stale_since") is not None:
        since = _told("stale_since", terms.get("stale_since"))
        how = f"{number(terms, 'wanted')} kept" if terms.get("held_by") == "stale" else "not in the way"
        lines.append(("stale", how, f"the source has not answered since {since}"))
    if terms.get("held_by") == "delay":
        lines.append(("delay", f"{number(terms, 'wanted')} kept", "wanted within the scale-down delay"))
    if terms.get("max_surge") is not None:
        lines.append(_surge_line(terms))
    if terms.get("ceiling") is not None:
        lines.append(_ceiling_line(terms))
    lines.append(("action", _action(reason), ""))
    return lines


def _demand_line(terms: Mapping[str, Term]) -> tuple[str, str, str]:
    parts = " + ".join(f"{number(terms, name)} {name}" for name in ("unclaimed", "running", "headroom"))
    beyond = number(terms, "beyond")
    if not beyond:
        return "demand", f"{demand(terms)} = {parts}", ""
    return (
        "demand",
        f"{demand(terms)} = {parts} − {beyond} beyond the plan's {number(terms, 'concurrency')}",
        "",
    )


def _bounds_line(terms: Mapping[str, Term]) -> tuple[str, str, str]:
    asked, low, high = demand(terms), number(terms, "min"), number(terms, "max")
    bounded = number(terms, "bounded")
    if asked > high:
        how = f"min({asked}, max {high})"
    elif asked < low:
        how = f"max({asked}, min {low})"
    else:
        how = f"{low} ≤ {asked} ≤ {high}"
    origin = str(terms.get("bounds_from"))
    told = {"pool": "the pool's own bounds", "override": "set by hand"}.get(
        origin, f"schedule {origin} is open"
    )
    return "bounds", f"{bounded} = {how}", told


def _surge_line(terms: Mapping[str, Term]) -> tuple[str, str, str]:
    ready = number(terms, "idle") + number(terms, "busy")
    held = terms.get("held_by") == "surge"
    most = f"{ready} ready + {number(terms, 'max_surge')}"
    if held:
        return "surge", f"{number(terms, 'wanted')} = {most}", "more once machines have booted"
    return "surge", f"{number(terms, 'wanted')} ≤ {most}", "not in the way"


def _ceiling_line(terms: Mapping[str, Term]) -> tuple[str, str, str]:
    grant, wanted = number(terms, "grant"), number(terms, "wanted")
    limit, others = number(terms, "limit"), number(terms, "others")
    shared = f"{grant} of {limit} of {terms['ceiling']}; others hold {others}"
    return "ceiling", shared, "not in the way" if grant >= wanted else f"{wanted - grant} less than wanted"


def _action(reason: Reason) -> str:
    terms = reason.terms
    done = [
        f"{word} {number(terms, name)}"
        for name, word in (("created", "make"), ("closed", "close"), ("deleted", "delete"))
        if number(terms, name)
    ]
    if retiring := number(terms, "retiring"):
        done.append(f"let {retiring} end after {'its job' if retiring == 1 else 'their jobs'}")
    if done:
        return ", ".join(done)
    live, busy, target = number(terms, "live"), number(terms, "busy"), number(terms, "target")
    if live > target and busy >= live:
        return f"none: {busy} of {live} {'is' if busy == 1 else 'are'} busy; a busy machine is never removed"
    creating = number(terms, "creating")
    if creating:
        return f"none: {creating} {'is' if creating == 1 else 'are'} booting"
    return "none"
