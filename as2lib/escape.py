"""Text is data: each function writes any text for one kind of reader, so that nothing in it is an instruction there."""

import re
import unicodedata
from html import escape
from urllib.parse import quote

NAME = r"^[A-Za-z][A-Za-z0-9_-]{0,63}$"  # of a study: it names files and folders, and stands in commands
_BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # reorder what stands beside them
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_LATEX = {character: f"\\{character}" for character in "&%$#_{}"}
_LATEX |= {"\\": r"\textbackslash ", "~": r"\textasciitilde ", "^": r"\textasciicircum "}
_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r\n]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?%?", re.IGNORECASE)


def html(text: object) -> str:
    """For an element's content or a quoted attribute of HTML; a control character is shown as one that is unknown."""
    return escape(_CONTROL.sub("\ufffd", str(text)))


def markdown(text: object) -> str:
    """For a line of Markdown: no markup, no link, no HTML, no formula."""
    line = " ".join(_CONTROL.sub("\ufffd", str(text)).split())
    return re.sub(
        r"[\\`*\[\]<>&|$#~]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|^[-+](?=\W|$)|^\d+(?=[.)](?:\s|$))",
        lambda found: "".join(f"&#{ord(character)};" for character in found[0]),
        line,
    )


def code(text: object) -> str:
    """A Markdown code span, also in a table's cell."""
    line = " ".join(_CONTROL.sub("\ufffd", str(text)).split()).replace("`", "'").replace("|", r"\|")
    return f"`{line}`"


def latex(text: object) -> str:
    """For a line of LaTeX."""
    return "".join(_LATEX.get(character, character) for character in " ".join(str(text).split()))


def terminal(text: object) -> str:
    """For a terminal: a control character, or one that changes the direction of writing, as its `\\x…` code."""
    found = {c for c in str(text) if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in _BIDI}
    return str(text).translate(str.maketrans({character: ascii(character)[1:-1] for character in found}))


def spreadsheet(text: object) -> object:
    """For a cell of a csv file, quoted where it has to be: what would be a formula gets an apostrophe before it."""
    if not isinstance(text, str):
        return text
    text = re.sub(r"\r\n?", "\n", text)  # alone it would end a row, since no quotes are put around it
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def field(text: object) -> str:
    """For a field of a file whose fields stand between blanks, as TREC's: `urllib.parse.unquote` gives it back."""
    blank = r"%(?=[0-9A-Fa-f]{2})|[\s\x00-\x1f\x7f-\x9f]"
    return re.sub(blank, lambda found: quote(found[0], safe=""), str(text))
