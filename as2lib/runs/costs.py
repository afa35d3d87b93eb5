"""Operations of a ranker from its sizes alone: multiply-adds of its matrix products; loads no model, reads no score.

Letters: Q, A words of a question and of a candidate · n tokens of a pair · w hidden units · d dimensions of a word's
vector · f filters.  A word counts as a token; look-ups, norms and classifiers are left out.
"""

from typing import TYPE_CHECKING, NamedTuple

from as2lib.data.pairs import load_parts
from as2lib.runs.estimate import sizes
from as2lib.runs.run import Run

if TYPE_CHECKING:
    from as2lib.study import Study

SPECIAL = 3  # tokens that an encoder puts around a question and a candidate
WINDOW, WINDOWS = 5, 1 + 2 + 3 + 4 + 5  # Cosinet's window of words, and those of Compare-Aggregate's five together
GATES = {"rnn": 1, "lstm": 4}


class Lengths(NamedTuple):
    """Words: of a question, mean over questions, and of a candidate, mean over pairs."""

    question: float
    candidate: float


# The answered questions of known test sets, counted once, so that costs need no texts.
KNOWN = {
    "wikiqa:test": Lengths(6.27, 22.52),
    "trecqa:test": Lengths(8.63, 25.61),
    "selqa:test": Lengths(11.08, 25.04),
}


class Work(NamedTuple):
    """Multiply-adds: of a candidate, and once for all candidates of a question."""

    candidate: float
    question: float = 0.0


def stated(study: "Study") -> Lengths | None:
    """Of the target's test set where it is a known one."""
    return KNOWN.get(study.data.target.test[0]) if len(study.data.target.test) == 1 else None


def lengths(study: "Study") -> Lengths:
    """Of the target's test set: stated for a known one, else counted in its texts, split at blanks."""
    if (known := stated(study)) is not None:
        return known
    pairs = load_parts(tuple(study.data.target.test), "answered").to_pandas()
    words = {column: pairs[column].str.split().str.len() for column in ("question", "answer")}
    return Lengths(words["question"].groupby(pairs["question_id"]).first().mean(), words["answer"].mean())


def work(study: "Study", run: Run, words: Lengths) -> Work:
    """What a run computes to rank; an ensemble as much as its members together, a trivial ranker nothing."""
    if run.kind == "lexical":
        return Work(0.0)
    if run.kind == "ensemble":
        parts = [work(study, study.plan[name], words) for name in run.parents["members"]]
        return Work(sum(part.candidate for part in parts), sum(part.question for part in parts))
    if "words" in run.spec:
        return without_transformer(run.spec["words"], words)
    layers, width, inner = encoder(study, run)
    return Work(layers * layer(width, inner, tokens(study, words)))


def tokens(study: "Study", words: Lengths) -> float:
    """Of a pair of mean words, as an encoder reads it."""
    return min(words.question + words.candidate + SPECIAL, study.data.max_length)


def layer(width: int, inner: int, tokens: float) -> float:
    """One layer over one pair: n · (4 w² + 2 w · inner), and 2 n² w for attention's products of tokens."""
    return tokens * (4 * width**2 + 2 * width * inner + 2 * tokens * width)


def encoder(study: "Study", run: Run) -> tuple[int, int, int]:
    """Layers that a run computes for a pair, those of all its heads too, hidden units, feed-forward units."""
    lineage, shape = study.store.lineage(run.name), run.spec.get("mhs")
    depth, width, inner = sizes(lineage[0].spec["backbone"])
    depth = next((step.spec["layers"] for step in reversed(lineage) if "layers" in step.spec), depth)
    return shape["body"] + shape["heads"] * (depth - shape["body"]) if shape else depth, width, inner


def without_transformer(spec: dict, words: Lengths) -> Work:
    """Cosinet reads a question once for all its candidates, Compare-Aggregate attends from each candidate.

    Cosinet: 5 (d + 1) f a word, and d · Q · A for the cosines.  Compare-Aggregate: 2 d f a word for the projection,
    3 f · Q · A for attention, 15 f² a word of the pair for the five windows.  Then the rank RNN, a step a candidate.
    """
    asked, said, f, d = words.question, words.candidate, spec["hidden"], spec["vectors"]["dimensions"]
    if spec["type"] == "cosinet":
        a_word, width, units = WINDOW * (d + 1) * f, f, f
        each = a_word * said + (d * asked * said if spec.get("related", True) else 0)
    else:
        a_word, width, units = 2 * d * f, 5 * f, 2 * f
        each = a_word * said + 3 * f * asked * said + WINDOWS * f**2 * (asked + said)
    if kind := spec["rank_rnn"]:
        each += GATES[kind] * units * (2 * width + (units / 2 if spec["bidirectional"] else units))
    return Work(each, a_word * asked)
