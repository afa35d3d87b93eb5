from types import SimpleNamespace

import numpy
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from as2lib import Study
from as2lib.data.pairs import load_parts
from as2lib.metrics.cascade import replay
from as2lib.metrics.cost import cascade_cost
from as2lib.metrics.ranking import per_question
from as2lib.papers import notebooks
from as2lib.papers.frontier import times
from as2lib.papers.frontier.rankers import (
    LAST,
    SHARED,
    THREE,
    TWO,
    VOTE,
    Ranker,
    Stage,
    column,
    fitted_on_dev,
    in_a_row,
    operations,
    rankers,
    reads_order,
    scores,
)
from as2lib.papers.frontier.sentences import (
    answer,
    sentence_of_fits,
    sentence_order,
    sentences_combined,
)
from as2lib.papers.frontier.systems import (
    CASCADE,
    ENSEMBLE,
    KINDS,
    SHUFFLED,
    exited,
    systems,
)
from as2lib.papers.frontier.tables import AS_CHEAP, BUDGETS, as_cheap, budgets, on_front, shares
from as2lib.paths import local_folder
from as2lib.runs import costs
from as2lib.runs.costs import Lengths, Work
from tests.invented import whole

WORDS = Lengths(4.0, 10.0)  # of a question, of a candidate


# --- what a ranker costs


def test_heads_cost_their_layers_on_top_of_the_shared_body_and_an_ensemble_its_members(root):
    study = Study.load("tiny")  # encoders of two layers of 16 units, 32 in the feed-forward ones
    one = costs.layer(16, 32, 4 + 10 + 3)
    work = {
        name: costs.work(study, study.plan[f"{name}/seed-0"], WORDS).candidate for name in ("base/electra", "mhs/3h1")
    }
    assert work == {"base/electra": 2 * one, "mhs/3h1": (1 + 3) * one}
    assert costs.work(study, study.plan["ensemble/distilled/seed-0"], WORDS).candidate == 3 * 2 * one
    assert costs.work(study, study.plan["lexical/overlap_then_rank"], WORDS) == Work(0.0)


def test_a_pair_is_never_longer_than_the_longest_that_an_encoder_reads(root):
    study = Study.load("tiny")  # max_length 24
    found = costs.work(study, study.plan["base/electra/seed-0"], Lengths(20, 80))
    assert found.candidate == 2 * costs.layer(16, 32, 24)


def test_cosinet_reads_a_question_once_and_compare_aggregate_with_each_candidate():
    spec = {"type": "cosinet", "hidden": 3, "vectors": {"dimensions": 7}, "rank_rnn": None, "bidirectional": False}
    a_word = 5 * (7 + 1) * 3
    assert costs.without_transformer(spec, WORDS) == Work(a_word * 10 + 7 * 4 * 10, a_word * 4)
    assert costs.without_transformer({**spec, "related": False}, WORDS) == Work(a_word * 10, a_word * 4)
    birnn = costs.without_transformer({**spec, "rank_rnn": "rnn", "bidirectional": True}, WORDS)
    assert birnn.candidate - Work(a_word * 10 + 7 * 4 * 10).candidate == 2 * 1.5 * (6 + 1.5)  # two directions of f / 2
    found = costs.without_transformer({**spec, "type": "compare_aggregate", "rank_rnn": "lstm"}, WORDS)
    assert found.question == 2 * 7 * 3 * 4
    assert found.candidate == 2 * 7 * 3 * 10 + 3 * 3 * 40 + 15 * 9 * 14 + 4 * 6 * (2 * 15 + 6)


def test_a_row_pays_each_stage_for_what_is_left_with_floors():
    first, second = Stage("a", Work(1.0, 5.0)), Stage("b", Work(100.0))
    sizes = numpy.array([3, 7])
    assert operations(Ranker("", "", (first, second), (4,)), sizes) == 5 + 5 + 100 * (3 + 4) / 2
    assert operations(Ranker("", "", (first, second), (0.5,)), sizes) == 5 + 5 + 100 * (2 + 4) / 2  # 1 and 3 fall


def test_a_cascade_costs_what_its_formula_says():
    exits, sizes = (2, 3, 6), numpy.array([5, 12, 40])
    stages = tuple(Stage("ct", Work(10.0 * layers)) for layers in (2, 1, 3))
    found = operations(Ranker("", "", stages, (0.3, 0.3)), sizes)
    assert found == pytest.approx(cascade_cost(6, exits, 0.3, sizes) * 60 * sizes.mean())


