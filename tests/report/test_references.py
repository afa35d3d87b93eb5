import json
import re

import pytest

from as2lib.paths import find_root
from as2lib.report import references


def test_notebooks_cite_entries_that_exist():
    keys = set()
    for path in (find_root() / "notebooks").glob("[0-9]*.ipynb"):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            for arguments in re.findall(r"report\.references\((.*)\)", "".join(cell["source"]), re.DOTALL):
                keys |= set(re.findall(r"(\w+)=\"", arguments))
    assert "matsubara2022" in keys
    assert keys <= references.entries().keys()


@pytest.mark.parametrize("key", references.entries())
def test_an_entry_has_authors_a_year_a_title_a_link_and_where_it_appeared(key):
    text = references.cited(key, "section 1")
    assert re.fullmatch(r"\D+ \d{4}\. \[.+\]\(https://[^ )]+\)\. .+: section 1\.", text)
