import json

import pytest
import torch
from datasets import Dataset

from as2lib.data import sets
from as2lib.data.pairs import load_pairs
from as2lib.fit import loop, train
from as2lib.metrics.ranking import summary
from as2lib.models.cascade import CascadeTransformer
from as2lib.score import log_odds, score
from tests.fit import tiny
from tests.marks import BF16, needs_bf16

PAIRS, DEV, ENCODER = tiny.pairs(), tiny.pairs(8, seed=1), tiny.encoder()
SHORT = {"steps": 8, "learning_rate": 1e-3, "batch_size": 8, "evaluate_every": 2}


def fit(model=None, loss="ce", teachers=(), dev=DEV, **changes):
    model = tiny.classifier(dropout=0.1) if model is None else model
    return train(PAIRS, model, loss, teachers, dev, **{"encoder": ENCODER, **SHORT, **changes})


def same(a, b):
    return torch.equal(tiny.weights(a.model), tiny.weights(b.model))


def test_the_kept_weights_are_those_of_the_best_dev_map_and_the_last_ones_are_there_beside_them():
    seen = {}

    def keep(entry, model):
        seen[entry["step"]] = tiny.weights(model)

    result = fit(callbacks=[keep], steps=12)
    points = {entry["step"]: entry["dev_MAP"] for entry in result.log}
    best = max(points.values())
    assert result.facts["dev_MAP"] == best
    assert result.facts["best_step"] == min(step for step, value in points.items() if value == best)
    assert torch.equal(tiny.weights(result.model), seen[result.facts["best_step"]])
    assert result.facts["best_step"] < 12
    assert torch.equal(torch.cat([value.flatten() for value in result.last.values()]), seen[12])
    assert fit(dev=None).last is None


def test_the_exits_of_a_cascade_learn_as_its_schedule_says():
    model, learnt = CascadeTransformer.from_backbone(tiny.classifier(), (1, 2)), []
    model.register_forward_pre_hook(lambda _, read, asked: learnt.append(asked["only_exit"]), with_kwargs=True)
    fit(model, dev=None, steps=4, schedule="round_robin")
    assert learnt == [0, 1, 0, 1]


@pytest.mark.parametrize("precision", ["float32", BF16])
def test_the_dev_map_of_the_fit_is_that_of_ranking_later_also_where_probabilities_tie(precision):
    model = tiny.classifier()
    with torch.no_grad():
        model.classifier.out_proj.weight *= 10_000
    scores = score((result := fit(model, precision=precision)).model, DEV, ENCODER, precision)
    question, label = DEV["question_id"][:], DEV["label"][:]
    orders = (summary(question, label, of, "mixed")["MAP"] for of in (log_odds(scores.logits), scores.score))
    assert result.facts["dev_MAP"] == next(orders) > next(orders)


def test_a_fit_ends_where_a_callback_says_or_after_as_many_evaluations_without_a_better_one_as_patience_says():
    steps = []
    assert fit(callbacks=[lambda entry, _: steps.append(entry["step"]) or entry["step"] == 4 or 13]).facts["steps"] == 4
    assert steps == [2, 4]
    result = fit(learning_rate=1e-9, patience=2, steps=20)  # nothing moves
    assert result.facts["steps"] == 6
    assert result.facts["best_step"] == 2
    with pytest.raises(ValueError, match="patience"):
        fit(dev=None, patience=2)


def test_head_i_learns_from_teacher_i_and_the_log_has_the_parts_of_the_loss_one_a_head():
    teachers = tiny.logits(PAIRS, 2)
    alone = [fit(tiny.student(1), "per_head", [each], dev=None, steps=1).log[0]["soft"][0] for each in teachers]
    [entry] = fit(tiny.student(2), "per_head", teachers, dev=None, steps=1).log
    assert entry["soft"] == pytest.approx(alone, rel=1e-5)
    assert alone[0] != pytest.approx(alone[1], rel=1e-2)
    assert entry["total"] == pytest.approx(0.5 * sum(entry["hard"]) + 0.5 * 9 * sum(entry["soft"]), rel=1e-5)


def test_a_gradient_is_clipped_to_one_length_and_without_one_no_weight_changes():
    def after(*factors):
        scale = iter(factors * 4)
        return tiny.weights(fit(loss=lambda output, targets: next(scale) * output.logits[:, 1].sum(), dev=None).model)

    torch.testing.assert_close(after(1e3, 1e6), after(1e3, 1e3), atol=1e-3, rtol=0)
    assert torch.equal(after(0, 0), tiny.weights(tiny.classifier()))


@pytest.mark.parametrize(("warmup", "ratio", "nothing"), [(0.1, None, True), (0.0, None, False), (0.1, 32.0, False)])
def test_the_first_step_of_a_warm_up_moves_nothing_but_that_of_a_slanted_triangle_does(warmup, ratio, nothing):
    step = {"steps": 20, "evaluate_every": 1, "warmup": warmup, "callbacks": [lambda entry, model: True]}
    assert torch.equal(tiny.weights(fit(**step, ratio=ratio).model), tiny.weights(tiny.classifier())) == nothing


def test_the_same_seed_gives_the_same_bytes_whatever_the_caller_had_set():
    usual, model = fit(), tiny.classifier(dropout=0.1)
    torch.manual_seed(99)
    torch.rand(7)
    assert same(fit(model), usual)
    assert not torch.are_deterministic_algorithms_enabled()
    assert not same(fit(seed=1), usual)


