import pytest
import torch

from as2lib.papers.cerberus import costs
from as2lib.papers.cerberus.params import Latency as Settings
from as2lib.papers.cerberus.true_sizes import build_members, members
from as2lib.runs.results import published

TOKENS = 128  # of a pair, in all tests: what is counted once is remembered


def millions(row):
    return costs.count(row, TOKENS)["parameters"] / 1e6


@pytest.mark.parametrize(
    ("row", "vocabulary", "positions", "types", "units", "layers"),
    [
        ("base/electra", 30522, 512, 2, 768, 12),
        ("teacher/electra", 30522, 512, 2, 1024, 24),
        ("base/roberta", 50265, 514, 1, 768, 12),
        ("teacher/roberta", 50265, 514, 1, 1024, 24),
    ],
)
def test_encoders_have_the_parameters_worked_by_hand(row, vocabulary, positions, types, units, layers):
    embeddings = (vocabulary + positions + types) * units + 2 * units
    layer = 12 * units**2 + 13 * units  # four projections, two dense layers of 4 d, their biases, two normalisations
    classifier = units**2 + units + 2 * units + 2
    assert costs.count(row, TOKENS)["parameters"] == embeddings + layers * layer + classifier


@pytest.mark.parametrize(("row", "units"), [("base/albert", 768), ("teacher/albert", 4096)])
def test_albert_has_one_layer_and_narrow_embeddings(row, units):
    embeddings = (30000 + 512 + 2) * 128 + 2 * 128 + 128 * units + units
    pooler, classifier = units**2 + units, 2 * units + 2
    assert costs.count(row, TOKENS)["parameters"] == embeddings + 12 * units**2 + 13 * units + pooler + classifier


@pytest.mark.parametrize("row", published("cerberus_table4").to_dict("records"), ids=lambda row: row["run"])
def test_shapes_of_table_4_have_the_published_parameters_within_four_million(row):
    assert millions(row["run"]) == pytest.approx(row["parameters_M"], abs=4)


def test_an_ensemble_costs_its_members():
    three = [costs.count(f"base/{family}", TOKENS) for family in ("albert", "roberta", "electra")]
    assert costs.count("ensemble/base", TOKENS) == {key: sum(one[key] for one in three) for key in three[0]}
    assert costs.count("ensemble/distilled", TOKENS)["flops"] == 3 * three[2]["flops"]
    assert {config.model_type for config in members("ensemble/base")} == {"albert", "roberta", "electra"}


def test_operations_of_electra_base_are_those_worked_by_hand():
    n, d, layers = TOKENS, 768, 12  # tokens, hidden units, layers; feed-forward 4 d
    layer = 2 * n * 12 * d * d + 2 * 2 * n * n * d
    assert costs.count("base/electra", n)["flops"] == layers * layer + 2 * d * (d + 2)


@pytest.mark.parametrize("row", ["teacher/bert", "lexical/word_overlap", "mhs"])
def test_a_name_that_says_no_size_is_refused(row):
    with pytest.raises(ValueError, match=f"such as teacher/electra or mhs/3h1, got '{row}'"):
        members(row)


def test_models_on_a_processor_give_finite_numbers():
    (model,) = build_members("base/albert", "cpu")
    with torch.inference_mode():
        logits = model(input_ids=torch.arange(10, 26)[None]).logits
    assert logits.shape == (1, 2)
    assert torch.isfinite(logits).all()


def test_sentences_name_the_rows_whose_published_size_is_off():
    table = costs.counted("cerberus_table5", TOKENS)
    off = costs.sentences_sizes(table)[0]
    assert off.startswith("In 6 of the 9 rows")
    assert "RoBERTa-BASE (109 M published, 124.6 M counted)" in off
    assert costs.sentences_sizes(table.assign(**{"more %": 0.0}))[0].endswith("is within 2 % of the model's.")


def measured(**seconds):
    """What `measure` finds: row, with a low line for its stroke → the seconds of its turns, in batches of two pairs."""
    where = {"batch": 2, "tokens": TOKENS, "device": "cpu", "threads": 1}
    return {row.replace("_", "/"): {"seconds": turns, **where} for row, turns in seconds.items()}


