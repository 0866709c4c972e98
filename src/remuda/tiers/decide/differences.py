"""What a change does to an object, field by field, in words."""

from collections.abc import Iterator
from typing import Any

from remuda.tiers.decide.compare import body_of
from remuda.tiers.decide.model import Mark, ObjectSeen, Remove, TierAction, Write
from remuda.tiers.decide.outlook import merged

#: so much of a long value is shown
_MOST = 60


def sign(action: TierAction, there: ObjectSeen | None) -> str:
    """Whether an action makes something, changes it or takes it away."""
    match action:
        case Write():
            return "create" if there is None else "replace" if action.anew else "change"
        case Remove():
            return "remove"
        case _:
            return "change"


def fields(action: TierAction, there: ObjectSeen | None) -> tuple[str, ...]:
    """What differs: nothing of what is made or removed whole."""
    match action:
        case Mark():
            return (
                *(f"+ taint {text}" for text in action.add),
                *(f"- taint {text}" for text in action.remove),
            )
        case Write() if there is not None:
            before, wanted = there.body, body_of(action.manifest)
            return tuple(_differences(before, merged(before, wanted), "")) or ("labels",)
        case _:
            return ()


def _differences(before: Any, now: Any, path: str) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(now, dict):
        for key in {**before, **now}:
            yield from _differences(before.get(key), now.get(key), f"{path}.{key}" if path else key)
    elif isinstance(before, list | tuple) and isinstance(now, list | tuple) and len(before) == len(now):
        for place, (one, other) in enumerate(zip(before, now, strict=True)):
            yield from _differences(one, other, f"{path}[{place}]")
    elif before != now:
        yield f"{path}: {_shown(before)} → {_shown(now)}"


def _shown(value: Any) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= _MOST else f"{text[: _MOST - 1]}…"
