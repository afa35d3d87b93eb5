from as2lib import Study
from as2lib.papers import across, beyond
from as2lib.papers.cerberus import rows


def test_the_page_over_targets_is_made_again_where_another_study_or_its_runs_change():
    _, notebook = beyond.notebooks(Study.load("wikiqa"))
    assert notebook.files == ("params/selqa.yaml", "reports/selqa/runs/index.json")


def test_every_headline_comparison_of_a_study_is_on_the_page_over_targets(invented):
    three = Study.load("tiny", {"seeds": [0, 1, 2]})
    named = rows.headline(three)
    assert len(named) == len(rows.HEADLINE)
    scores = across.scores({"tiny": three})["tiny"]
    assert set(scores["system"]).issuperset(name for pair in named for name in pair)
