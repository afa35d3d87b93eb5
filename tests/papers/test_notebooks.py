"""The notebooks of the other papers, and those over all papers, run over invented scores and record their numbers."""

import json

import pytest

from tests.papers.conftest import EPOCHS, STEPS, pair_set, run_notebook

NAMES = ["08_cascade", "09_cosinet", "10_govern", "11_frontier", "13_across", "00_overview"]


@pytest.fixture
def sections(invented, root) -> dict:
    """The sections that the tiny study lacks, as overrides."""
    evaluated = {**STEPS, "evaluate_every": 2}
    cascade = {
        "family": "electra",
        "exits": [1, 2, 4],
        "targets": {"other": pair_set(root, "transfer")},
        "fit": {"transfer": evaluated, "adapt": evaluated},
        "ablations": False,
        "note": "How the budgets were found.",
    }
    govern = {
        "unlabelled": pair_set(root, "transfer")["train"],
        "start": "transfer",
        "teachers": [{"of": "electra-base"}, {"of": "roberta-base"}, {"of": "electra-large"}],
        "student": {"of": "electra-base"},
        "teacher_fit": evaluated,
        "unlabelled_fit": evaluated,
        "labelled_fit": evaluated,
        "ablation": {
            "teacher": {"of": "electra-base"},
            "student": {"of": "electra-base", "layers": 2},
            "teachers": [1, 3],
            "fit": {**EPOCHS},
        },
    }
    return {"cascade": cascade, "govern": govern}


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_shows_and_records_its_tables(invented, root, sections, name):
    space = run_notebook(name, overrides=sections)
    folder = root / "reports" / space["study"].variant
    assert json.loads((folder / "metrics" / f"{name[:2]}.json").read_text(encoding="utf-8"))
    assert list((folder / "tables").glob(f"{name[:2]}_table_*.csv"))


def test_table_2_of_the_cascade_has_each_target_and_the_papers_other_systems(invented, root, sections):
    space = run_notebook("08_cascade", overrides=sections)
    table = space["by_depth"]
    assert table.loc["one model of 4 layers", ["MAP", "other MAP"]].notna().all()
    assert table.loc["CA2 (Yoon et al. 2019)", "published MAP"] == 83.4


def test_rankers_that_are_not_run_stand_nowhere_on_the_frontier(invented, root):
    space = run_notebook("11_frontier", overrides={"rows": {"ensemble/teachers": [], "hydra/3h1": []}})
    labels = {space["study"].systems[name].label for name in ("ensemble/teachers", "hydra/3h1")}
    assert not labels & set(space["systems"].index)


def test_rankers_that_learn_nothing_come_first_whichever_a_target_has():
    from as2lib.papers import across
    from as2lib.study import Study

    found = {name: Study.load(name) for name in ("wikiqa", "selqa")}
    rows = across.table(found, across.scores(found))
    assert list(rows.index[:2]) == ["lexical/overlap_then_rank", "lexical/word_overlap"]
    assert rows.loc["mhs/3h1", ["wikiqa published P@1 (WikiQA)", "selqa published P@1 (ASNQ)"]].notna().all()
