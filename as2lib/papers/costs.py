"""What the costs of a study's rankers are counted by: true sizes, the words of its texts, the lengths of its lists."""

from functools import cache
from importlib.resources import files

import numpy
import pandas

from as2lib.metrics.cost import Lengths
from as2lib.study import Study, results

# Of the answered questions of known test sets, counted once, so that costs need no texts.
KNOWN = {
    "wikiqa:test": Lengths(6.27, 22.52),
    "trecqa:test": Lengths(8.63, 25.61),
    "selqa:test": Lengths(11.08, 25.04),
    "selqa:test=apart(selqa:dev=first80%)": Lengths(11.07, 25.05),
}

# Milliseconds of a million multiply-adds on one core of an EPYC: MiniLM-L6, 344.6 million for a pair of WikiQA, in
# `predicting` of reports/bench.json.
MS_A_MILLION = 0.0282


@cache
def sizes() -> dict[str, int]:
    """Row of CERBERUS's or Cosinet's tables → its trainable parameters at its true size, counted once: `sizes.csv`."""
    return pandas.read_csv(files("as2lib.papers") / "sizes.csv", index_col="run")["parameters"].to_dict()


def lengths(study: Study) -> Lengths:
    """Of the target's test set; words are split at blanks."""
    parts = study.data.target.test
    if len(parts) == 1 and (known := KNOWN.get(parts[0].removesuffix("=answered"))):
        return known
    from as2lib.data import load_parts

    pairs = load_parts(tuple(parts), "answered").to_pandas()
    words = {column: pairs[column].str.split().str.len() for column in ("question", "answer")}
    return Lengths(words["question"].groupby(pairs["question_id"]).first().mean(), words["answer"].mean())


def answered_sizes(table: pandas.DataFrame) -> numpy.ndarray:
    """How many candidates each question with a correct one has."""
    return results.answered(table).groupby("question_id", sort=False).size().to_numpy()
