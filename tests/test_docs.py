"""What docs/ print runs as it stands there, beside a small `my.tsv` (README's lines: test_package); links lead on."""

import re
import shlex
from pathlib import Path

import pandas
import pytest
import torch
import yaml
from transformers import ElectraConfig

from as2lib import Study
from as2lib.cli import main
from as2lib.data import load_pairs
from as2lib.study import results
from tests import scores
from tests.first_hour.hub_like import tokenizer
from tests.models.test_cerberus import CONFIG, released

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = ("docs/index.md", "docs/own_data.md", "docs/production.md", "docs/extend.md", "docs/statistics.md")
BLOCK = re.compile(r"^```(\w+)(?: title=\"(.+?)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FEW = range(200)  # of the 7,000 pairs that the pages train on


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder of its own to paste into, where trainings are short."""
    from as2lib.commands import training

    train = training.train
    monkeypatch.setattr(training, "train", lambda *where, **options: train(*where, **options | {"steps": 2}))
    (tmp_path / "params").mkdir()
    write_released(tmp_path)
    monkeypatch.setenv("AS2_ROOT", str(tmp_path))
    load_pairs("sample-transfer", "dev", "all").select(FEW).to_csv(tmp_path / "my.tsv", sep="\t", index=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def write_released(folder):
    """A state dict as CERBERUS was released, and its backbone, which the hub's name is mapped to."""
    tokenizer(folder / "backbone").save_pretrained(folder / "backbone")
    ElectraConfig(**CONFIG, embedding_size=24).save_pretrained(folder / "backbone")
    torch.save(released(), folder / "cerberus.pt")
    (folder / "params" / "local.yaml").write_text("local: {google/electra-base-discriminator: backbone}\n")


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
            for line in text.splitlines():
                assert run(line) == 0, line
        elif language == "yaml" and text.startswith("own:"):
            shorten(place / "params" / "mine.yaml", yaml.safe_load(text))


def run(line: str) -> int:
    """The exit code of a line of a page: a command of ours, or a comment."""
    words = shlex.split(line, comments=True)
    assert words[:1] in ([], ["as2"])
    return main(words[1:]) if words else 0


def shorten(path: Path, section: dict) -> None:
    """A study's file with a section, and fits of two steps."""
    content = yaml.safe_load(path.read_text(encoding="utf-8")) | section
    for fit in content["fit"].values():
        fit |= {"steps": 2, "evaluate_every": 2}
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


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


def test_the_readmes_intervals_and_table_are_those_of_the_study_that_it_quotes():
    study, text = Study.load("selqa"), (ROOT / "README.md").read_text(encoding="utf-8")
    rivals = ("base/pointwise", "student/pointwise", "student/pairwise")
    systems = [study.systems[name] for name in ("mhs/3h1", *rivals)]
    tests = results.compare(results.load(study, systems), [("mhs/3h1", rival) for rival in rivals])
    for pair, row in tests.iterrows():
        interval = " to ".join(f"{value:.1f}".replace("-", "−") for value in row[["low", "high"]])
        assert interval in text, (pair, interval)
    table = pandas.read_csv(ROOT / "reports" / "selqa" / "tables" / "00_table_1.csv").set_index("run")
    rows = re.findall(r"^\| (.+?) \|(.+)\|$", text, re.MULTILINE)
    cells = {label: [cell.strip() for cell in rest.split("|")] for label, rest in rows}
    others = {f"teacher/{name}" for name in study.teachers if name != study.own_teacher}  # README has the student's own
    assert set(cells) >= {study.systems[run].label for run in table.index if run not in others}
    for run, system in study.systems.items():
        if run in table.index and run not in others:
            parameters, cost, *metrics = cells[system.label][:4]
            values = table.loc[run]
            millions = f"{values['parameters'] / 1e6:.1f} M" if values["parameters"] else "0"
            assert (parameters, cost) == (millions, f"{values['cost ×']:.2f}"), run
            for metric, cell in zip(("P@1", "MAP"), metrics, strict=True):
                spread = values[f"{metric} ±"]
                assert cell == f"{values[metric]:.1f}" + ("" if pandas.isna(spread) else f" ± {spread:.1f}"), run