@pytest.mark.parametrize("name", costs.KNOWN)
def test_the_stated_lengths_are_those_of_the_texts(name):
    from as2lib.data.sources import HUB_SETS

    if not local_folder(HUB_SETS[name.split(":")[0]].name):
        pytest.skip("needs the texts")
    pairs = load_parts((name,), "answered").to_pandas().drop_duplicates()
    stated = costs.KNOWN[name]
    assert pairs["answer"].str.split().str.len().mean() == pytest.approx(stated.candidate, abs=0.1)
    questions = pairs.drop_duplicates("question_id")["question"]
    assert questions.str.split().str.len().mean() == pytest.approx(stated.question, abs=0.01)


# --- rankers in a row


def scored(seed=0, questions=6, stages=3):
    generator = numpy.random.default_rng(seed)
    question = pandas.Series(numpy.repeat(numpy.arange(questions), generator.integers(1, 7, questions)))
    label = pandas.Series(generator.integers(0, 2, len(question)))
    columns = [pandas.Series(generator.integers(0, 5, len(question)) / 4) for _ in range(stages)]  # with ties
    return question, label, columns


@pytest.mark.parametrize("seed", range(5))
def test_a_row_that_keeps_all_ranks_as_its_last_ranker(seed):
    question, label, columns = scored(seed)
    found = in_a_row(question, columns, (100, 0.0))
    expected = per_question(question, label, columns[-1], "all")
    pandas.testing.assert_frame_equal(per_question(question, label, found, "all"), expected)


def test_a_row_puts_what_the_first_ranker_drops_behind_in_its_order():
    question = pandas.Series(["q"] * 4 + ["r"] * 2)
    first, second = pandas.Series([0.9, 0.8, 0.7, 0.1, 0.2, 0.6]), pandas.Series([0.1, 0.5, 0.9, 1.0, 0.9, 0.8])
    found = in_a_row(question, [first, second], (2,))
    order = [list(rows.sort_values(ascending=False).index) for _, rows in found.groupby(question)]
    assert order == [[1, 0, 2, 3], [4, 5]]


def test_a_row_with_a_share_prunes_as_the_cascade_does():
    question, label, _ = scored(3, questions=20)
    columns = [pandas.Series(numpy.random.default_rng(i).permutation(len(question)) / 100) for i in range(3)]  # no ties
    found = in_a_row(question, columns, (0.4, 0.4))
    expected = -replay(question, numpy.stack(columns, axis=1), 0.4).position
    found, expected = (per_question(question, label, scores, "all") for scores in (found, expected))
    pandas.testing.assert_frame_equal(found, expected)


def test_every_seed_of_a_stage_counts_as_much_as_its_others():
    def run(*scores):
        table = pandas.DataFrame({"question_id": ["q"] * 3, "label": [1, 0, 0], "score": scores})
        return SimpleNamespace(run=SimpleNamespace(data=["test"]), scores=lambda split: table)

    first, second = [run(3.0, 2.0, 1.0), run(1.0, 2.0, 3.0), run(2.0, 1.0, 3.0)], [run(1.0, 2.0, 3.0), run(3, 1, 2)]
    study = SimpleNamespace(runs={"a": first, "b": second, "c": second[:1]}.get)

    def orders(*prefixes):
        row = Ranker("", "", tuple(Stage(prefix, Work(1.0)) for prefix in prefixes), (2,) * (len(prefixes) - 1))
        return ["".join(map(str, one["score"].sort_values(ascending=False).index)) for one in scores(study, row)]

    assert sorted(orders("a", "b")) == sorted(["102", "012", "210", "210", "201", "021"])
    assert orders("a", "a", "c") == orders("a", "c")  # a stage of the same runs has the same seed
    assert len(orders("a")) == 3


