"""Operations of a ranker from its sizes alone: multiply-adds of its matrix products; loads no model, reads no score.

Letters: Q, A words of a question and of a candidate · n tokens of a pair · w hidden units · d dimensions of a word's
vector · f filters.  A word counts as a token; look-ups and norms are left out, and the classifier of a model without a
transformer.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

from as2lib.metrics.cost import encoder_flops
from as2lib.study.run import Run

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


def lengths(study: "Study") -> Lengths:
    """Of the target's test set: stated for a known one, else counted in its texts, split at blanks."""
    parts = study.data.target.test
    if len(parts) == 1 and parts[0] in KNOWN:
        return KNOWN[parts[0]]
    from as2lib.data import load_parts

    pairs = load_parts(tuple(parts), "answered").to_pandas()
    words = {column: pairs[column].str.split().str.len() for column in ("question", "answer")}
    return Lengths(words["question"].groupby(pairs["question_id"]).first().mean(), words["answer"].mean())


def tokens(study: "Study", words: Lengths) -> float:
    """Of a pair of mean words, as an encoder reads it."""
    return min(words.question + words.candidate + SPECIAL, study.data.max_length)


def work(study: "Study", run: Run, words: Lengths) -> Work:
    """What a run computes to rank; an ensemble as much as its members together, a trivial ranker nothing."""
    if run.kind == "lexical":
        return Work(0.0)
    if run.kind == "ensemble":
        parts = [work(study, member, words) for member in run.parents["members"]]
        return Work(sum(part.candidate for part in parts), sum(part.question for part in parts))
    if run.kind == "shuffled":
        return work(study, run.parents["model"][0], words)
    if "words" in run.spec:
        return without_transformer(run.spec["words"], words)
    config, shape = encoder(study, run), run.spec.get("mhs", {})
    body, heads = shape.get("body"), shape.get("heads", 1)
    reads_first = all("cascade" not in step.spec for step in lineage(run))  # a cascade's exits read all tokens
    flops = encoder_flops(config, tokens(study, words), first_token=reads_first, body=body, heads=heads)
    return Work(flops / 2)  # a multiplication with its addition


def encoder(study: "Study", run: Run) -> dict[str, Any]:
    """The sizes of a run's encoder, as a configuration's fields, with the layers that the run keeps of it.

    They are what its fit recorded, so that they are known wherever its scores are.
    """
    first, *later = lineage(run)
    config = first.spec["backbone"].get("config") or study.run(run.name).facts["encoder"]
    layers = [step.spec["layers"] for step in (first, *later) if "layers" in step.spec]
    layers = [first.spec["backbone"].get("layers") or config["num_hidden_layers"], *layers][-1]
    return {**config, "num_hidden_layers": layers}


def lineage(run: Run) -> list[Run]:
    """The fits that a model went through, the first one first."""
    steps = [run]
    while "start" in steps[0].parents:
        steps.insert(0, steps[0].parents["start"][0])
    return steps


def without_transformer(spec: dict[str, Any], words: Lengths) -> Work:
    """Cosinet reads a question once for all its candidates, Compare-Aggregate attends from each candidate.

    Cosinet: 5 (d + 1) f a word, and d · Q · A for the cosines.  Compare-Aggregate: 2 d f a word for the projection,
    3 f · Q · A for attention, 15 f² a word of the pair for the five windows.  Then the rank RNN, a step a candidate.
    """
    f, d = spec["hidden"], spec["vectors"]["dimensions"]
    if spec["type"] == "cosinet":
        a_word, width, units = WINDOW * (d + 1) * f, f, f
        each = a_word * words.candidate
        if spec.get("related", True):
            each += d * words.question * words.candidate
    else:
        a_word, width, units = 2 * d * f, 5 * f, 2 * f
        each = a_word * words.candidate + 3 * f * words.question * words.candidate
        each += WINDOWS * f**2 * (words.question + words.candidate)
    if kind := spec["rank_rnn"]:
        each += GATES[kind] * units * (2 * width + (units / 2 if spec["bidirectional"] else units))
    return Work(each, a_word * words.question)
