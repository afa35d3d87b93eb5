import json
import operator
import re
from html import unescape
from pathlib import Path

import pandas
import pytest

from as2lib.data import load_pairs

ROOT = Path(__file__).parents[1]
LONG = 8  # words in a row that nobody writes by chance
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_file_that_the_readme_links_to_is_there():
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert not [link for link in links if not link.startswith("http") and not (ROOT / link).exists()]


def test_a_number_is_four_files_from_its_model():
    """Rows of the walk: each function that it names is defined in the file that it links to."""
    walk = README.split("## From a number to the model")[1].split("\n## ")[0]
    named = re.findall(r"`(\w+)` in \[[^]]+\]\(([^)]+)\)", walk)
    assert len(named) == 6
    assert not [(name, file) for name, file in named if f"def {name}(" not in (ROOT / file).read_text(encoding="utf-8")]
    rows = [row for row in walk.splitlines() if row.startswith("|") and "notebooks/" in row]
    assert [len(set(re.findall(r"\]\(([^)]+)\)", row))) for row in rows] == [4, 4, 4]


def test_the_counts_of_faults_are_those_that_were_counted():
    """Quoted as "after 30 kills of fits, 10 of 10 next fits", in the README and where security is promised."""
    counted = json.loads((ROOT / "reports" / "faults.json").read_text())["fits"]
    said = f"fter {counted['kills']} kills of fits, {counted['same bytes']} of {counted['ends']} next fits"
    for name in ("README.md", "SECURITY.md"):
        assert said in " ".join((ROOT / name).read_text(encoding="utf-8").split())


def test_an_aim_that_is_missed_is_marked_and_no_other():
    """Rows of speed: | what | `module`: row | number unit | sign aim |."""
    rows = re.findall(r"\| `\w+`: .+? \| ([\d.]+) [^|]+\| ([≤<≥>]) ([\d.]+)(, missed)? \|", README)
    reaches = {"≤": operator.le, "<": operator.lt, "≥": operator.ge, ">": operator.gt}
    assert len(rows) > 15
    assert [row for row in rows if reaches[row[1]](float(row[0]), float(row[2])) == bool(row[3])] == []


def test_the_findings_and_the_main_table_are_those_of_the_published_report():
    page = (ROOT / "reports" / "wikiqa" / "README.md").read_text(encoding="utf-8").splitlines()
    said = README.split("## What holds so far")[1].split("\n## ")[0].splitlines()
    findings, more, rows = ([line for line in said if line.startswith(mark)] for mark in ("- ", "  - ", "| "))
    assert (len(findings), len(rows)) == (3, 8)
    assert len(more) == sum(line.startswith("  - ") for line in page)
    assert not [line for line in [*findings, *more, *rows] if line not in page]
    assert "](reports/wikiqa/figures/11_figure_1.png)" in "\n".join(said)


def test_the_published_report_is_small_and_holds_no_sentence_of_a_corpus():
    """The files that git has: under 25 MB, and scores without texts."""
    folder = ROOT / "reports" / "wikiqa"
    files = [path for path in folder.rglob("*") if path.is_file() and "executed" not in path.parts]
    assert sum(path.stat().st_size for path in files) < 25e6
    shown = [path for path in files if path.suffix in (".html", ".csv", ".md", ".json")]
    texts = " ".join(path.read_text(encoding="utf-8") for path in shown)
    assert not re.search(r"/\w+/params/", texts), "a folder of the machine that made it"
    data = ROOT.parent / "shared" / "data"
    if not data.exists():
        pytest.skip("the corpora are not here")
    wikiqa = [load_pairs(data / "wikiqa", split, "all") for split in ("train", "dev", "test")]
    others = [load_pairs(file, questions="all") for name in ("selqa", "trecqa") for file in (data / name).glob("*.tsv")]
    words = re.findall(r"[^\W\d_]+", unescape(texts).lower())
    runs = {" ".join(words[place : place + LONG]) for place in range(len(words))}
    searched = 0
    for pairs in [*wikiqa, *others]:
        for text in pandas.unique(pairs.to_pandas()[["question", "answer"]].to_numpy().ravel())[::5]:
            first = re.findall(r"[^\W\d_]+", text[:200].lower())[:LONG]
            searched += len(first) == LONG
            assert len(first) < LONG or " ".join(first) not in runs, text
    assert searched > 8_000
