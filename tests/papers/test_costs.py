"""Operations that are counted on models without weights, against closed formulas of their sizes."""

import pytest
import torch
import yaml

from as2lib import Study
from as2lib.metrics.cost import forward_flops
from as2lib.models import cross_encoder, first_token
from as2lib.models.cascade import CascadeTransformer
from as2lib.models.mean import MeanForSequenceClassification
from as2lib.models.mhs import MHSForSequenceClassification
from as2lib.papers import across, costs
from as2lib.papers.costs import Lengths, of_pair, on_words
from tests.papers.conftest import tiny

# n tokens · d hidden units · f feed-forward units · a attention heads · e units of an embedding · c = 2 classes
N, D, F, A, LAYERS, C = 20, 16, 32, 2, 3, 2
SIZES = {"hidden_size": D, "intermediate_size": F, "num_hidden_layers": LAYERS, "num_attention_heads": A}
ENCODERS = [("electra", D), ("electra", 12), ("bert", D), ("roberta", D), ("albert", D), ("albert", 8)]


def formula(family, width, every_token=False, body=LAYERS - 1, heads=1):
    """4 d² + 2 d f a token and 2 n d more in attention; of a last layer perhaps for the first token alone.

    ALBERT projects its embeddings whatever their width, ELECTRA those of another width.
    """
    layer = N * (4 * D**2 + 2 * D * F) + 2 * N**2 * D
    last = layer if every_token else 4 * D**2 + 2 * D * F + 2 * A * N * D
    projection = N * width * D if width != D or family == "albert" else 0
    head = (LAYERS - body - 1) * layer + last + D**2 + D * C
    return projection + body * layer + heads * head


@pytest.mark.parametrize(("family", "width"), ENCODERS)
@pytest.mark.parametrize("shape", [{}, {"every_token": True}, {"body": 2, "heads": 3}, {"body": 1, "heads": 2}])
def test_a_pair_costs_what_the_formula_says_its_body_once_and_one_token_of_each_heads_last_layer(family, width, shape):
    changes = {"model_type": family} | ({"embedding_size": width} if family in ("electra", "albert") else {})
    assert of_pair(SIZES | changes, N, **shape) == formula(family, width, **shape)


def test_cosinet_reads_a_question_once_and_compare_aggregate_with_each_candidate():
    f, d, question, candidate = 4, 7, 4, 10
    words = Lengths(question, candidate)
    spec = {"type": "cosinet", "hidden": f, "vectors": {"dimensions": d}, "rank_rnn": None, "bidirectional": False}
    work, score = on_words(spec, words), 2 * f
    # five words of a window, of d dimensions and the relatedness, which a pair has; once a row of zeros for each text
    pair = 5 * f * (candidate + question)
    assert work.candidate == 5 * d * f * candidate + d * question * candidate + pair + score
    assert work.question == 5 * d * f * (question + 1 + 1)
    birnn = on_words({**spec, "rank_rnn": "rnn", "bidirectional": True}, words)
    assert birnn.candidate == work.candidate - score + f + 2 * (f // 2) * (2 * f + f // 2)  # two directions of f / 2
    work = on_words({**spec, "type": "compare_aggregate", "rank_rnn": "lstm"}, words)
    attention, windows = 3 * f * question * candidate, 15 * f**2 * (question + candidate)
    rank = 4 * 2 * f * (10 * f + 2 * f) + 2 * f
    assert work.candidate == 2 * d * f * candidate + attention + windows + rank
    assert work.question == 2 * d * f * question + 2 * 15 * f**2


WORDS = costs.Lengths(5.0, 12.0)
TOKENS = 5 + 12 + costs.SPECIAL


@pytest.fixture
def own_study(tmp_path, monkeypatch):
    params = tiny(tmp_path) | {"seeds": [0]}
    bases = [teacher["base"] for teacher in params["teachers"].values() if "base" in teacher]
    for encoder in (*params["teachers"].values(), *bases, params["student"]):
        encoder["config"]["embedding_size"] = encoder["config"]["hidden_size"]
    fit = {name: params["fit"][name] for name in ("transfer", "adapt")}
    params["cascade"] = {"encoder": "base/roberta", "exits": [2, 4], "alphas": [0.5], "fit": fit}
    (tmp_path / "params").mkdir()
    (tmp_path / "params" / "tiny.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    monkeypatch.setenv("AS2_ROOT", str(tmp_path))


@pytest.mark.parametrize("reads", ["first", "mean"])
@pytest.mark.parametrize("prefix", ["base/electra", "base/albert", "mhs/3h1", "mhs/3h2", "cascade/target"])
def test_a_system_costs_what_its_model_computes(own_study, prefix, reads):
    study = Study.load("tiny", {"student.reads": reads})
    run = study.plan[f"{prefix}/seed-0"]
    model = cross_encoder.build(costs.encoder(study, run))
    if prefix.startswith("cascade"):
        model = CascadeTransformer.from_backbone(model, [2, 4])
    elif reads == "mean" and "albert" not in prefix:
        model = MeanForSequenceClassification.from_classifier(model)
    else:
        model = first_token.reading(model)
    if shape := run.spec.get("mhs"):
        model = MHSForSequenceClassification.from_backbone(model, shape["body"], shape["heads"])
    operations = forward_flops(model, {"input_ids": torch.zeros(1, TOKENS, dtype=torch.long)})  # of one pair
    rel = 0.01 if reads == "mean" or prefix.startswith("cascade") else 1e-6  # a classifier more, or less
    assert costs.work(study, run, WORDS).candidate == pytest.approx(operations, rel=rel)


@pytest.mark.parametrize("name", ["wikiqa", "selqa"])
def test_what_a_published_study_costs_and_which_answers_it_shares_are_known_without_texts(name, monkeypatch):
    def no_texts(*parts):
        raise FileNotFoundError(f"{parts} are not at hand")

    monkeypatch.setattr("as2lib.data.load_parts", no_texts)
    study = Study.load(name)
    assert costs.lengths(study).candidate > costs.lengths(study).question > 5
    assert len(across.shared_answers(study)) == {"wikiqa": 12, "selqa": 0}[name]
