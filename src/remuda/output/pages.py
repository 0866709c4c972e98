"""
Pages of HTML that are one file: they load nothing from anywhere, which their own policy forbids, too.

What others wrote gets onto a page through `page_text` alone.
"""

from base64 import b64encode
from hashlib import sha256
from html import escape

from remuda.output.show import one_line


def page_text(text: str) -> str:
    """Text that is only shown, whatever it holds."""
    return escape(one_line(text))


def page_head(title: str, style: str, script: str = "") -> str:
    """The beginning of a page up to its body; it may have this style, and run this script and no other."""
    runs = f"script-src '{_hash(script)}'; " if script else ""
    policy = f"default-src 'none'; style-src '{_hash(style)}'; {runs}base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>{page_text(title)}</title><style>{style}</style></head>\n"
    )


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
