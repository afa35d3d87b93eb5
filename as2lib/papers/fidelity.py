"""The papers' checkable numbers beside what we compute of them: counts, costs, sizes and the sums of their own tables.

`published/fidelity.csv` of each paper says a number, where it stands, and by which function of `COMPUTED`, from which
argument, it is computed. Where a set's texts are not at hand, published scores say what they can of it; what they
cannot is "not here". Nothing is fetched.
"""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import numpy
import pandas

from as2lib.data.pairs import load_pairs
from as2lib.data.sources import HUB_SETS, split_part
from as2lib.metrics import ranking
from as2lib.metrics.cost import cascade_cost, parameters, sequential_cost
from as2lib.metrics.pruning import survivors
from as2lib.models import lexical
from as2lib.papers.cascade.systems import PAPER_EXITS as EXITS
from as2lib.paths import local_folder
from as2lib.runs.costs import layer
from as2lib.runs.results import PAPERS_SETS, published
from as2lib.runs.texts import scored_by, scored_pairs
from as2lib.runs.wording import begin, some

if TYPE_CHECKING:
    from datasets import Dataset

    from as2lib.study import Study

NAMES = {"cerberus": "CERBERUS", "cascade": "Cascade Transformer", "cosinet": "Cosinet", "govern": "GOVERN"}
STATES = ["differs", "agrees", "not here"]
DEPTH = EXITS[-1]
NEAR = 0.01  # a relative difference of a size up to this agrees: how a vocabulary is counted is not printed
TOKENS = 128  # of a pair, in counts of operations
NO_SHARE = ("year", "TFLOP/s")  # a date and a limit, from which no percentage leads to what is computed
# Questions, pairs and correct candidates of training sets, which no run scores: of the pairs that have
# `sources.FINGERPRINTS`.
TRAINING = {"wikiqa train answered": (873, 8672, 1040), "trecqa train all": (93, 4718, 348)}
APART = ("wikiqa", "selqa", "trecqa")  # of these pairs no two splits, of one set or of two, share a question's text
TRAINING_CAPTION = "Of WikiQA's training set, where it is not here, the counts are those of its published pairs."
WORDS, PLACES = 50265, 514  # the vocabulary and positions of RoBERTa, which the teachers of GOVERN are taken to have
CAPTION = (
    "State: agrees within half a unit of the last printed digit, sizes and operations of models also within 1 %; "
    "differs; not here: needs a data set that is not at hand. Operations are multiplications and additions of matrix "
    "products for a pair of 128 tokens."
)


def table(study: "Study") -> pandas.DataFrame:
    """One row a number, index `paper`: quantity, published, computed, difference %, state, note, source.

    Those that differ stand first.
    """
    found = pandas.concat([published(f"{paper}_fidelity").assign(paper=name) for paper, name in NAMES.items()])
    found["computed"] = [computed(study, row.by, str(row.of)) for row in found.itertuples()]
    share = 100 * (found["computed"] / found["published"] - 1)
    found["difference %"] = share.where(~found["by"].isin(NO_SHARE))
    found["state"] = [_state(row) for row in found.itertuples()]
    columns = ["quantity", "published", "computed", "difference %", "state", "note", "source"]
    found = found.fillna({"note": ""}).set_index("paper")[columns]
    return found.sort_values("state", key=lambda states: states.map(STATES.index), kind="stable")


def _state(row) -> str:
    if pandas.isna(row.computed):
        return "not here"
    half, near = 0.5 * 10.0 ** -int(row.digits), NEAR * abs(row.published) if row.by in SIZES else 0.0
    return "agrees" if abs(row.computed - row.published) <= max(half + 1e-9, near) else "differs"


def counts(table: pandas.DataFrame) -> pandas.DataFrame:
    """How many numbers of each paper agree, differ or are not here.  table: from `table`."""
    found = pandas.crosstab(table.index, table["state"])
    return found.reindex(index=NAMES.values(), columns=STATES, fill_value=0).rename_axis("paper")


