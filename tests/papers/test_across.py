from as2lib import Study
from as2lib.papers import beyond


def test_the_page_over_targets_is_made_again_where_another_study_or_its_runs_change():
    _, notebook = beyond.notebooks(Study.load("wikiqa"))
    assert notebook.files == ("params/selqa.yaml", "reports/selqa/runs/index.json")
