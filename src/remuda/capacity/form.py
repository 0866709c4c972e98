"""The form of the what-if panel: from its fields to the words of `remuda capacity plan`, and from problems back to fields."""

import shlex
from collections.abc import Mapping
from typing import NamedTuple

from msgspec.structs import replace

from remuda.capacity.answers import WhatIf
from remuda.capacity.decide.what_if import blame
from remuda.objects.problems import did_you_mean, quoted

#: the fields, in the order of the form
FIELDS = ("ceiling", "set", "max", "min", "envelope", "like", "drain", "more")
#: by option, the field of `WhatIf` that has its words
_OPTIONS = {
    "--set": "sets",
    "--add": "added",
    "--ceiling": "ceilings",
    "--node-add": "nodes",
    "--node-drain": "drained",
}
#: how a node is called that is one more
_NEW = "one-more"
_LONGEST = 2_000
#: how sentences begin that are about the name of a set, whatever of it was to be changed
_ABOUT_SET = ("there is no set ", "there are several sets ")


class Written(NamedTuple):
    """A change: the field it was written in, its option and its words."""

    field: str
    option: str
    words: str


class Form(NamedTuple):
    """What somebody wrote: as it stands in the fields, what it means, and what is wrong before anything is tried."""

    values: dict[str, str]
    written: tuple[Written, ...]
    problems: dict[str, list[str]]

    @property
    def is_asked(self) -> bool:
        """True when there is something to try."""
        return bool(self.written or self.problems)

    def what_if(self, audit: int, label: str) -> WhatIf:
        """The question."""
        asked = WhatIf(audit, (label,))
        for each in self.written:
            name = _OPTIONS[each.option]
            asked = replace(asked, **{name: (*getattr(asked, name), each.words)})
        return asked

    def blamed(self, answer: str) -> dict[str, list[str]]:
        """The problems of an answer, a line each, by the field that each is about; by no field what is about none."""
        found = {field: list(lines) for field, lines in self.problems.items()}
        starts = {blame(f"{each.option} {each.words}", ""): each.field for each in self.written}
        for line in answer.splitlines():
            start = next((start for start in starts if line.startswith(start)), "")
            text = line.removeprefix(start)
            field = "set" if self.values["set"] and text.startswith(_ABOUT_SET) else starts.get(start, "")
            if text not in found.setdefault(field, []):
                found[field].append(text)
        return found


def read_form(query: Mapping[str, str], label: str, nodes: tuple[str, ...]) -> Form:
    """What the fields of an address say; `nodes` are the names that there are."""
    values = {field: query.get(field, "").strip() for field in FIELDS}
    problems: dict[str, list[str]] = {}
    for field, value in values.items():
        if len(value) > _LONGEST:
            problems[field] = [f"that is too long: {_LONGEST:,} letters are the most"]
    values |= dict.fromkeys(problems, "")
    written = []
    if values["ceiling"]:
        written.append(Written("ceiling", "--ceiling", f"{label}={values['ceiling']}"))
    changed = [field for field in ("max", "min", "envelope") if values[field]]
    if changed and not values["set"] and "set" not in problems:
        problems["set"] = [f"say of which set the {' and the '.join(changed)} would be"]
    elif values["set"] and not changed and not problems:
        problems["max"] = ["say what of the set changes: its max, min or envelope"]
    elif values["set"]:
        written += [Written(field, "--set", f"{values['set']}.{field}={values[field]}") for field in changed]
    if values["like"]:
        number = 1
        while (name := _NEW + f"-{number}" * (number > 1)) in nodes:
            number += 1
        written.append(Written("like", "--node-add", f"name={name},like={values['like']}"))
    if values["drain"]:
        written.append(Written("drain", "--node-drain", values["drain"]))
    more, wrong = _read_more(values["more"])
    if wrong:
        problems["more"] = wrong
    return Form(values, (*written, *more), problems)


def _read_more(text: str) -> tuple[list[Written], list[str]]:
    """Options and their words as a shell would read them."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        return [], [f"it cannot be read: {str(error).lower()}"]
    found, problems = [], []
    while words:
        option, equals, value = words.pop(0).partition("=")
        # What stands behind an option belongs to it, whether or not there is such a one.
        if not equals and option.startswith("--") and words and not words[0].startswith("--"):
            value = words.pop(0)
        if option not in _OPTIONS:
            near = did_you_mean(option, _OPTIONS) or f"; there is: {', '.join(_OPTIONS)}"
            problems.append(f"there is no option {quoted(option)}{near}")
        elif not value:
            problems.append(f"{option} has nothing behind it")
        else:
            found.append(Written("more", option, value))
    return found, problems
