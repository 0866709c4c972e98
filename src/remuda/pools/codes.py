"""The codes of pools' reasons: what each means, and its sentence with the reason's terms in it."""

from collections.abc import Mapping

_IN_DOUBT = "[; nobody says whether {doubtful} of them work: from {powers_off_at} on they are powered off, and a job they may have ends first]"
_UNDRAINED = "[; nobody says whether {undrainable} of them work, and powered off they would lose a job: delete by hand what has none]"
_UNROLLED = "[; {undrainable:has|have} too short a grace period to end a job: an immediate rollout removes what does not end by itself]"

CODES: Mapping[str, tuple[str, str]] = {
    "pool.steady": ("The pool has what it wants.", "has the {target:machine} it wants"),
    "pool.growing": ("Machines are being made.", "wants {target:machine} and has {live}: making {created}"),
    "pool.shrinking": (
        "Surplus idle machines are asked to take no more work.",
        "wants {target:machine} and has {live}: letting {closed:idle machine} go",
    ),
    "pool.rolling": (
        "Machines of an old template are being replaced.",
        "has the {target:machine} it wants; {old:still has|still have} an old template" + _UNROLLED,
    ),
    "pool.held-by-max": (
        "Demand is above the maximum.",
        "wants {unclaimed+running+headroom-beyond:machine} and may have {max}: held by max",
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
        "wants {wanted:machine} and has {live}: held by ceiling {ceiling}[; {retiring:ends after its job|end after their jobs}]",
    ),
    "pool.over-ceiling": (
        "The ceiling was lowered below what is busy: nothing is made, and the pool shrinks as jobs end.",
        "has {busy} busy under ceiling {ceiling} of {limit}[, where others hold {others}]: it shrinks as they finish[; {retiring:ends after its job|end after their jobs}]",
    ),
    "pool.waiting-for-room": (
        "What it may have is still taken up by machines on their way out.",
        "wants {target:machine} and has {live}: waiting until machines on their way out are gone",
    ),
    "pool.surplus-busy": (
        "It has more machines than it wants, and all of those are busy.",
        "wants {target:machine} and has {live}: {busy:is|are} busy, and a busy machine is never removed[; {retiring:ends after its job|end after their jobs}]",
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
        "wants {target:machine} and has {live}: {failures} failed[: {failure}]; trying again at {retry_at}",
    ),
    "pool.failing": (
        "Machines fail one after the other; one at a time is tried, with long waits.",
        "wants {target:machine} and has {live}: {failures} failed in a row[: {failure}][; one more is tried at {retry_at}]",
    ),
    "pool.provider-silent": (
        "Its provider does not answer; until it does, nothing is made or taken away.",
        "is left alone with {live:machine}: {blind}",
    ),
    "pool.broken": (
        "Its object has a problem; until that is fixed, nothing is made or taken away.",
        "is left alone with {live:machine}: its object has a problem",
    ),
    "pool.paused": (
        "Paused by an operator: nothing is made or removed.",
        "is paused and has {live:machine}",
    ),
    "pool.draining": (
        "Drained by an operator: idle machines go, busy ones finish.",
        "drains: {live:machine is|machines are} left[; {retiring:ends after its job|end after their jobs}]"
        + _IN_DOUBT
        + _UNDRAINED,
    ),
    "pool.drained": ("Drained by an operator, and empty.", "is drained"),
    "pool.removed": (
        "It is not configured any more: idle machines go, busy ones finish.",
        "is not configured any more: {live:machine is|machines are} left" + _IN_DOUBT + _UNDRAINED,
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
        "ends after its job: the pool has {busy} busy and may have {target}[ under ceiling {ceiling}]",
    ),
    "machine.old-template": (
        "Let go because its template is old.",
        "is replaced: its template {had} is now {template}",
    ),
    "machine.rollout-now": (
        "Removed, busy or not, because an operator ordered the rollout at once.",
        "is removed at once by an ordered rollout[, and its job {job} with it]",
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
        "Powered off: it is up, and its source never reported it. It takes no more work, and a job it may have ends first.",
        "is powered off: it is up, and its source has not listed it since {unheard_since}; a job it may have ends first",
    ),
    "machine.finished": ("Removed: it did its work.", "is removed: it did its work"),
    "machine.closed": ("Removed: it was asked to end while idle.", "is removed: it ended as it was asked to"),
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
}
#: reasons of pools of which nobody knows what they want or have
UNKNOWN = frozenset({"pool.provider-silent", "pool.source-silent"})