def sentences(table: pandas.DataFrame) -> list[str]:
    states, differing = table["state"].value_counts(), table[table["state"] == "differs"]
    words = {"agrees": "agree", "differs": "differ", "not here": "need a data set that is not here"}
    counted = ", ".join(f"{states[state]} {word}" for state, word in words.items() if state in states)
    said = [f"Of {len(table)} numbers of the papers that can be checked, {counted}."]
    if len(differing):
        noted = some((differing["note"] != "").sum(), len(differing))
        said.append(f"Of those that differ, a note says why or how for {noted}.")
    return said


def computed(study: "Study", by: str, of: str) -> float:
    """What `COMPUTED[by]` gives for the words of `of`, or `OF_PAIRS[by]` from the study; nan without its pairs."""
    if by == ARITHMETIC:
        return float(pandas.eval(of))
    try:
        return float(OF_PAIRS[by](study, of) if by in OF_PAIRS else COMPUTED[by](*map(_argument, of.split())))
    except FileNotFoundError:
        return numpy.nan


def _argument(word: str) -> float | str:
    try:
        return float(word)
    except ValueError:
        return word  # the name of a row


# --- sizes and operations; torch is imported where it counts, since reading a claim needs none


@cache
def size(name: str) -> int:
    """Trainable parameters of a row of CERBERUS's or Cosinet's tables at its true size; "bert": ELECTRA-BASE, alike."""
    import torch

    from as2lib.models.compare_aggregate import CompareAggregate
    from as2lib.models.cosinet import Cosinet
    from as2lib.papers.cerberus.true_sizes import build_members
    from as2lib.papers.cosinet.systems import SHAPES

    encoder, _, shape = name.partition("/")
    if encoder in ("cosinet", "ca"):
        _, _, rank_rnn, bidirectional = SHAPES[shape]
        fields = {"rank_rnn": rank_rnn, "bidirectional": bidirectional}
        return parameters({"cosinet": Cosinet, "ca": CompareAggregate}[encoder](torch.zeros(1, 300).numpy(), **fields))
    return sum(map(parameters, build_members("base/electra" if name == "bert" else name, "meta")))


@cache
def operations(row: str) -> int:
    """Multiplications and additions of the layers' matrix products for a pair, in each model of the row.

    Source: the shapes of a transformer layer; `cerberus.costs.count`, which runs the models, is within 1 %.
    """
    from as2lib.papers.cerberus.true_sizes import members

    total = 0
    for config in members(row):
        heads = getattr(config, "heads", 1)
        encoder = config.backbone if hasattr(config, "heads") else config.to_dict()
        depth, width = encoder["num_hidden_layers"], encoder["hidden_size"]
        body = getattr(config, "body", 0)  # the layers that the heads share
        total += (body + heads * (depth - body)) * 2 * layer(width, 4 * width, TOKENS)
    return total


def encoder_size(layers: float, width: float) -> float:
    """Millions of parameters of such an encoder with RoBERTa's vocabulary and positions."""
    return (layers * (12 * width**2 + 13 * width) + (WORDS + PLACES + 3) * width) / 1e6


# --- the cascade


def cascade_percent(method: str, number: float) -> float:
    """CT or SR at an alpha, or MT of so many layers: layers computed, in percent more (+) or fewer (−) than by all."""
    if method == "MT":
        return 100 * (number / DEPTH - 1)
    return 100 * ({"CT": cascade_cost, "SR": sequential_cost}[method](DEPTH, EXITS, number) - 1)


def average_batch(candidates: float, alpha: float) -> float:
    return candidates * cascade_cost(DEPTH, EXITS, alpha, candidates)


def throughput(candidates: float, alpha: float, largest: float) -> float:
    """Percent more candidates than the largest batch, where the average batch of a layer fits."""
    return 100 * (candidates / largest - 1) if average_batch(candidates, alpha) <= largest else 0.0


# --- data


@cache
def mapped(source: str, split: str) -> "Dataset | None":
    """Every pair of a known set that is mapped to a local folder; nothing is fetched."""
    here = source in HUB_SETS and local_folder(HUB_SETS[source].name)
    return load_pairs(source, split, "all") if here else None


def of_set(study: "Study", of: str) -> float:
    """of: "wikiqa test answered | candidates a question"; nan of what the pairs at hand do not say."""
    from as2lib.papers.cerberus.sets import statistics

    where, _, quantity = of.partition(" | ")
    source, split, policy = where.split()
    if pairs := mapped(source, split) or scored_pairs(study, [f"{source}:{split}"]):
        found = statistics(pairs)
        answered = 100 * found["questions"]["answered"] / found["questions"]["all"]
        return {**found.loc[policy], "answered %": answered}.get(quantity, numpy.nan)
    return _training().get(where, {}).get(quantity, numpy.nan)


