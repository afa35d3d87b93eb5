import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy
import pytest
import torch
from safetensors.torch import load_file
from transformers import TrainingArguments

from as2lib import Study
from as2lib.data.pairs import fingerprint, load_parts
from as2lib.losses.distillation import kd
from as2lib.models import load
from as2lib.runs import fit
from as2lib.runs.fit import teacher_logits, trainer
from as2lib.runs.fit.batches import GroupedBatches
from as2lib.runs.fit.objectives import objective
from as2lib.runs.fit.schedules import drawn_exit, step_inputs
from as2lib.runs.fit.trainer import RankingTrainer
from as2lib.runs.make import make, make_all
from as2lib.runs.store import Store
from as2lib.score import probability


def weights(store, name):
    return load_file(store.find(name).model_folder / "model.safetensors")


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def interrupted(store, name, monkeypatch, at):
    """Begin to make a run and die at a step, counted from 1; what else than pairs each step was given."""
    loss, given = RankingTrainer.compute_loss, []

    def dies(self, *args, **kwargs):
        given.append(self.step_inputs(self.state.global_step))
        if len(given) == at:
            raise KeyboardInterrupt
        return loss(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(RankingTrainer, "compute_loss", dies)
        with pytest.raises(KeyboardInterrupt):
            make(store, name)
    return given


def test_an_epoch_has_every_row_once_and_depends_on_seed_and_epoch_alone():
    length = numpy.random.default_rng(0).integers(4, 40, 101)
    batches = GroupedBatches(length, 8, 30, seed=5)
    epoch = batches.epoch(1)
    assert sorted(row for rows in epoch for row in rows) == list(range(101))
    assert epoch == GroupedBatches(length, 8, 99, seed=5).epoch(1)
    assert epoch != batches.epoch(0)
    assert epoch != GroupedBatches(length, 8, 30, seed=6).epoch(1)


def test_as_many_batches_come_as_there_are_steps():
    batches = GroupedBatches(numpy.arange(1, 21), 8, 7, seed=0)
    drawn = list(batches)
    assert len(drawn) == len(batches) == 7
    assert drawn[3:6] == batches.epoch(1)


def test_batches_hold_pairs_of_similar_length():
    length = numpy.random.default_rng(0).integers(4, 128, 2000)
    padded = sum(length[rows].max() * len(rows) for rows in GroupedBatches(length, 16, 0, 0).epoch(0))
    assert padded < 1.15 * length.sum()


def test_the_callers_threads_and_random_state_do_not_matter(root):
    store = Store(Study.load("tiny"))
    make_all(store, ["base/electra/seed-1"], progress=False)
    before = weights(store, "base/electra/seed-1")
    (store.folder("base/electra/seed-1") / "done.json").unlink()
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    torch.manual_seed(99)
    torch.rand(7)
    make(store, "base/electra/seed-1")
    assert torch.get_num_threads() == 3
    torch.set_num_threads(threads)
    assert same(before, weights(store, "base/electra/seed-1"))


class SeveralGPUs(TrainingArguments):
    """The Trainer's arguments on a machine with as many GPUs as torch says."""

    def __init__(self, **arguments):
        super().__init__(**arguments)
        self._n_gpu = torch.cuda.device_count()


def test_a_fit_has_one_gpu_and_whole_batches_where_several_are_visible(root, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    monkeypatch.setattr(trainer, "TrainingArguments", SeveralGPUs)
    loss, found = RankingTrainer.compute_loss, []

    def noted(self, model, inputs, **kwargs):
        found.append((type(model), len(inputs["labels"]), self.args.n_gpu))
        return loss(self, model, inputs, **kwargs)

    monkeypatch.setattr(RankingTrainer, "compute_loss", noted)
    store = Store(Study.load("tiny"))
    make_all(store, ["base/electra/seed-0"], progress=False)
    batch = store.planned("base/electra/seed-0").spec["training"]["batch_size"]
    assert {gpus for _, _, gpus in found} == {1}
    assert max(size for _, size, _ in found) == batch
    assert torch.nn.DataParallel not in {kind for kind, _, _ in found}


@pytest.mark.parametrize(
    ("name", "precision"),
    [("base/electra/seed-0", "float32"), ("base/electra/seed-0", "bf16"), ("direct/roberta-large/seed-0", "float32")],
)
def test_an_interrupted_run_resumes_and_ends_with_the_same_weights(root, monkeypatch, name, precision):
    store = Store(Study.load("tiny", {"precision": precision}))
    make_all(store, [name], progress=False)
    before, log = weights(store, name), [entry["step"] for entry in store.study.run(name).log()]
    (store.folder(name) / "done.json").unlink()
    interrupted(store, name, monkeypatch, at=5)
    step, steps = RankingTrainer.training_step, []
    monkeypatch.setattr(RankingTrainer, "training_step", lambda *given: steps.append(1) or step(*given))
    make(store, name)
    assert 0 < len(steps) < 6
    assert same(before, weights(store, name))
    assert [entry["step"] for entry in store.study.run(name).log()] == log


def test_the_kept_weights_are_those_of_the_best_dev_map(trained):
    run = trained.study.run("teacher/electra/seed-0")
    points = {entry["step"]: entry["dev_MAP"] for entry in run.log() if "dev_MAP" in entry}
    assert run.facts["dev_MAP"] == max(points.values())
    assert run.facts["best_step"] == min(step for step, value in points.items() if value == max(points.values()))


def test_the_log_has_the_parts_of_the_loss_one_a_head(trained):
    entries = [entry for entry in trained.study.run("mhs/3h1/seed-0").log() if "soft" in entry]
    assert len(entries) >= 3
    for entry in entries:
        assert len(entry["hard"]) == len(entry["soft"]) == 3
        expected = sum(0.5 * h + 0.5 * 9 * s for h, s in zip(entry["hard"], entry["soft"], strict=True))
        assert entry["total"] == pytest.approx(expected, rel=1e-5)


def test_teacher_logits_are_computed_once_and_belong_to_their_pairs(trained, monkeypatch):
    pairs = load_parts(tuple(trained.planned("mhs/3h1/seed-0").data["train"]))
    before = teacher_logits(trained.with_parents("teacher/electra/seed-0"), pairs, trained.precision)
    monkeypatch.setattr("as2lib.runs.fit.score", None)  # scoring again would fail
    assert numpy.array_equal(
        teacher_logits(trained.with_parents("teacher/electra/seed-0"), pairs, trained.precision), before
    )
    assert before.shape == (len(pairs), 2)
    fewer = pairs.select(range(4))
    assert fingerprint(fewer) != fingerprint(pairs)
    with pytest.raises(TypeError):
        teacher_logits(trained.with_parents("teacher/electra/seed-0"), fewer, trained.precision)


def test_two_students_that_ask_a_teacher_at_once_have_it_score_once(trained, monkeypatch):
    teacher = trained.with_parents("teacher/electra/seed-0")
    pairs = load_parts(tuple(trained.planned("mhs/3h1/seed-0").data["train"])).select(range(8))
    scored, begun, score = [], threading.Event(), fit.score

    def slow(*given):
        scored.append(begun.set())
        time.sleep(0.3)
        return score(*given)

    monkeypatch.setattr(fit, "score", slow)
    with ThreadPoolExecutor(2) as asking:
        first = asking.submit(teacher_logits, teacher, pairs, trained.precision())
        begun.wait()
        second = asking.submit(teacher_logits, teacher, pairs, trained.precision())
        assert numpy.array_equal(first.result(), second.result())
    assert len(scored) == 1


def test_what_is_not_needed_any_more_is_deleted(trained):
    folder = trained.folder("mhs/3h1/seed-0")
    assert sorted(path.name for path in folder.iterdir()) == ["done.json", "log.jsonl", "model", "scores", "spec.json"]
    assert not [path for path in folder.rglob("*") if path.suffix in {".bin", ".pt", ".pth", ".pkl"}]
    assert json.loads((folder / "spec.json").read_text())["identity"] == trained.identity("mhs/3h1/seed-0")


def test_an_ensemble_teaches_with_the_mean_probability_of_its_members(trained):
    pairs = load_parts(tuple(trained.planned("mhs/3h1/seed-0").data["train"]))
    members = [
        teacher_logits(trained.with_parents(f"teacher/{f}/seed-0"), pairs, trained.precision)
        for f in ("electra", "roberta", "albert")
    ]
    mean = numpy.mean([probability(logits) for logits in members], axis=0)
    found = teacher_logits(trained.with_parents("ensemble/teachers/seed-0"), pairs, trained.precision)
    numpy.testing.assert_allclose(probability(found), mean, rtol=1e-5)


def test_round_robin_follows_the_step(trained):
    logits = torch.randn(4, 2, generator=torch.Generator().manual_seed(0))
    teachers = torch.randn(4, 3, 2, generator=torch.Generator().manual_seed(1))
    targets = {"labels": torch.tensor([0, 1, 1, 0]), "teacher_logits": teachers}
    loss = objective({"loss": "kd_round_robin", "alpha": 0.5, "tau": 3})
    output = SimpleNamespace(logits=logits)
    totals = [loss(output, targets, step).total.item() for step in range(6)]
    assert totals[:3] == totals[3:]
    assert len(set(totals)) == 3
    expected = kd(logits, teachers[:, 1], targets["labels"], 0.5, 3).total.item()
    assert totals[4] == pytest.approx(expected)


def test_batches_bounded_by_tokens_hold_every_row_once_within_the_bound():
    length = numpy.random.default_rng(0).integers(4, 60, 300)
    length[7] = 500  # a pair longer than the bound comes alone
    batches = GroupedBatches(length, None, 9, seed=1, batch_tokens=200)
    epoch = batches.epoch(0)
    assert sorted(row for rows in epoch for row in rows) == list(range(300))
    assert [7] in epoch
    assert all(len(rows) * length[rows].max() <= 200 for rows in epoch if rows != [7])
    assert sum(len(rows) > 1 for rows in epoch) > 40
    assert epoch == GroupedBatches(length, None, 9, seed=1, batch_tokens=200).epoch(0)


def test_the_exit_of_a_step_depends_on_seed_and_step_alone():
    drawn = [drawn_exit("uniform", 5, step, 2000, 3) for step in range(2000)]
    assert drawn[700] == drawn_exit("uniform", 5, 700, 9999, 3)
    assert drawn != [drawn_exit("uniform", 5, step, 2000, 4) for step in range(2000)]
    assert numpy.bincount(drawn, minlength=5).min() > 340  # each about 400 times


def test_exits_in_turn_and_early_exits_first():
    assert [drawn_exit("round_robin", 3, step, 10, 0) for step in range(5)] == [0, 1, 2, 0, 1]
    early = numpy.array([drawn_exit("early", 3, step, 4000, 0) for step in range(4000)])
    first, later = (numpy.bincount(part, minlength=3) / len(part) for part in (early[:1200], early[1200:]))
    numpy.testing.assert_allclose(first, [4 / 7, 2 / 7, 1 / 7], atol=0.05)
    numpy.testing.assert_allclose(later, [1 / 3] * 3, atol=0.05)


def test_only_a_cascade_is_asked_for_an_exit():
    assert step_inputs({"loss": "ce"}, 10, 0)(3) == {}
    assert step_inputs({"cascade": {"exits": [1, 2]}, "schedule": "round_robin"}, 10, 0)(3) == {"only_exit": 1}
    with pytest.raises(ValueError, match="schedule: expected uniform"):
        step_inputs({"cascade": {"exits": [1, 2]}, "schedule": "late"}, 10, 0)


CASCADE = {
    "family": "electra",
    "exits": [1, 2],
    "transfer": {"train": "{root}/transfer.tsv", "dev": "{root}/dev.tsv", "test": "{root}/test.tsv"},
    "fit": {
        "transfer": {"steps": 6, "learning_rate": 1e-3, "batch_tokens": 100, "evaluate_every": 2},
        "adapt": {"steps": 4, "learning_rate": 1e-3, "batch_size": 8},
    },
}


def with_cascade(root, **changes):
    pairs = {split: path.format(root=root) for split, path in CASCADE["transfer"].items()}
    return Study.load("tiny", {"cascade": CASCADE | {"transfer": pairs}, **changes})


def test_a_cascade_is_trained_adapted_scored_by_exit_and_starts_from_the_first_layers(root):
    store = Store(with_cascade(root))
    make_all(store, ["cascade/target/seed-0", "monolith/1/wide/seed-0"], progress=False)
    table = store.study.run("cascade/target/seed-0").scores("test")
    assert list(table)[-3:] == ["score", "exit_1", "exit_2"]
    assert (table["score"] == table["exit_2"]).all()
    assert (table["exit_1"] != table["exit_2"]).any()
    model = load(store.find("cascade/target/seed-0").model_folder)
    assert model.config.exits == [1, 2]
    assert load(store.find("monolith/1/wide/seed-0").model_folder).config.num_hidden_layers == 1


def test_a_student_with_exits_is_trained_and_scored_by_exit(root):
    store, name = Store(with_cascade(root)), "mhs/3h1-no-teacher-exits/seed-0"
    make_all(store, [name], progress=False)
    found = store.study.run(name)
    assert list(found.scores("test"))[-2:] == ["score", "exit_1"]
    assert {"heads", "exits"} <= set(found.log()[0])
    model = load(store.find(name).model_folder)
    assert (model.config.model_type, model.config.exits) == ("mhs_cascade", [1])


def test_an_interrupted_cascade_ends_with_the_same_weights(root, monkeypatch):
    store, name = Store(with_cascade(root)), "cascade/wide/seed-0"
    make_all(store, [name], progress=False)
    before = weights(store, name)
    (store.folder(name) / "done.json").unlink()
    given = interrupted(store, name, monkeypatch, at=5)
    assert given == [{"only_exit": drawn_exit("uniform", 2, step, 6, 0)} for step in range(5)]
    make(store, name)
    assert same(before, weights(store, name))
