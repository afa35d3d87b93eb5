import pandas

from as2lib.papers.cerberus import configurations


def test_a_study_with_heads_of_one_layer_only_has_no_pair_to_compare_and_says_so(trained):
    tests = configurations.deeper_heads(trained.study)
    assert tests.empty
    (sentence,) = configurations.sentences_deeper(trained.study, tests)
    assert sentence == "Every head of this study has one layer: there is no pair of configurations to compare."


def test_the_leanest_heads_are_compared_with_also_where_the_papers_scale_to_deeper_ones(trained):
    study = trained.study.model_copy(update={"mhs": trained.study.mhs.model_copy(update={"body": 23})})
    assert [*configurations.shapes(study)] == ["mhs/3h1", "mhs/3h2", "mhs/3h4", "mhs/3h8", "mhs/3h12"]


def test_the_papers_configurations_that_are_not_run_here_stand_below():
    rows = {"MAP": [72.0, 71.0], "the paper's": ["B11 3H1", "B6 3H6"], "published MAP": [60.8, 60.6]}
    table = configurations.beside_all(pandas.DataFrame(rows, index=["MHS B3 3H1", "MHS B2 3H2"]))
    assert table["published MAP"].tolist() == [60.8, 60.6, 61.2, 60.7]
    assert table["MAP"].dropna().tolist() == [72.0, 71.0]
    assert [*table.index[2:]] == ["B10 3H2, not run here", "B8 3H4, not run here"]
