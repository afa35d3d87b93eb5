"""The operations that the frontier's tables count are those that the models do."""

import pytest
import torch
import yaml

from as2lib import Study
from as2lib.metrics.cost import forward_flops
from as2lib.models import cross_encoder, first_token
from as2lib.models.cascade import CascadeTransformer
from as2lib.models.mean import MeanForSequenceClassification
from as2lib.models.mhs import MHSForSequenceClassification
from as2lib.papers import costs
from tests.papers.conftest import tiny

WORDS = costs.Lengths(5.0, 12.0)
TOKENS = 5 + 12 + costs.SPECIAL


@pytest.fixture
def study(tmp_path, monkeypatch):
    params = tiny(tmp_path) | {"seeds": [0]}
    bases = [teacher["base"] for teacher in params["teachers"].values() if "base" in teacher]
    for encoder in (*params["teachers"].values(), *bases, params["student"]):
        encoder["config"]["embedding_size"] = encoder["config"]["hidden_size"]
    params["cascade"] = {"encoder": "base/roberta", "exits": [2, 4], "alphas": [0.5], "fit": params["fit"]}
    del params["cascade"]["fit"]["direct"]
    params["fit"] = tiny(tmp_path)["fit"]
    (tmp_path / "params").mkdir()
    (tmp_path / "params" / "tiny.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    monkeypatch.setenv("AS2_ROOT", str(tmp_path))
    return Study.load("tiny")


def operations(model):
    """Multiply-adds of one pair."""
    return forward_flops(model, {"input_ids": torch.zeros(1, TOKENS, dtype=torch.long)})


@pytest.mark.parametrize("prefix", ["base/electra", "base/albert", "mhs/3h1", "mhs/3h2", "teacher/roberta"])
def test_a_system_costs_what_its_model_computes(study, prefix):
    run = study.plan[f"{prefix}/seed-0"]
    model = first_token.reading(cross_encoder.build(costs.encoder(study, run)))
    if shape := run.spec.get("mhs"):
        model = MHSForSequenceClassification.from_backbone(model, shape["body"], shape["heads"])
    assert costs.work(study, run, WORDS).candidate == pytest.approx(operations(model))


@pytest.mark.parametrize("prefix", ["base/electra", "mhs/3h1", "mhs/3h2"])
def test_a_system_that_reads_the_mean_of_its_tokens_computes_them_all(study, prefix):
    study = Study.load("tiny", {"student.reads": "mean"})
    run = study.plan[f"{prefix}/seed-0"]
    model = MeanForSequenceClassification.from_classifier(cross_encoder.build(costs.encoder(study, run)))
    if shape := run.spec.get("mhs"):
        model = MHSForSequenceClassification.from_backbone(model, shape["body"], shape["heads"])
    assert costs.work(study, run, WORDS).candidate == pytest.approx(operations(model), rel=0.01)


def test_the_exits_of_a_cascade_read_every_token(study):
    run = study.plan["cascade/target/seed-0"]
    cascade = CascadeTransformer.from_backbone(cross_encoder.build(costs.encoder(study, run)), [2, 4])
    counted = costs.work(study, run, WORDS).candidate  # one exit's classifier among them
    assert counted == pytest.approx(operations(cascade), rel=0.01)
