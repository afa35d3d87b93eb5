"""Operations that are counted on models without weights, against closed formulas of their sizes."""

import pytest

from as2lib.papers.costs import Lengths, of_pair, on_words

# n tokens · d hidden units · f feed-forward units · a attention heads · e units of an embedding · c = 2 classes
N, D, F, A, LAYERS, C = 20, 16, 32, 2, 3, 2
SIZES = {"hidden_size": D, "intermediate_size": F, "num_hidden_layers": LAYERS, "num_attention_heads": A}
ENCODERS = [
    {"model_type": "electra", "embedding_size": D},
    {"model_type": "electra", "embedding_size": 12},
    {"model_type": "bert"},
    {"model_type": "roberta"},
    {"model_type": "xlm-roberta"},
    {"model_type": "albert", "embedding_size": D},
    {"model_type": "albert", "embedding_size": 8},
]


def formula(changes, every_token=False, body=LAYERS - 1, heads=1):
    """4 d² + 2 d f a token and 2 n d more in attention; of a last layer perhaps for the first token alone.

    ALBERT projects its embeddings whatever their width, ELECTRA those of another width.
    """
    layer = N * (4 * D**2 + 2 * D * F) + 2 * N**2 * D
    last = layer if every_token else 4 * D**2 + 2 * D * F + 2 * A * N * D
    width = changes.get("embedding_size", D)
    projection = N * width * D if width != D or changes["model_type"] == "albert" else 0
    head = (LAYERS - body - 1) * layer + last + D**2 + D * C
    return projection + body * layer + heads * head


@pytest.mark.parametrize("changes", ENCODERS, ids=lambda changes: "-".join(map(str, changes.values())))
@pytest.mark.parametrize("every_token", [False, True])
def test_a_pair_costs_what_the_formula_says(changes, every_token):
    assert of_pair(SIZES | changes, N, every_token) == formula(changes, every_token)


@pytest.mark.parametrize("family", ["electra", "bert", "roberta", "albert"])
@pytest.mark.parametrize(("body", "heads"), [(2, 1), (2, 3), (1, 2)])
def test_a_multiple_heads_student_pays_its_body_once_and_each_head_whose_last_layer_computes_one_token(
    family, body, heads
):
    changes = {"model_type": family, "embedding_size": D}
    assert of_pair(SIZES | changes, N, body=body, heads=heads) == formula(changes, body=body, heads=heads)


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
