"""What drawings share: colours that are legible on light and dark pages, and text that is safe in markup."""

from xml.sax.saxutils import escape

PAPER, CARD, LINE = "#f6f4ef", "#ffffff", "#c9c3b5"
INK, SOFT, ACCENT = "#22262e", "#5b6472", "#b4562b"
FONT = "ui-sans-serif, system-ui, sans-serif"


def text(x: float, y: float, words: str, **style: str) -> str:
    """A line of text; style is attributes, with `_` for `-`, and one more at the end where Python has the word."""
    more = "".join(f' {name.rstrip("_").replace("_", "-")}="{value}"' for name, value in style.items())
    return f'<text x="{x:g}" y="{y:g}"{more}>{escape(words)}</text>'


def card(x: float, y: float, width: float, height: float, *, accent: bool = False) -> str:
    """A box with round corners."""
    edge = f'stroke="{ACCENT}" stroke-width="2"' if accent else f'stroke="{LINE}"'
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="8" fill="{CARD}" {edge}/>'