def test_a_student_with_exits_is_its_twin_but_for_them_and_pays_its_heads_for_what_its_exits_leave(root):
    study = whole(root)  # a body of one layer, three heads of one
    own, twin = (study.plan[f"{prefix}/seed-0"] for prefix in (exited(study), "mhs/3h1-no-teacher"))
    assert (own.parents, own.data, own.spec["mhs"], own.precision) == (
        twin.parents, twin.data, twin.spec["mhs"], twin.precision
    )  # fmt: skip
    assert {name: own.spec[name] for name in twin.spec if name != "loss"} | {"loss": "ce_per_head"} == twin.spec
    found = [one for one in rankers(study) if one.kind == SHARED]
    assert [one.limits for one in found] == [(alpha,) for alpha in study.cascade.alphas]
    layer = costs.layer(16, 32, costs.tokens(study, costs.lengths(study)))
    assert operations(found[0], numpy.array([10])) == pytest.approx(layer * (10 + 3 * (10 - 3)))  # alpha 0.3
    assert {one.beside for one in found} == {systems(study)[exited(study)].label}


def test_the_candidate_that_most_heads_put_first_wins_and_the_mean_decides_the_rest():
    table = pandas.DataFrame({"question_id": ["q"] * 3, "score": [0.5, 0.6, 0.1]})
    table = table.assign(head_0=[0.6, 0.5, 0.1], head_1=[0.6, 0.5, 0.2], head_2=[0.3, 0.8, 0.0])
    assert column(table, "votes").tolist() == [4.5, 2.6, 0.1]
    assert column(table, "score").tolist() == [0.5, 0.6, 0.1]


# --- the front


def test_the_front_of_five_systems_worked_by_hand():
    cost, value = numpy.array([0, 2, 1, 2, 3]), numpy.array([[0.5, 0.7, 0.5, 0.6, 0.9]])
    assert on_front(cost, value).tolist() == [[True, True, False, False, True]]
    assert on_front(numpy.ones(2), numpy.array([[0.5, 0.5]])).tolist() == [[True, True]]


points = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12)


@given(points)
@settings(deadline=None)
def test_exactly_what_nothing_dominates_is_on_the_front(points):
    cost, value = (numpy.array(column, float) for column in zip(*points, strict=True))
    found = on_front(cost, value[None])[0]
    for i, (c, v) in enumerate(points):
        dominated = any((a <= c and b >= v) and (a < c or b > v) for a, b in points)
        assert found[i] == (not dominated)


def test_shares_of_bootstrap_samples_sum_to_the_mean_size_of_the_front_and_do_not_change():
    generator = numpy.random.default_rng(0)
    values, cost = generator.random((30, 6)), numpy.array([0, 1, 1, 2, 3, 4])
    values[:, 5] = values[:, 4] - 0.1  # dearer, and worse on every question
    found = shares(cost, values, 200)
    assert found[0] == 1  # nothing is as cheap
    assert found[5] == 0
    assert found[1] + found[2] <= 1
    assert 1 <= found.sum() <= 5
    numpy.testing.assert_array_equal(found, shares(cost, values, 200))


# --- the tables


def test_a_combination_gains_where_no_system_of_the_papers_is_as_good_for_as_little():
    kinds = ["one encoder", CASCADE, "one encoder", LAST, LAST]
    values = {"kind": kinds, "M operations": [1.0, 4.0, 9.0, 3.0, 5.0], "MAP": [50.0, 70.0, 80.0, 60.0, 65.0]}
    rows = pandas.DataFrame(values, index=["small", "whole cascade", "dear", "gains", "does not"])
    assert as_cheap(rows, ["gains", "does not"]) == [50, 70]
    tests = {"difference": 0.0, "low": -1.0, "high": 1.0, "cost %": 90.0}
    found = rows.tail(2).assign(**{AS_CHEAP: [50.0, 70.0]}, **tests)
    study = SimpleNamespace(significance=SimpleNamespace(margin=0.02))
    said = sentences_combined(study, found)[1]
    assert "that costs no more: 1 of the 2; the best of them is “gains” (MAP 60.0)." in said


def test_one_fit_of_several_names_counts_once_by_the_name_of_the_students_family(root):
    study = whole(root)
    for name in study.store.below("direct/electra-base"):
        for family in ("roberta", "albert"):
            other = name.replace("electra", family)
            study.store._identities[other] = study.store.identity(name)
    labels = [one.label for one in rankers(study)]
    known = systems(study)
    assert known["direct/electra-base"].label in labels
    assert not {known[f"direct/{family}-base"].label for family in ("roberta", "albert")} & set(labels)
    assert known["direct/roberta-large"].label in labels