def test_a_row_that_did_not_run_has_no_time_and_says_so():
    found = measured(base_electra=[1.0, 1.0, 3.0], mhs_3h1=[1.4, 1.5, 4.5])  # the last turn: a busy minute
    table = costs.table_5(found).set_index("run")
    assert table.loc["mhs/3h1", ["state", "ms a pair", "time ×", "time × ±"]].tolist() == [
        "run", 750, 1.5, pytest.approx(0.025),
    ]  # fmt: skip
    assert table.loc["mhs/3h1", "published ×"] == pytest.approx(2.6 / 2.0)
    assert table.loc["mhs/3h1", "operations ×"] == pytest.approx(14 / 12, abs=0.01)
    assert table["operations ×"].notna().all()
    assert table.loc["teacher/albert", "state"] == "not run"
    assert table.loc["teacher/albert", ["ms a pair", "time ×"]].isna().all()
    assert table.loc["teacher/albert", "published ×"] == pytest.approx(47 / 2)
    assert costs.table_5({"mhs/3h1": found["mhs/3h1"]})["time ×"].isna().all()  # ELECTRA-BASE was not timed


def test_no_sentence_reads_times_that_noise_explains():
    def said(**seconds):
        found = measured(base_electra=[1.0, 1.0, 1.0], **seconds)
        return costs.sentences_times(costs.table_5(found), found, "a machine")[1:]

    assert "takes 1.20 times" in said(mhs_3h1=[1.2, 1.2, 1.2])[0]
    (apart,) = said(base_roberta=[1.5, 1.5, 1.5], mhs_3h1=[1.2, 1.2, 1.2])  # of ELECTRA-BASE's shape
    assert apart.startswith("These times are no finding: RoBERTa-BASE")
    steady, varied = said(base_roberta=[1.0, 1.05, 1.0], mhs_3h1=[1.2, 1.2, 1.2], teacher_electra=[2.0, 3.5, 5.0])
    assert "takes 1.20 times the time of ELECTRA-BASE" in steady
    assert varied == "Too varied between turns to be read: ELECTRA-LARGE."


def test_rows_are_timed_in_batches_and_alone_and_leave_the_random_state(monkeypatch):
    built = []
    monkeypatch.setattr(costs, "build_members", lambda row, _: built.append(row) or [torch.nn.Embedding(30000, 2)])
    monkeypatch.setattr(torch.nn.Embedding, "forward", lambda self, input_ids: input_ids)
    state = torch.random.get_rng_state()
    settings = Settings(batch=2, tokens=8, repeats=2, rows=["base/albert", "mhs/3h1"])
    found = costs.measure(settings)
    assert list(found) == ["base/albert", "mhs/3h1"]
    assert built == ["base/albert", "mhs/3h1"] * 2  # rows take turns
    assert [found["mhs/3h1"][name] for name in ("batch", "tokens")] == [2, 8]
    assert len(found["mhs/3h1"]["seconds"]) == 2
    single = costs.measure_single(settings)
    assert list(single) == ["base/electra", "base/roberta", "mhs/3h1", "mhs/3h2", "mhs/3h4", "mhs/3h6"]
    assert {time["batch"] for time in single.values()} == {1}
    assert torch.equal(torch.random.get_rng_state(), state)
    with pytest.raises(ValueError, match=r"latency.rows: expected some of base/albert.*; got mhs/9h9"):
        costs.measure(settings, ["mhs/9h9"])


def test_with_a_short_last_layer_a_row_costs_its_other_layers():
    table = costs.counted("cerberus_table5", TOKENS).set_index("run")
    for run in ("base/electra", "mhs/3h1"):  # eleven whole layers of the base model's twelve, and one token's rest
        assert 11 / 12 < table.loc[run, costs.SHORT] < 11 / 12 + 0.004
    assert table.loc["base/albert", costs.SHORT] == table.loc["base/albert", costs.RATIO]  # reads no shorter
