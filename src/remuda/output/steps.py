"""How a number came about, step by step: the lines under an answer of `remuda why`."""

from collections.abc import Sequence

from msgspec import Struct

_WIDEST = 60


class Step(Struct, frozen=True):
    """A line of an answer: a label, what holds, and a remark."""

    label: str
    text: str
    remark: str = ""


def step_lines(steps: Sequence[Step]) -> list[str]:
    """The steps for a person, in columns."""
    width = max((len(step.text) for step in steps), default=0)
    return [
        f"  {step.label:<9} {step.text:<{min(width, _WIDEST)}}   {step.remark}".rstrip() for step in steps
    ]