def test_no_ensemble_whose_weights_were_fitted_to_dev_is_chosen_on_dev(root):
    found = {one.stages[0].prefix: one for one in rankers(whole(root)) if len(one.stages) == 1}
    fitted = {prefix for prefix, one in found.items() if fitted_on_dev(whole(root), one)}
    names = {"ensemble/base", "ensemble/kd", "ensemble/distilled", "longer/ensemble/distilled", "govern/lr-ensemble"}
    assert fitted == names


def test_the_answer_names_each_choice_once_and_counts_the_combinations_on_the_front():
    kinds = ["trivial", TWO, THREE, LAST]
    rows = pandas.DataFrame({"front": [True, True, True, False], "kind": kinds}, index=["a", "b", "c", "d"])
    found = pandas.DataFrame({"system": ["a", "b", "b"], "MAP": [60.0, 70.0, 70.0]}, index=["0", "0.5", "1"])
    said = answer(rows, found, "It reads.")
    assert "“a” for none (test MAP 60.0), “b” from 0.5 × on (70.0). It reads. On the front" in said
    assert "On the front stand 3 systems; 1 of them: a ranker without" in said
    assert "1 of them: a kind that no paper tried (three in a row;" in said


def test_which_choices_read_the_order_of_candidates_and_what_it_is_worth(root, monkeypatch):
    study, known = whole(root), {one.stages[-1].prefix: one for one in rankers(whole(root)) if len(one.stages) == 1}
    orders = {"lexical/word_overlap": False, "lexical/reciprocal_rank": True, "cosinet/list": False, "ca/rnn": True}
    orders |= {"mhs/3h1": False, "lexical/overlap_then_rank": True}
    assert {prefix: reads_order(study, known[prefix]) for prefix in orders} == orders
    monkeypatch.setattr("as2lib.runs.results.scored", lambda study, prefixes: prefixes)
    monkeypatch.setattr("as2lib.runs.results.frame", lambda scores: scores)
    maps = pandas.DataFrame({"MAP": [62.0, 69.0]}, index=SHUFFLED)
    monkeypatch.setattr("as2lib.runs.results.mean_and_spread", lambda frame: maps)
    labels = [known[prefix].label for prefix in ("cosinet/birnn", "ca/birnn", "lexical/overlap_then_rank", "mhs/3h1")]
    rows = pandas.DataFrame({"MAP": [75.0, 77.0, 68.0, 76.0]}, index=labels)
    said = sentence_order(study, rows, pandas.DataFrame({"system": labels}))
    assert said.startswith("3 of the 4 choices read the order")
    assert f"MAP goes from 75.0 to 62.0 for {labels[0]} and from 77.0 to 69.0 for {labels[1]} (WO+RR" in said


def test_the_cascade_is_set_beside_a_model_of_the_same_data_and_the_large_one(root):
    study, large = whole(root), systems(whole(root))["longer/teacher/electra"].label
    values = {"MAP": [74.9, 75.2, 81.0], "M operations": [3.0, 2.0, 4.0]}
    rows = pandas.DataFrame(values, index=["CT to layer 2, alpha 0", "MT of 2 layers", large])
    said = sentence_of_fits(study, rows)
    assert "of 2.00 times its operations, 81.0: a cascade's place here comes of how it was fitted" in said
    assert sentence_of_fits(study, rows.assign(MAP=[70.0, 75.2, 76.0])).endswith("operations, 76.0.")


def test_a_budget_buys_the_best_of_dev_and_says_what_hindsight_had(monkeypatch):
    monkeypatch.setattr("as2lib.papers.frontier.tables.base_cost", lambda study, rows: 10.0)
    rows = pandas.DataFrame(
        {
            "M operations": [0.0, 5.0, 5.0, 20.0],
            "parameters": [0, 1, 2, 3],
            "MAP": [50.0, 60.0, 65.0, 64.0],
            "P@1": [40.0, 50.0, 55.0, 54.0],
            "dev MAP": [51.0, 62.0, numpy.nan, 62.0],
        },
        index=["free", "first", "unseen", "dear"],
    )
    found = budgets(None, rows)
    assert found["system"].tolist() == ["free" if budget < 0.5 else "first" for budget in BUDGETS]
    assert found.loc["1", ["in hindsight", "lost"]].tolist() == ["unseen", 5.0]


# --- what a clock says


