"""The code of docs/ runs as it stands there, in the order of each page, beside a file `my.tsv` of few pairs."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from as2lib.__main__ import main
from as2lib.data import load_pairs

DOCS = Path(__file__).parents[1] / "docs"
PAGES = ("index", "own_data", "production", "extend")
BLOCK = re.compile(r"^```(\w+)(?: title=\"(.+?)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_shows_runs(page, tmp_path, monkeypatch):
    for folder in ("params", "as2lib"):  # a root of its own
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AS2_ROOT", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    few = '"sample-transfer", "dev"'  # what the pages write of 7,000 questions takes a minute to learn
    load_pairs("sample-transfer", "dev", "all").to_csv(tmp_path / "my.tsv", sep="\t")
    names: dict = {}
    for language, file, text in BLOCK.findall((DOCS / f"{page}.md").read_text(encoding="utf-8")):
        if file:
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            Path(file).write_text(text, encoding="utf-8")
        elif language == "python":
            exec(compile(text.replace('"sample-transfer", "train"', few), page, "exec"), names)
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
