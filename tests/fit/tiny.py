"""A tiny encoder of two layers over a dozen words, and pairs that it can learn in a few steps."""

import numpy
import torch

from as2lib.data.encode import PairEncoder, word_tokenizer
from as2lib.data.pairs import load_pairs
from as2lib.models import cross_encoder
from as2lib.models.mhs import MHSForSequenceClassification

WORDS = "who wrote the book what is red blue big small old new one two three".split()
SIZES = {"model_type": "electra", "hidden_size": 16, "embedding_size": 16, "num_hidden_layers": 2}
SIZES |= {"num_attention_heads": 2, "intermediate_size": 24, "max_position_embeddings": 40}
SIZES |= {"pad_token_id": 0, "initializer_range": 0.2}


def pairs(questions=12, most=6, seed=0):
    """Questions of two to `most` candidates; a candidate is correct where it has the question's last word."""
    generator = numpy.random.default_rng(seed)
    rows = []
    for number in range(questions):
        question = generator.choice(WORDS, 4)
        for place in range(generator.integers(2, most + 1)):
            answer = generator.choice(WORDS, generator.integers(2, 9))
            if place == 0:
                answer[0] = question[-1]
            label = int(question[-1] in answer)
            ids = {"question_id": f"q{seed}-{number}", "label": label}
            rows.append({**ids, "question": " ".join(question), "answer": " ".join(answer)})
    return load_pairs(rows)


def encoder(max_length=24):
    return PairEncoder(word_tokenizer(WORDS, max_length), max_length)


def classifier(seed=0, dropout=0.0, **changes):
    torch.manual_seed(seed)
    drops = {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}
    return cross_encoder.build({**SIZES, "vocab_size": len(WORDS) + 5, **drops, **changes})


def student(heads=2, perturb=0.0):
    return MHSForSequenceClassification.from_backbone(classifier(), body=1, heads=heads, perturb=perturb)


def logits(pairs, teachers=1, seed=5):
    """What teachers might say: (m, 2) each."""
    generator = numpy.random.default_rng(seed)
    return [generator.normal(size=(len(pairs), 2)).astype("float32") for _ in range(teachers)]


def weights(model):
    return torch.cat([value.detach().flatten() for value in model.state_dict().values()])