def test_what_is_timed_is_what_is_counted(root):
    study, sizes = whole(root), numpy.full(6, 11)  # the same number for each question: nothing is rounded
    a_layer = costs.layer(16, 32, costs.tokens(study, costs.lengths(study)))
    seen = set()
    for one in rankers(study):
        found = times.parts(study, one, sizes)
        if all(part.get("width") == 16 for part in found):
            counted = sum(part["layers"] * part["candidates"] for part in found) * a_layer
            assert counted == pytest.approx(operations(one, sizes)), one.label
            seen.add(one.kind)
    assert {CASCADE, ENSEMBLE, SHARED, VOTE} <= seen


def test_a_system_takes_as_long_as_its_parts_together():
    layer = {"layers": 1, "width": 100, "inner": 64, "candidates": 3}  # a width that 32 does not divide
    words = {"type": "cosinet", "vectors": 5, "hidden": 4, "dropout": 0.0, "rank_rnn": "rnn", "bidirectional": True}
    words |= {"candidates": 2}
    systems = {"none": [], "one": [layer], "words": [words], "both": [words, layer], "twice": [layer, layer]}
    found = times.measure(
        {"systems": systems, "words": {"question": 4, "candidate": 6, "pair": 13}, "rounds": 3, "threads": 1}
    )
    assert found["none"] == 0 < min(found["one"], found["words"])
    assert found["both"] == pytest.approx(found["one"] + found["words"])
    assert found["twice"] == pytest.approx(2 * found["one"])


def test_a_clock_may_take_a_system_off_the_front_but_by_no_difference_as_small_as_that_between_repeats(monkeypatch):
    monkeypatch.setattr(times, "label", lambda study, prefix: "base")
    monkeypatch.setattr(times, "twin", lambda study, prefix: prefix)
    values = {"kind": "", "MAP": [50.0, 60.0, 65.0, 70.0], "M operations": [0.0, 1.0, 1.1, 4.0], "front": True}
    rows = pandas.DataFrame(values, index=["free", "words", "more words", "base"])
    timed = times.table(None, rows, {"free": 0.0, "words": 8.0, "more words": 7.9, "base": 4.0})
    assert timed.index.tolist() == ["free", "base", "more words", "words"]
    assert timed[times.STAYS].tolist() == [True, True, False, False]
    said = times.sentences(timed)
    assert said[0].endswith("2 of the 4.")
    assert said[1].endswith("take longest, 7.2 to 8.0 times what the base model would: “words” and “more words”.")
    monkeypatch.setattr(times, "label", lambda study, prefix: "base")
    monkeypatch.setattr(times, "twin", lambda study, prefix: prefix)
    rows = pandas.DataFrame(
        {"kind": "", "MAP": [60.0, 65.0], "M operations": [1.0, 1.1], "front": True}, ["less", "base"]
    )
    for slower, stays in ((1.1, True), (1.5, False)):
        timed = times.table(None, rows, {"less": slower, "base": 1.0})
        assert timed.loc["less", times.STAYS] == stays


@pytest.mark.parametrize(
    "changes", [{}, {"cascade": None, "cosinet": None, "govern": None, "kinds": None}], ids=["whole", "CERBERUS"]
)
def test_every_system_ranks_the_target_and_the_notebook_lists_its_runs(root, changes):
    study = whole(root, **changes)
    found, target = systems(study), study.data.target.test
    assert {row.kind for row in found.values()} <= set(KINDS)
    ensembles = {prefix for prefix in found if study.plan[study.store.below(prefix)[0]].kind == "ensemble"}
    assert ensembles == {prefix for prefix, row in found.items() if row.kind == ENSEMBLE}
    assert len({row.label for row in found.values()}) == len(found)
    read = next(notebook.runs for notebook in notebooks(study) if notebook.name == "11_frontier")
    assert {name.rsplit("/seed-", 1)[0] for name in read} == set(found) | set(SHUFFLED * bool(study.cosinet))
    assert all(study.plan[name].data["test"] == target for name in read)
    ranked = {name.rsplit("/seed-", 1)[0] for name, run in study.plan.items() if run.data.get("test") == target}
    left = {prefix.removeprefix("longer/") for prefix in ranked - set(found)}
    left = {prefix for prefix in left if not prefix.startswith(("shuffled/", "grid/"))}
    assert left <= {"hydra-teacher/electra", "kd/electra-from-albert", "kd/electra-from-roberta"}  # no rows of theirs
