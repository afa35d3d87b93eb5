"""Published scores: a Parquet file a run, which any pandas reads; knows no study.

Columns split, question_id, position, label; then `log_odds` in float32, or `score` in float64 where it is no P(correct)
or its order would turn; and, by the same rule a column, those of heads, exits and the last weights.

m pairs of a run's splits together
"""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import numpy
import pandas
import pyarrow
from pyarrow import parquet

from as2lib.metrics.probability import sigmoid
from as2lib.paths import file_sha256, whole_file

PAIR = ["split", "question_id", "position", "label"]


def write_scores(path: Path, tables: Mapping[str, pandas.DataFrame], probabilities: bool) -> None:
    """Leave the scores of a run, split after split, the same bytes whenever they are the same.

    probabilities: whether they are P(correct), kept as log odds.
    """
    whole = pandas.concat([table.assign(split=split) for split, table in tables.items()], ignore_index=True)
    question = whole.groupby(["split", "question_id"], sort=False).ngroup().to_numpy()
    content = whole[PAIR].astype({"question_id": str, "position": "int32", "label": "int8"})
    for name in whole.columns.drop(PAIR):
        scores = whole[name].to_numpy(dtype="float64")
        numbers = log_odds(scores, question) if probabilities else scores
        content["log_odds" if name == "score" and numbers.dtype == "float32" else name] = numbers
    numbers = [*content.columns.drop(PAIR)]
    content = pyarrow.Table.from_pandas(content, preserve_index=False).replace_schema_metadata(None)
    options = {"compression": "zstd", "compression_level": 19, "write_statistics": False, "store_schema": False}
    with whole_file(path) as temporary:
        parquet.write_table(content, temporary, use_dictionary=PAIR, use_byte_stream_split=numbers, **options)


# A split's pairs of a run that was made here: systems of several runs read each of them many times.
read = lru_cache(maxsize=128)(pandas.read_parquet)


@lru_cache(maxsize=128)
def read_scores(path: Path, digest: str, split: str) -> pandas.DataFrame:
    """A split's pairs with `score` and what else there is.  Raises ValueError for a file of another SHA-256."""
    if not path.exists() or file_sha256(path) != digest:
        raise ValueError(f"{path}: not as its index.json says; restore it, or publish its run again")
    table = pandas.read_parquet(path, filters=[("split", "==", split)]).drop(columns="split")
    for name in table.columns.drop(PAIR[1:]):
        if table[name].dtype == "float32":
            table[name] = sigmoid(table[name].to_numpy(dtype="float64"))
    return table.rename(columns={"log_odds": "score"}).dropna(axis="columns", how="all")


def log_odds(probability: numpy.ndarray, question: numpy.ndarray) -> numpy.ndarray:
    """The log odds of probabilities in float32; or what came, where that would turn an order or make a tie, and where a
    number is no probability.

    probability: (m,) float64, nan where there is none.  question: (m,), of which each is an order.
    """
    if not (numpy.nanmin(probability, initial=0.0) >= 0 and numpy.nanmax(probability, initial=0.0) <= 1):
        return probability
    with numpy.errstate(divide="ignore"):
        numbers = (numpy.log(probability) - numpy.log1p(-probability)).astype("float32")
    order = numpy.lexsort((probability, question))
    neighbours = question[order][1:] == question[order][:-1]
    ties = probability[order][1:] == probability[order][:-1]
    step = numpy.diff(sigmoid(numbers.astype("float64"))[order])
    alike = numpy.where(ties, step == 0, step > 0) | ~neighbours | numpy.isnan(step)
    return numbers if alike.all() else probability
