"""Fits of a study as they are: models of two layers, a few steps; what they start from, learn from and leave."""

from collections import defaultdict
from dataclasses import replace

import numpy
import pytest
import torch
from scipy.special import logit

from as2lib import Study, models
from as2lib.data.pairs import load_parts
from as2lib.fit import teacher_logits
from as2lib.metrics.ranking import summary
from as2lib.models.ensemble import calibrated, calibrated_scores, fit_platt, log_shares, mean_logits
from as2lib.models.mhs import MHSForSequenceClassification
from as2lib.papers import row
from as2lib.papers.row import fit, with_heads
from as2lib.study import make
from as2lib.study.params import Training
from as2lib.study.run import Row, by_name
from as2lib.study.scores import combined
from tests.study.conftest import STEP, make_all, write_study


def systems(study) -> list[Row]:
    target, plain = row.splits(study.data.target), study.fit.direct
    teachers = ("teacher/electra", "teacher/listwise")
    first, roberta = row.transfer(study, "student"), row.transfer(study, "base/roberta")
    mean = Row("transfer/mean", "", "", **fields(roberta, reads="mean"), seeds=(0,))
    cascade = {"cascade": {"exits": [1, 2]}, "schedule": "round_robin"}
    half = {"train": target["train"], "test": target["test"]}
    pool = {"train": tuple(study.data.transfer.train), "test": target["test"]}
    heads = {"loss": "per_head", "teachers": teachers, "calibration": "platt", "perturb": True}
    words = {"type": "cosinet", "vectors": {"source": "random", "dimensions": 8}, "hidden": 6, "dropout": 0.0}
    words |= {"rank_rnn": "rnn", "bidirectional": True}
    epoch = Training(epochs=1, learning_rate=1e-3, batch_size=2)
    shuffled = {"kind": "shuffled", "spec": {}, "data": {"test": target["test"]}}
    every = {
        "teacher/electra": fit(study, "student"),
        "teacher/listwise": fit(study, "base/roberta", "listwise_kl", unit="question"),
        "ensemble/teachers": row.ensemble(study, teachers),
        "student/electra": fit(study, "student", "kd", ("ensemble/teachers",), calibration="platt"),
        "mhs/2h1": with_heads(study, 2, start="student", **heads),
        "mhs/mean": with_heads(study, 2, start=mean, **heads),
        "cascade/of-mean": fit(study, mean, **cascade),
        "cosinet/birnn": fit(study, loss="listwise_kl", training=epoch, unit="question", words=words),
        "shuffled/cosinet": {**shuffled, "parents": {"model": ("cosinet/birnn",)}},
        "cascade/target": fit(study, roberta, **cascade),
        "govern/fold": fit(study, first, data=half, training=plain, leave_out=[0, 4]),
        "govern/student": fit(study, first, "govern", ("teacher/electra", "govern/fold"), pool, plain, unlabelled=True),
    }
    return [Row(name, name, "", **of, seeds=(0,)) for name, of in every.items()]


