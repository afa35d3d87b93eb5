"""What the pages cite: the entries of `docs/references.bib`, by their keys; knows no study."""

import re
from functools import cache

from as2lib.paths import PACKAGE, find_root

ENTRY = re.compile(r"@\w+\{(\w+),\n(.*?)\n\}", re.DOTALL)
FIELD = re.compile(r"^ +(\w+) = \{(.*)\},$", re.MULTILINE)


@cache
def entries() -> dict[str, dict[str, str]]:
    """Key → field → its text, of a file that has one field a line."""
    files = [root / "docs" / "references.bib" for root in (find_root(), PACKAGE.parent)]  # or the clone's
    text = next(file for file in files if file.exists()).read_text(encoding="utf-8")
    return {key: dict(FIELD.findall(fields)) for key, fields in ENTRY.findall(text)}


def cited(key: str, place: str = "") -> str:
    """An entry as Markdown: names and year, the title with its link, where it appeared, and the place meant in it.

    Raises KeyError for a key that the file lacks.
    """
    entry = entries()[key]
    names = [author.partition(",")[0] for author in entry["author"].split(" and ")]
    if len(names) > 4 or "others" in names:
        names = [names[0], "others"]
    authors = " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
    link = f"https://doi.org/{entry['doi']}" if "doi" in entry else entry["url"]
    venue = entry.get("booktitle") or entry.get("journal") or entry["howpublished"]
    return f"{authors} {entry['year']}. [{entry['title']}]({link}). {venue}{place and f': {place}'}."
