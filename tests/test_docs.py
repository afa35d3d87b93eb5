"""What docs/ print runs as it stands there, beside a small `my.tsv` (README's lines: test_package); links lead on."""

import re
import shlex
from pathlib import Path

import pandas
import pytest
import torch
import yaml
from transformers import ElectraConfig

from as2lib import fit
from as2lib.cli import main
from as2lib.data import load_pairs
from as2lib.study import make  # noqa: F401  (has the real `train`, whoever imports it first)
from tests import scores
from tests.encoders import SIZES
from tests.first_hour.hub_like import tokenizer
from tests.models.test_cerberus import released

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = ("docs/index.md", "docs/own_data.md", "docs/production.md", "docs/extend.md", "docs/statistics.md")
BLOCK = re.compile(r"^```(\w+)(?: title=\"(.+?)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FEW = range(200)  # of the 7,000 pairs that the pages train on


@pytest.fixture
def place(folder, monkeypatch):
    """A folder to paste into, where trainings are short; a state dict as CERBERUS was released, and its backbone."""
    train = fit.train
    monkeypatch.setattr(fit, "train", lambda *args, **options: train(*args, **options | {"epochs": None, "steps": 2}))
    monkeypatch.syspath_prepend(folder)
    load_pairs("sample-transfer", "dev", "all").select(FEW).to_csv("my.tsv", sep="\t", index=False)
    tokenizer(folder / "backbone").save_pretrained("backbone")
    ElectraConfig(**SIZES, embedding_size=16).save_pretrained("backbone")
    torch.save(released()[1], "cerberus.pt")
    (folder / "params").mkdir()
    (folder / "params" / "local.yaml").write_text("local: {google/electra-base-discriminator: backbone}\n")
    return folder


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_shows_runs(page, place):
    names: dict = {}
    for language, file, text in BLOCK.findall((ROOT / page).read_text(encoding="utf-8")):
        if file:
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            Path(file).write_text(text, encoding="utf-8")
        elif language == "python":
            exec(compile(text, page, "exec"), names)
        elif language == "bash":
            for words in (shlex.split(line, comments=True) for line in text.splitlines()):
                assert words[:1] in ([], ["as2"])
                assert not words or main(words[1:]) == 0, words
        elif language == "yaml" and text.startswith("study:\n  own:"):
            path = place / "params" / "mine.yaml"
            study = yaml.safe_load(path.read_text(encoding="utf-8"))["study"] | yaml.safe_load(text)["study"]
            for stage in study["fit"].values():
                stage |= {"steps": 2, "evaluate_every": 2}
            path.write_text(yaml.safe_dump({"study": study}, sort_keys=False), encoding="utf-8")


@pytest.mark.parametrize("path", [*ROOT.glob("*.md"), *DOCS.glob("*.md")], ids=lambda path: path.name)
def test_every_link_leads_somewhere_and_tests_that_are_named_are_there(path):
    text = path.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#:]+)\)", text)
    assert not [link for link in links if not (path.parent / link).exists()]
    if path.parent == DOCS:  # mkdocs refuses a link that leaves them
        assert not [link for link in links if link.startswith("..")]
    assert not [file for file in re.findall(r"`(tests/[\w/]+\.py)`", text) if not (ROOT / file).exists()]


def test_expected_scores_are_those_of_the_published_runs():
    assert (DOCS / "scores.md").read_text(encoding="utf-8") == scores.page() + "\n"


def test_the_readmes_tables_are_those_of_the_front_page():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in row.split("|")] for row in re.findall(r"^\| (.+?) \|$", text, re.MULTILINE)]
    tables = ROOT / re.search(r"(reports/\w+)/figures/13_figure_1.png", text)[1] / "tables"
    minus, budgets = (pandas.read_csv(tables / f"13_table_{n}.csv", index_col=0) for n in (1, 2))
    quoted = [row for row in rows if row[0] in minus.index]
    assert len(quoted) == 4
    for rival, *differences, published in quoted:
        assert differences == minus.loc[rival].iloc[:2].tolist()
        assert published == minus.loc[rival].iloc[2:].map("{:.1f}".format).item().replace("nan", "–")
    systems = [f"{row[0]}: {row[1]:.1f}" for place in (0, 3) for row in budgets.iloc[:, place : place + 2].to_numpy()]
    chosen = [cell for row in rows if row[0].isdigit() for cell in row[1:] if cell != "no better"]
    assert len(chosen) == 5
    assert {*chosen} <= {*systems}
    told = [(budgets.iloc[:, [2, 5]] - int(row[0])).abs().min(axis=None) for row in rows if row[0].isdigit()]
    assert max(told) < 3  # milliseconds, in round numbers
