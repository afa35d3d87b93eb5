"""Rankers that learn nothing, the floor under every table: shared words, first sentences, BM25, and chance.

Each takes the pair table (`question_id`, `question`, `answer`, and where it says so `label`), n rows, and gives one
float64 score a row, (n,).  Knows no loss and loads no data.
"""

from collections import Counter

import numpy as np
from datasets import Dataset

from as2lib.data.words import words_of
from as2lib.metrics.questions import Questions
from as2lib.metrics.ranking import CUTOFF


def word_overlap(pairs: Dataset) -> np.ndarray:
    """The number of distinct lower-cased words that question and answer share.

    Words are the tokens of spaCy's blank English tokenizer, punctuation included, nothing removed but white space.
    Source: the WO baseline of the Cosinet paper, after Yang et al. 2015.
    """
    words = {text: frozenset(line) for text, line in _words(pairs).items()}
    rows = zip(pairs["question"][:], pairs["answer"][:], strict=True)
    return np.array([len(words[question] & words[answer]) for question, answer in rows], dtype=np.float64)


def reciprocal_rank(pairs: Dataset) -> np.ndarray:
    """1 / the position of the candidate among those of its question, from 1: the first sentence is the best.

    Raises ValueError where the rows of a question do not stand together.
    Source: the RR baseline of the Cosinet paper.
    """
    return 1 / (1 + Questions.together(pairs["question_id"][:]).place)


def overlap_then_rank(pairs: Dataset) -> np.ndarray:
    """Word overlap, with equal overlaps in their original order: no two candidates of a question are tied.

    score = overlap + 1 / (1 + position), of which the second part is at most 1/2

    Raises ValueError as `reciprocal_rank`.
    Source: the WO+RR baseline of the Cosinet paper.
    """
    return word_overlap(pairs) + 1 / (2 + Questions.together(pairs["question_id"][:]).place)


def bm25(pairs: Dataset, k1: float = 1.2, b: float = 0.75) -> np.ndarray:
    """Okapi BM25 of each answer for its question, with Lucene's idf, which is never negative.

    score = sum over the question's words w of idf(w) * tf (k1 + 1) / (tf + k1 (1 - b + b * length / mean length))
    idf(w) = ln(1 + (N - df + 1/2) / (df + 1/2)),  tf: how often w stands in the answer,  df: in how many of N texts

    The N texts are the distinct answers.  Words are those of `word_overlap`.
    Source: Robertson and Zaragoza 2009.
    """
    words = _words(pairs)
    answer_counts = {answer: Counter(words[answer]) for answer in pairs.unique("answer")}
    frequency = Counter(word for counts in answer_counts.values() for word in counts)
    mean_length = sum(counts.total() for counts in answer_counts.values()) / len(answer_counts)

    def score(question: str, answer: str) -> float:
        counts = answer_counts[answer]
        norm = k1 * (1 - b + b * counts.total() / mean_length) if mean_length else 0.0
        total = 0.0
        for word in words[question]:
            if tf := counts[word]:
                idf = np.log1p((len(answer_counts) - frequency[word] + 0.5) / (frequency[word] + 0.5))
                total += idf * tf * (k1 + 1) / (tf + norm)
        return total

    rows = zip(pairs["question"][:], pairs["answer"][:], strict=True)
    return np.array([score(question, answer) for question, answer in rows], dtype=np.float64)


def expected_random(pairs: Dataset) -> dict[str, float | int]:
    """The exact expectation of each measure when every order of a question's n candidates is equally likely.

    With m correct ones, over the ranks r:
    P@1 = m / n;  nDCG@10 = m / n * sum over r <= min(10, n) of 1 / log2(1 + r), over its highest possible value
    AP = (H(n) + (m - 1) / (n - 1) * (n - H(n))) / n,  H(n) = 1 + 1/2 + ... + 1/n
    RR = sum over r of P(the first correct one stands at r) / r, hypergeometric

    Returns P@1, MAP, MRR, nDCG@10, and how many `questions` have a correct candidate; no others count.
    """
    groups = pairs.select_columns(["question_id", "label"]).to_pandas().groupby("question_id")["label"]
    counts = np.stack([groups.size(), groups.sum()])
    counts = counts[:, counts[1] > 0]
    (n, m), weight = np.unique(counts, axis=1, return_counts=True)  # equal counts have equal expectations
    harmonic = np.cumsum(1 / np.arange(1, n.max() + 1))[n - 1]
    gains = np.cumsum(1 / np.log2(1 + np.arange(1, CUTOFF + 1)))
    measures = {
        "P@1": m / n,
        "MAP": (harmonic + (m - 1) / np.maximum(n - 1, 1) * (n - harmonic)) / n,
        "MRR": _expected_rr(n, m),
        "nDCG@10": m / n * gains[np.minimum(n, CUTOFF) - 1] / gains[np.minimum(m, CUTOFF) - 1],
    }
    means = {name: float(np.average(values, weights=weight)) for name, values in measures.items()}
    return means | {"questions": counts.shape[1]}


def _expected_rr(n: np.ndarray, m: np.ndarray) -> np.ndarray:
    """E[1 / first] from P(none of the first r is correct) = C(n - r, m) / C(n, m), as a product over the ranks."""
    none_yet, expected = np.ones(len(n)), np.zeros(len(n))
    for rank in range(1, int(np.max(n - m)) + 2):
        left = np.maximum(n - rank + 1, 1)  # candidates that have not been placed
        still_none = none_yet * np.maximum(left - m, 0) / left
        expected += (none_yet - still_none) / rank
        none_yet = still_none
    return expected


def _words(pairs: Dataset) -> dict[str, list[str]]:
    """The words of each distinct question and answer."""
    texts = [*dict.fromkeys([*pairs["question"][:], *pairs["answer"][:]])]
    return dict(zip(texts, words_of(texts), strict=True))
