"""The picture of the house, with the jobs there are. `python -m manual.house` draws it anew."""

from pathlib import Path

from manual.svg import FONT, INK, PAPER, SOFT, card, text
from remuda.job import Job, Jobs
from remuda.jobs import JOBS

PICTURE = Path(__file__).parents[1] / "docs" / "explanation" / "house.svg"

_WIDTH, _EDGE, _GAP = 860, 24, 12
#: rows of rooms from the roof to the ground, each with what it is for; the jobs stand below the first
_ROOF = (
    ("cli", "commands, thin"),
    ("web", "the dashboard"),
    ("control", "the HTTP API"),
    ("objects", "YAML, checks, schema"),
    ("output", "words, tables, pages"),
)
_RUNTIME = (
    ("loop", "supervised cycles, health"),
    ("ledger", "what happened and why"),
    ("app · runtime", "builds and hands in"),
)
_GROUND = (("model", "the vocabulary, frozen"), ("rules", "judgement that jobs share"))
_EDGES = (
    ("sources", "where demand comes from"),
    ("providers", "where machines come from"),
    ("kube · prometheus", "APIs of servers"),
    ("machines", "processes on this host"),
)


def house(jobs: Jobs) -> str:
    """An SVG: what people use, the jobs, what runs them, the edges to the world, and what all stand on."""
    y, parts = 40.0, list[str]()

    def row(title: str, rooms: tuple[tuple[str, str], ...], height: float, *, accent: bool = False) -> None:
        nonlocal y
        parts.append(text(_EDGE, y - 8, title, fill=SOFT, font_size="12"))
        width = (_WIDTH - 2 * _EDGE - _GAP * (len(rooms) - 1)) / len(rooms)
        for place, (name, what) in enumerate(rooms):
            x = _EDGE + place * (width + _GAP)
            parts.append(card(x, y, width, height, accent=accent))
            middle = x + width / 2
            parts.append(text(middle, y + 24, name, fill=INK, font_weight="600", text_anchor="middle"))
            for line, words in enumerate(what.split("\n")):
                parts.append(
                    text(middle, y + 44 + 17 * line, words, fill=SOFT, font_size="12", text_anchor="middle")
                )
        y += height + 34

    row("what people use", _ROOF, 56)
    row(
        "the jobs: observe → decide (pure) → act; each describes itself, and knows no other",
        tuple((job.name, "\n".join(_words(job))) for job in jobs),
        94,
        accent=True,
    )
    row("what runs them", _RUNTIME, 56)
    row("the edges: adapters that are handed in", _EDGES, 56)
    row("what all of it stands on: no I/O, no clock, no dice", _GROUND, 56)
    height = y - 10
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:g}" font-family="{FONT}" font-size="14">\n'
        "<title>The rooms of Remuda, from what people use down to what all of it stands on</title>\n"
        f'<rect width="{_WIDTH}" height="{height:g}" rx="10" fill="{PAPER}"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _words(job: Job) -> list[str]:
    """Three of the words that people call it by."""
    return list(dict.fromkeys(words.split()[0] for words in job.commands))[:3]


if __name__ == "__main__":
    PICTURE.write_text(house(JOBS), encoding="utf-8")