@pytest.mark.parametrize(("loss", "precision"), [("ce", "float32"), pytest.param("ranknet", "bf16", marks=needs_bf16)])
def test_a_killed_fit_ends_with_the_weights_and_the_log_of_an_uninterrupted_one(tmp_path, monkeypatch, loss, precision):
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", 0.0)
    whole = fit(loss=loss, precision=precision, steps=11)
    settings = {"loss": loss, "precision": precision, "steps": 11, "folder": tmp_path}
    for steps in (3, 4):  # what each attempt manages before it is killed
        with pytest.raises(IndexError):
            fit(dying(steps), **settings)
    again = fit(**settings)
    assert same(again, whole)
    assert again.facts["best_step"] == whole.facts["best_step"]
    assert untimed(again.log) == untimed(whole.log)
    assert untimed(map(json.loads, (tmp_path / "log.jsonl").read_text().splitlines())) == untimed(whole.log)


def dying(steps):
    """A model that fails when it has trained for so many steps."""
    model, left = tiny.classifier(dropout=0.1), [None] * steps
    model.register_forward_pre_hook(lambda module, _: left.pop() if module.training else None)
    return model


def untimed(log):
    return [{name: value for name, value in entry.items() if name != "seconds"} for entry in log]


def test_a_checkpoint_of_another_fit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", 0.0)
    settings = {"loss": "kd", "teachers": tiny.logits(PAIRS), "folder": tmp_path, "steps": 2}
    fit(**settings)
    others = {"model": tiny.classifier(dropout=0.2), "encoder": tiny.encoder(12), "dev": tiny.pairs(8, seed=2)}
    for name, other in (others | {"teachers": tiny.logits(PAIRS, seed=6)}).items():
        with pytest.raises(ValueError, match="another folder"):
            fit(**settings | {name: other})
    own = {"loss": torch.nn.CrossEntropyLoss(torch.ones(2)), "folder": tmp_path / "own", "steps": 2}
    assert same(fit(**own), fit(**own))
    with pytest.raises(ValueError, match="another folder"):
        fit(**own | {"loss": torch.nn.CrossEntropyLoss(torch.tensor([1.0, 9.0]))})


@pytest.mark.parametrize(
    "name", "steps epochs batch_size batch_tokens learning_rate tau alpha unit warmup patience".split()
)
def test_a_number_that_means_nothing_is_refused_by_its_name(name):
    for value in (-1, float("nan")):
        with pytest.raises(ValueError, match=name):
            fit(**{name: value})


@pytest.mark.parametrize("label", [0, 1])
def test_what_says_nothing_or_is_learnt_is_no_dev_set_unless_that_is_allowed(label, capsys):
    alike = load_pairs([{**row, "label": label} for row in PAIRS.to_list()], questions="all")
    sets.note.cache_clear()
    result = fit(dev=alike)
    assert (result.facts["dev_MAP"], result.facts["best_step"], result.last) == (None, None, None)
    assert "the last weights are kept" in capsys.readouterr().err
    with pytest.raises(ValueError):
        train(alike, tiny.classifier(), encoder=ENCODER, **SHORT)
    with pytest.raises(ValueError):  # questions that are learnt
        fit(dev=PAIRS)
    assert fit(dev=PAIRS, allow_shared_questions=True).facts["dev_MAP"] is not None


def test_pairs_in_any_form_are_those_that_load_pairs_reads_every_question_and_logits_are_of_its_rows(tmp_path):
    table, options = PAIRS.to_pandas(), {"dev": DEV, "encoder": ENCODER, **SHORT}
    table.loc[table["question_id"] == table["question_id"][0], "label"] = 0
    table.to_parquet(tmp_path / "my.parquet")
    expected = train(load_pairs(table, questions="all"), tiny.classifier(), "ranknet", **options)
    assert expected.facts["pairs"] == len(PAIRS)
    apart = table.loc[table.groupby("question_id").cumcount().sort_values(kind="stable").index]
    truths = Dataset.from_pandas(table.assign(label=table["label"].map(["false", "true"].__getitem__)))
    for form in (table, apart, Dataset.from_pandas(table).with_format("arrow"), truths, tmp_path / "my.parquet"):
        assert same(train(form, tiny.classifier(), "ranknet", **options), expected)
    with pytest.raises(ValueError, match="rows"):
        train(apart, tiny.classifier(), "kd", tiny.logits(PAIRS), **options)


DIVERGED = {
    "the loss": lambda output, targets: output.logits.sum() * float("nan"),
    "a gradient": lambda output, targets: (0 * output.logits.sum()).sqrt() * 0 + 1,  # 1, whose gradient is nan
}


@pytest.mark.parametrize("what", DIVERGED)
def test_a_loss_or_a_gradient_that_is_no_number_ends_the_fit_and_says_that_it_diverged(what):
    with pytest.raises(ValueError, match=f"training diverged: {what}"):
        fit(loss=DIVERGED[what], steps=1)


@pytest.mark.parametrize("loss", ["ce", "listwise_kl"])
def test_a_tiny_encoder_learns_from_pairs_and_from_whole_questions(loss):
    result = fit(tiny.classifier(), loss, steps=150, learning_rate=1e-2, evaluate_every=30)
    first, *_, last = result.log
    assert last["total"] < 0.6 * first["total"]
    assert result.facts["dev_MAP"] > 0.6
