"""Published scores in few bytes: the pairs of a split once a study, beside them each run's log odds; knows no study.

m pairs of a run's splits together
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy
import pandas
import pyarrow
from pyarrow import parquet

from as2lib.metrics.probability import sigmoid
from as2lib.paths import whole_file

PAIR_COLUMNS = ["question_id", "position", "label"]
PRECISION = 1e-6  # what a published probability differs from the one that was computed, at most
BITS = (18, 20, 22, 24)  # of a float32's mantissa that are kept: from 18 on a probability is as near as that
COMPRESSION: dict[str, Any] = {"compression": "zstd", "compression_level": 19, "write_statistics": False}


def write_pairs(folder: Path, parts: Iterable[str], table: pandas.DataFrame) -> str:
    """Leave the pairs of a split in `folder`, named after its parts and what they hold; returns the file's name."""
    pairs = table[PAIR_COLUMNS].astype({"question_id": str, "position": "int32", "label": "int8"})
    digest = _digest(pairs)
    words = re.sub(r"\W+", "-", " ".join(parts)).strip("-")
    name = f"{words[:60]}-{digest}.parquet"
    if not (folder / name).exists():
        with whole_file(folder / name) as temporary:
            parquet.write_table(pyarrow.Table.from_pandas(pairs, preserve_index=False), temporary, **COMPRESSION)
    return name


@lru_cache(maxsize=16)
def read_pairs(path: Path) -> pandas.DataFrame:
    """The pairs of a split.  Raises ValueError where they are not those that the file's name says."""
    pairs = parquet.read_table(path).to_pandas()
    if not path.stem.endswith(_digest(pairs)):
        raise ValueError(f"{path}: holds other pairs than its name says; restore it, or publish its runs again")
    return pairs


def _digest(pairs: pandas.DataFrame) -> str:
    return sha256(pairs.to_csv(index=False).encode()).hexdigest()[:8]


def write_scores(
    path: Path, tables: Mapping[str, pandas.DataFrame], probabilities: bool, all_bits: bool = False
) -> None:
    """Leave the scores of a run, split after split, a column for `score` and each further one that a table has.

    probabilities: whether scores are P(correct), of which log odds are kept in float32; else they stay float64.
    all_bits: whether in all of its bits, where fewer would do for the scores themselves.
    """
    columns = list(dict.fromkeys(name for table in tables.values() for name in table if name not in PAIR_COLUMNS))
    whole = pandas.concat([table.assign(split=split) for split, table in tables.items()], ignore_index=True)
    question = whole.groupby(["split", "question_id"], sort=False).ngroup().to_numpy()
    packed = {name: whole[name].to_numpy(dtype="float64") for name in columns}
    if probabilities:
        bits = BITS[-1:] if all_bits else BITS
        packed = {name: log_odds(scores, question, bits) for name, scores in packed.items()}
    with whole_file(path) as temporary:
        options = COMPRESSION | {"use_dictionary": False, "use_byte_stream_split": columns, "store_schema": False}
        parquet.write_table(pyarrow.table(packed), temporary, **options)


def read_scores(path: Path, pairs: Mapping[str, pandas.DataFrame], split: str) -> pandas.DataFrame:
    """A split's pairs with the scores that `write_scores` left; a column that the split has not is left out.

    pairs: split → its pairs, in the order in which they were written.
    """
    start = 0
    for name, table in pairs.items():
        if name == split:
            break
        start += len(table)
    stored = parquet.read_table(path)[start : start + len(pairs[split])]
    table = pairs[split].copy()
    for name in stored.column_names:
        numbers = stored[name].to_numpy()
        scores = sigmoid(numbers.astype("float64")) if numbers.dtype == "float32" else numbers
        if not numpy.isnan(scores).all():
            table[name] = scores
    return table


def log_odds(probability: numpy.ndarray, question: numpy.ndarray, some_bits: Sequence[int] = BITS) -> numpy.ndarray:
    """The log odds of probabilities in as few bits as keep each within `PRECISION` and every question's order.

    probability: (m,) float64, nan where there is none.  question: (m,).  Returns float32; or what came, where even a
    whole float32 would turn an order or make a tie, and where a number is no probability.
    """
    if not (numpy.nanmin(probability, initial=0.0) >= 0 and numpy.nanmax(probability, initial=0.0) <= 1):
        return probability
    with numpy.errstate(divide="ignore"):
        exact = numpy.log(probability) - numpy.log1p(-probability)
    order = numpy.lexsort((probability, question))
    neighbours = question[order][1:] == question[order][:-1]
    ties = probability[order][1:] == probability[order][:-1]
    for bits in some_bits:
        mantissa, exponent = numpy.frexp(exact)
        rounded = numpy.ldexp(numpy.rint(numpy.ldexp(mantissa, bits)), exponent - bits).astype("float32")
        restored = sigmoid(rounded.astype("float64"))
        step = numpy.diff(restored[order])
        alike = numpy.where(ties, step == 0, step > 0) | ~neighbours | numpy.isnan(step)
        if alike.all() and numpy.nanmax(numpy.abs(restored - probability), initial=0.0) <= PRECISION:
            return rounded
    return probability
