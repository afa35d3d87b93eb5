"""Families of transformers as rankers: alone as in any batch, with one label and two, trained and read back."""

import numpy
import pytest
import torch
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

from as2lib import fit
from as2lib.data.encode import load_encoder, word_tokenizer
from as2lib.data.pairs import load_pairs
from as2lib.ranker import Ranker
from tests.encoders import RELATIVE
from tests.study.conftest import WORDS, write_pairs

SIZES = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "pad_token_id": 0}
SIZES |= {"intermediate_size": 24, "max_position_embeddings": 64}
UNPADDED = {name: size for name, size in SIZES.items() if name != "pad_token_id"}  # as many are
NARROW = {**SIZES, "embedding_size": 16}
KEYS = {**SIZES, "num_key_value_heads": 2, "head_dim": 8}
BOTH = {**SIZES, "decoder_layers": 2, "decoder_attention_heads": 2, "bos_token_id": 2}
BOTH |= dict.fromkeys(("eos_token_id", "decoder_start_token_id", "forced_eos_token_id"), 3)

FAMILIES = {
    **dict.fromkeys("bert bloom camembert deberta distilbert ernie eurobert mpnet opt".split(), SIZES),
    **dict.fromkeys("rembert roberta xlm xlm-roberta".split(), SIZES),
    **dict.fromkeys("albert electra roformer".split(), NARROW),
    **dict.fromkeys("gemma qwen2 qwen3".split(), KEYS),
    **dict.fromkeys(("gpt2", "gpt_neox", "openai-gpt"), UNPADDED),
    "bart": BOTH,
    "deberta-v2": {**SIZES, **RELATIVE},
    "funnel": {"vocab_size": 40, "d_model": 16, "n_head": 2, "d_head": 8, "d_inner": 24, "block_sizes": [1, 1]},
    "llama": {**KEYS, "pad_token_id": -1},  # as some public ones have it
    "longformer": {**SIZES, "attention_window": 8, "bos_token_id": 2, "sep_token_id": 3},
    "modernbert": {**SIZES, "global_attn_every_n_layers": 2, "local_attention": 8},
    "t5": {**SIZES, "d_kv": 8, "d_ff": 24, "eos_token_id": 3, "decoder_start_token_id": 0},
}
TRAINED = "albert bart bert deberta-v2 funnel gpt2 llama longformer modernbert mpnet roberta t5 xlm".split()
QUESTION = "where is the red ?"
LONG = "a lamp was here and it was a river of the north"
CANDIDATES = ["red", "the hill is red here", "the boat", LONG, "the boat is"]
ENDS = ["the hill [SEP] is red", "[SEP]", *CANDIDATES]  # a special token of the family in a text


def saved(family, folder, labels=2, side="right"):
    """A folder as transformers leaves it: random weights wide enough for scores that stand apart, and a tokenizer."""
    torch.manual_seed(0)
    config = AutoConfig.for_model(family, **FAMILIES[family])
    config.num_labels = labels
    model = AutoModelForSequenceClassification.from_config(config)
    for weights in model.parameters():
        if weights.dim() > 1:
            torch.nn.init.normal_(weights, std=0.3)
    words = word_tokenizer([*CANDIDATES, QUESTION, " ".join(WORDS)], 48)
    words.padding_side, words.eos_token = side, "[SEP]"
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def by_position(ranked):
    return [one.log_odds for one in sorted(ranked, key=lambda one: one.position)]


def assert_alone_as_in_a_batch(folder):
    ranker = Ranker.load(folder)
    alone = [ranker.rank(QUESTION, [text])[0].log_odds for text in CANDIDATES]
    assert numpy.std(alone) > 1e-3  # the texts are told apart
    numpy.testing.assert_allclose(by_position(ranker.rank(QUESTION, CANDIDATES)), alone, atol=1e-5, rtol=1e-5)
    numpy.testing.assert_allclose(by_position(ranker.rank(QUESTION, CANDIDATES, batch_size=2)), alone, atol=1e-5)


@pytest.fixture(scope="module", params=FAMILIES)
def folder(request, tmp_path_factory):
    return saved(request.param, tmp_path_factory.mktemp(request.param))


def test_a_pair_scores_alone_as_in_any_batch_padded_right_or_left(folder, tmp_path):
    assert_alone_as_in_a_batch(folder)
    family = AutoConfig.from_pretrained(folder).model_type
    assert_alone_as_in_a_batch(saved(family, tmp_path, labels=1, side="left"))


@pytest.mark.parametrize("folder", TRAINED, indirect=True)
def test_a_trained_model_comes_back_from_its_folder(folder, tmp_path):
    settings = {"steps": 3, "batch_size": 8, "learning_rate": 1e-3}
    pairs = load_pairs(write_pairs(tmp_path / "my.tsv", questions=12))
    result = fit.train(pairs, folder, dev=pairs, allow_shared_questions=True, **settings)
    result.save(tmp_path)
    again = by_position(Ranker.load(tmp_path).rank(QUESTION, CANDIDATES))
    expected = by_position(Ranker(result.model, result.encoder).rank(QUESTION, CANDIDATES))
    numpy.testing.assert_allclose(again, expected, atol=1e-5)
    assert_alone_as_in_a_batch(tmp_path)


def test_a_special_token_in_a_text_is_scored_as_transformers_does_and_changes_no_other_text(folder):
    ranker = Ranker.load(folder)
    if ranker.model.config.is_encoder_decoder:  # which wants as many ends in each pair
        with pytest.raises(ValueError, match="<eos>"):
            ranker.rank(QUESTION, ENDS)
        return
    scores = by_position(ranker.rank(QUESTION, ENDS))
    numpy.testing.assert_allclose(scores[2:], by_position(ranker.rank(QUESTION, CANDIDATES)), atol=1e-5, rtol=1e-5)
    words = AutoTokenizer.from_pretrained(folder)
    plain = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=2).eval()
    for text, score in zip(ENDS, scores, strict=True):
        batch = words(QUESTION, text, return_tensors="pt")
        batch = {name: batch[name] for name in load_encoder(folder).tokenizer.model_input_names}
        with torch.inference_mode():
            logits = plain(**batch).logits.double()
        assert score == pytest.approx(float(logits[0, 1] - logits[0, 0]), abs=1e-4), text


def test_a_family_whose_scores_depend_on_the_padding_is_refused(tmp_path, monkeypatch):
    monkeypatch.setitem(FAMILIES, "fnet", SIZES)
    with pytest.raises(ValueError, match=r"^fnet: expected a family whose scores do not depend on padding"):
        Ranker.load(saved("fnet", tmp_path))