def _training() -> pandas.DataFrame:
    """`TRAINING`, a column a set, with the rates that follow from it."""
    from as2lib.papers.cerberus.sets import COUNTS, RATES

    counts = pandas.DataFrame(TRAINING, COUNTS)
    return pandas.concat([counts, (counts.iloc[1:] / counts.iloc[0]).set_axis(RATES)])


def with_training(sets: pandas.DataFrame) -> pandas.DataFrame:
    """`published_sets.papers_sets` with what `TRAINING` has of the splits that are not here."""
    sets, titles = sets.copy(), sets.index
    for where, known in _training().items():
        source, split, policy = where.split()
        rows = (titles == PAPERS_SETS[source]) & (sets["split"] == split) & (sets["questions kept"] == policy)
        rows &= sets["questions"].isna() & (sets["in this study"] == "not here")
        sets.loc[rows, known.index] = known.to_numpy()
    return sets


def seen(study: "Study", test: "Dataset") -> tuple[int, int] | None:
    """As `sets.seen` of the target test set, where its texts are not here; None where `APART` does not tell.

    test: its pairs, with question_id at least.
    """
    of = study.data.target, study.data.transfer
    parts = [part for pairs in of for parts in pairs.model_dump().values() for part in parts]
    known = set(APART) | {HUB_SETS[name].name for name in APART}
    return (0, len(set(test["question_id"]))) if {split_part(part)[0] for part in parts} <= known else None


def sentence_seen(seen: tuple[int, int]) -> str:
    """seen: from the function of this name."""
    return (
        f"{begin(some(*seen, 'questions'))} of the target test set also occur in another set, as was counted where the "
        "texts of these sets were at hand; sentences that they share are counted only with their texts."
    )


def of_ranker(study: "Study", of: str) -> float:
    """of: "wikiqa test word_overlap MAP"; without texts from what the ranker's run scored."""
    source, split, ranker, metric = of.split()
    pairs, parts = mapped(source, split), [f"{source}:{split}"]
    if ranker == "random":
        pairs = pairs or scored_pairs(study, parts)
        return 100 * lexical.expected_random(pairs)[metric] if pairs else numpy.nan
    if pairs:
        table = pairs.to_pandas().assign(score=getattr(lexical, ranker)(pairs))
    elif (table := scored_by(study, ranker, parts)) is None:
        return numpy.nan
    return 100 * ranking.summary(table["question_id"], table["label"], table["score"])[metric]


SIZES: dict[str, Callable[..., float]] = {
    "parameters M": lambda name: size(name) / 1e6,
    "parameters saved %": lambda row, other: 100 * (1 - size(row) / size(other)),
    "parameters ×": lambda row, other: size(row) / size(other),
    "operations saved %": lambda row, other: 100 * (1 - operations(row) / operations(other)),
    "operations ×": lambda *rows: numpy.mean([*map(operations, rows[:-1])]) / operations(rows[-1]),  # their mean
    "encoder M": encoder_size,
    "TFLOP/s": lambda row, seconds: operations(row) / seconds / 1e12,  # of one pair in that time
}
COMPUTED: dict[str, Callable[..., float]] = SIZES | {
    "cascade cost %": cascade_percent,
    "cascade ×": lambda alpha: sequential_cost(DEPTH, EXITS, alpha) / cascade_cost(DEPTH, EXITS, alpha),
    # of so many candidates, those that the exit in that place, from 0, scores
    "left": lambda candidates, alpha, place: survivors(len(EXITS), alpha, candidates)[int(place)],
    "average batch": average_batch,
    "throughput %": throughput,
    "year": float,
    "gsb": lambda good, same, bad: 100 * (good - bad) / (good + same + bad),  # the gain in percent
}
OF_PAIRS: dict[str, Callable[["Study", str], float]] = {"set": of_set, "ranker": of_ranker}
ARITHMETIC = "arithmetic"  # a sum of the paper's own printed numbers
