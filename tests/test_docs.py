"""The code of docs/ runs as it stands there, in the order of each page, beside a file `my.tsv`."""

import re
import shlex
from itertools import product
from pathlib import Path

import pytest
import yaml

from as2lib.__main__ import main

DOCS = Path(__file__).parents[1] / "docs"
PAGES = ("index", "own_data", "production", "extend")
BLOCK = re.compile(r"^```(\w+)(?: title=\"(.+?)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_shows_runs(page, tmp_path, monkeypatch):
    for folder in ("params", "as2lib"):  # a root of its own
        (tmp_path / folder).mkdir()
    lines = ["question_id\tquestion\tanswer\tlabel"]
    for one, (colour, thing) in enumerate(
        product(("red", "green", "blue", "white", "black"), "boat hill lamp river stone tree".split())
    ):
        lines += [
            f"q{one}\twhere is the {colour} {thing} ?\tthe {colour} {thing} is here\t1",
            f"q{one}\twhere is the {colour} {thing} ?\tthe sky is grey\t0",
        ]
    (tmp_path / "my.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AS2_ROOT", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    names: dict = {}
    for language, file, text in BLOCK.findall((DOCS / f"{page}.md").read_text(encoding="utf-8")):
        if file:
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            Path(file).write_text(text, encoding="utf-8")
        elif language == "python":
            exec(compile(text, page, "exec"), names)
        elif language == "bash":
            for line in re.findall(r"^as2 (.+)$", text, re.MULTILINE):
                assert main(shlex.split(line, comments=True)) == 0, line


def test_every_page_is_in_the_contents_and_every_link_leads_somewhere():
    listed = [
        file for entry in yaml.safe_load((DOCS.parent / "mkdocs.yml").read_text())["nav"] for file in entry.values()
    ]
    assert sorted(listed) == sorted(path.name for path in DOCS.glob("*.md"))
    for path in DOCS.glob("*.md"):
        links = re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8"))
        assert not [link for link in links if not (DOCS / link).exists()], path.name