def fields(row: Row, **changes) -> dict:
    """What another row has of this one, with a changed specification."""
    return {"kind": row.kind, "spec": {**row.spec, **changes}, "data": row.data, "parents": row.parents}


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A root whose study has made all of these, once."""
    root = write_study(tmp_path_factory.mktemp("fitted") / "root")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AS2_ROOT", str(root))
        patch.setattr(Study, "systems", property(lambda study: by_name(systems(study))))
        study = Study.load("tiny")
        make_all(study.store, list(study.plan))
        yield study


def test_a_run_leaves_a_model_scores_a_log_and_facts(fitted):
    stored = fitted.run("student/electra/seed-0")
    assert (stored.model_folder / "config.json").exists()
    assert [entry["step"] for entry in stored.log()] == [2, 4]
    assert stored.facts["dev_MAP"] == max(entry["dev_MAP"] for entry in stored.log())
    assert stored.facts["steps"] == STEP["steps"]
    assert stored.facts["encoder"]["num_hidden_layers"] == 2
    for split in ("dev", "test"):
        pairs, scores = load_parts(stored.run.data[split], "all"), stored.scores(split)
        assert scores["question_id"].tolist() == pairs["question_id"][:]
        assert scores["label"].tolist() == pairs["label"][:]
        assert scores["score"].between(0, 1).all()
    other = fitted.run("mhs/mean/seed-0")  # whose best step is not its last
    dev = other.scores("dev")
    for column, value in (("score", other.facts["dev_MAP"]), ("last", other.log()[-1]["dev_MAP"])):
        assert summary(dev["question_id"], dev["label"], dev[column], "mixed")["MAP"] == pytest.approx(value)


def test_an_ensemble_is_the_mean_of_probabilities_those_of_list_wise_members_calibrated(fitted):
    members = [fitted.run(name) for name in ("teacher/electra/seed-0", "teacher/listwise/seed-0")]
    ensemble = fitted.run("ensemble/teachers/seed-0")
    platt = ensemble.facts["calibration"]["teacher/listwise/seed-0"]
    plain, ordering = (member.scores() for member in members)
    mean = (plain["score"] + calibrated_scores(platt, ordering["score"], ordering["question_id"])) / 2
    assert ensemble.scores()["score"].to_numpy() == pytest.approx(mean.to_numpy())
    renamed = [replace(member, run=replace(member.run, name=f"another/{member.name}")) for member in members]
    same = combined(ensemble.run, ensemble.facts, renamed, "test")  # as another study may call them
    assert same["score"].equals(ensemble.scores()["score"])


@pytest.mark.parametrize("changes", [{}, {"leave_out": [0, 4]}, {"leave_out": [1, 4]}, {"unlabelled": True}], ids=str)
def test_a_student_is_asked_for_what_its_run_says_and_hears_each_teacher_of_its_own_pairs_list_wise_ones_calibrated(
    fitted, tmp_path, monkeypatch, changes
):
    heard = {}

    def train(pairs, model, loss, teachers, dev, **options):
        heard.update(pairs=pairs, model=model, teachers=teachers, dev=dev, options=options)
        raise InterruptedError

    changed = fields(fitted.systems["mhs/2h1"], alpha=0.9, tau=2.0, **changes)
    [run] = Row("mhs/fold", "", "", **changed, seeds=(3,)).runs(fitted)
    parents = fitted.store.parents(run)
    monkeypatch.setattr(make, "train", train)
    with pytest.raises(ValueError, match="expected other questions in "):
        make.fit(Study.load("tiny", {"data.allow_shared_questions": False}).store, run, tmp_path)
    with pytest.raises(InterruptedError):
        make.fit(fitted.store, run, tmp_path)
    plain, ordering = (teacher_logits(teacher.model_folder, heard["pairs"]) for teacher in parents["teachers"])
    dev = parents["teachers"][1].scores("dev")
    platt = fit_platt(dev["question_id"], dev["label"], dev["score"])
    expected = [plain, calibrated(platt, ordering, heard["pairs"]["question_id"][:])]
    for logits, wanted in zip(heard["teachers"], expected, strict=True):
        numpy.testing.assert_allclose(logits, wanted, atol=1e-5)
    of_ensemble = make.logits_of(fitted.store, run, fitted.run("ensemble/teachers/seed-0"), heard["pairs"], {})
    numpy.testing.assert_allclose(of_ensemble, mean_logits(expected), atol=1e-5)
    settings = {**run.spec["training"], "seed": 3, "alpha": 0.9, "tau": 2.0}
    assert {name: heard["options"][name] for name in settings} == settings
    assert set(heard["dev"]["question_id"]) < set(dev["question_id"])
    start = models.load(parents["start"][0].model_folder)
    whole = MHSForSequenceClassification.from_backbone(start, **run.spec["mhs"], seed=3).state_dict()
    assert all(torch.equal(value, whole[name]) for name, value in heard["model"].state_dict().items())


def test_fits_have_the_dropout_attention_and_precision_that_a_study_gives_them_and_scores_its_own(fitted, monkeypatch):
    monkeypatch.setattr("as2lib.score.native_bf16", lambda device: True)
    seen, trained, answered, score = defaultdict(set), make.train, make.teacher_logits, make.score

    def train(pairs, model, *arguments, **named):
        seen["precision"].add(named["precision"])
        seen["dropout"] |= {part.p for part in model.modules() if isinstance(part, torch.nn.Dropout)}
        seen["attention"] |= {part.config._attn_implementation for part in model.modules() if hasattr(part, "config")}
        return trained(pairs, model, *arguments, **named)

    monkeypatch.setattr(make, "train", train)
    monkeypatch.setattr(make, "teacher_logits", lambda *args: seen["answers"].add(args[2]) or answered(*args))
    monkeypatch.setattr(make, "score", lambda *args: seen["scores"].add(args[3]) or score(*args))
    changes = {"fit.dropout": 0.25, "fit.attention": "eager", "fit.precision": "bf16"}
    make_all(Study.load("tiny", changes).store, ["mhs/2h1/seed-0"], model=True)
    of_fits = {"dropout": {0.25}, "attention": {"eager"}, "precision": {"bf16"}, "answers": {"bf16"}}
    assert seen == of_fits | {"scores": {"float32"}}
    identities = {Study.load("tiny", {key: changes[key]}).store.identity("mhs/2h1/seed-0") for key in changes}
    assert len(identities - {fitted.store.identity("mhs/2h1/seed-0")}) == len(changes)


def test_a_model_that_reads_no_order_learns_the_same_from_shuffled_lists_in_the_original_rows(fitted):
    birnn = fitted.systems["cosinet/birnn"]
    spec = {**birnn.spec, "words": {**birnn.spec["words"], "rank_rnn": None, "bidirectional": False}}
    usual = replace(birnn, run="cosinet/list", spec=spec)
    shuffled = replace(birnn, run="cosinet/list-shuffled", spec={**spec, "shuffle": True})
    fitted.add([usual, shuffled])
    with pytest.raises(ValueError, match="two that differ"):
        fitted.add([replace(usual, spec={**spec, "alpha": 0.9})])
    [usual], [shuffled] = usual.runs(fitted), shuffled.runs(fitted)
    ours, theirs = (fitted.run(run.name).scores() for run in (shuffled, usual))
    assert fitted.store.identity(shuffled.name) != fitted.store.identity(usual.name)
    ours, theirs = (log_shares(logit(table["score"]), table["question_id"]) for table in (ours, theirs))
    assert ours == pytest.approx(theirs, abs=1e-4)


def test_a_run_s_ranker_gives_the_scores_that_the_run_left(fitted):
    pairs = load_parts(fitted.data.target.test, "all").to_pandas()
    name, rows = next(iter(pairs.groupby("question_id", sort=False)))
    for run in ("student/electra/seed-0", "mhs/2h1/seed-0", "cosinet/birnn/seed-0"):
        ours = fitted.run(run).scores().set_index("question_id").loc[name, "score"]
        ranked = fitted.ranker(run).rank(rows["question"].iloc[0], rows["answer"].tolist())
        assert [one.score for one in ranked] == pytest.approx(sorted(ours, reverse=True), abs=1e-6)


def test_a_fold_is_left_out_a_pool_is_read_whole_and_without_evaluations_the_last_weights_are_kept(fitted):
    answered = load_parts(fitted.data.target.train, "answered")
    questions = len(set(answered["question_id"][:]))
    fold = fitted.run("govern/fold/seed-0").facts
    assert fold["pairs"] == len(answered) - 4 * -(-questions // 4)
    assert (fold["dev_MAP"], fold["steps"]) == (None, STEP["steps"])
    pool = load_parts(fitted.data.transfer.train, "all")
    assert fitted.run("govern/student/seed-0").facts["pairs"] == len(pool)


def test_heads_and_exits_have_columns_of_their_own_and_models_read_what_they_start_from(fitted):
    assert {"head_0", "head_1"} <= set(fitted.run("mhs/2h1/seed-0").scores().columns)
    cascade = fitted.run("cascade/target/seed-0").scores()
    assert numpy.allclose(cascade["exit_2"], cascade["score"])
    names = ("transfer/mean", "mhs/mean", "cascade/of-mean")
    mean, heads, exits = (models.load(fitted.run(f"{name}/seed-0").model_folder).config for name in names)
    assert mean.model_type == "mean"
    assert (heads.reads, heads.body, heads.heads) == ("mean", 1, 2)
    assert (exits.exits, exits.backbone["model_type"]) == ([1, 2], "roberta")
