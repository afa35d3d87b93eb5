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
from as2lib.paths import local_folder
from as2lib.runs.results import PAPERS_SETS, published
from as2lib.runs.texts import scored_by, scored_pairs
from as2lib.runs.wording import begin, some

if TYPE_CHECKING:
    from datasets import Dataset

    from as2lib.study import Study

NAMES = {"cerberus": "CERBERUS", "cascade": "Cascade Transformer", "cosinet": "Cosinet", "govern": "GOVERN"}
STATES = ["differs", "agrees", "not here"]
EXITS, DEPTH = (4, 6, 8, 10, 12), 12  # of the cascade's paper
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
    """What `COMPUTED[by]` gives for `of`, or `OF_PAIRS[by]` from the study; nan where its pairs are not at hand."""
    try:
        return float(OF_PAIRS[by](study, of) if by in OF_PAIRS else COMPUTED[by](of))
    except FileNotFoundError:
        return numpy.nan


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
    """Those of the layers' matrix products for a pair: n (24 d² + 4 n d) a layer of width d, in each model of the row.

    Source: the shapes of a transformer layer; `costs.count`, which runs the models on the meta device, is within 1 %.
    """
    from as2lib.papers.cerberus.true_sizes import members

    total = 0
    for config in members(row):
        heads = getattr(config, "heads", 1)
        encoder = config.backbone if hasattr(config, "heads") else config.to_dict()
        depth, width = encoder["num_hidden_layers"], encoder["hidden_size"]
        body = getattr(config, "body", 0)  # the layers that the heads share
        total += (body + heads * (depth - body)) * TOKENS * (24 * width**2 + 4 * TOKENS * width)
    return total


def _saved(measure: Callable[[str], int]) -> Callable[[str], float]:
    """of: "a b": how many percent less a has than b."""
    return lambda of: 100 * (1 - measure(of.split()[0]) / measure(of.split()[1]))


def _times(measure: Callable[[str], int]) -> Callable[[str], float]:
    """of: "a … b": the mean of the first ones over the last."""
    return lambda of: numpy.mean([measure(name) for name in of.split()[:-1]]) / measure(of.split()[-1])


def encoder_size(of: str) -> float:
    """of: "layers width": millions of parameters of such an encoder with RoBERTa's vocabulary and positions."""
    layers, width = map(int, of.split())
    return (layers * (12 * width**2 + 13 * width) + (WORDS + PLACES + 3) * width) / 1e6


def terawork(of: str) -> float:
    """of: "row time": TFLOP a second of one pair in that many seconds."""
    row, seconds = of.split()
    return operations(row) / float(seconds) / 1e12


# --- the cascade


def cascade_percent(of: str) -> float:
    """of: "CT 0.3", "SR 0.3" or "MT 10": layers computed, in percent more (+) or fewer (−) than by all twelve."""
    method, number = of.split()
    if method == "MT":
        return 100 * (int(number) / DEPTH - 1)
    return 100 * ({"CT": cascade_cost, "SR": sequential_cost}[method](DEPTH, EXITS, float(number)) - 1)


def cascade_times(of: str) -> float:
    return sequential_cost(DEPTH, EXITS, float(of)) / cascade_cost(DEPTH, EXITS, float(of))


def left(of: str) -> int:
    """of: "128 0.3 2": how many of the candidates the exit in that place, from 0, scores."""
    candidates, alpha, place = of.split()
    return survivors(len(EXITS), float(alpha), int(candidates))[int(place)]


def average_batch(of: str) -> float:
    candidates, alpha = of.split()
    return int(candidates) * cascade_cost(DEPTH, EXITS, float(alpha), int(candidates))


def throughput(of: str) -> float:
    """of: "128 0.3 84": percent more candidates than the largest batch, where the average batch of a layer fits."""
    candidates, alpha, largest = of.split()
    return 100 * (int(candidates) / int(largest) - 1) if average_batch(f"{candidates} {alpha}") <= int(largest) else 0.0


# --- data


@cache
def mapped(source: str, split: str) -> "Dataset | None":
    """Every pair of a known set that is mapped to a local folder; nothing is fetched."""
    here = source in HUB_SETS and local_folder(HUB_SETS[source].name)
    return load_pairs(source, split, "all") if here else None


def of_set(study: "Study", of: str) -> float:
    """of: "wikiqa test answered | candidates a question"; nan of what the pairs at hand do not say."""
    from as2lib.papers.cerberus.sets import COUNTS, RATES, statistics

    where, _, quantity = of.partition(" | ")
    source, split, policy = where.split()
    if pairs := mapped(source, split) or scored_pairs(study, [f"{source}:{split}"]):
        found = statistics(pairs)
        answered = 100 * found["questions"]["answered"] / found["questions"]["all"]
        return {**found.loc[policy], "answered %": answered}.get(quantity, numpy.nan)
    questions, *counts = TRAINING.get(where, [numpy.nan] * 3)
    rates = [count / questions for count in counts]
    return dict(zip([*COUNTS, *RATES], [questions, *counts, *rates], strict=True)).get(quantity, numpy.nan)


def with_training(sets: pandas.DataFrame) -> pandas.DataFrame:
    """`published_sets.papers_sets` with what `TRAINING` has of the splits that are not here."""
    from as2lib.papers.cerberus.sets import COUNTS, RATES

    sets, titles = sets.copy(), sets.index
    for where, counts in TRAINING.items():
        source, split, policy = where.split()
        rows = (titles == PAPERS_SETS[source]) & (sets["split"] == split) & (sets["questions kept"] == policy)
        rows &= sets["questions"].isna() & (sets["in this study"] == "not here")
        sets.loc[rows, [*COUNTS, *RATES]] = [*counts, *(count / counts[0] for count in counts[1:])]
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


def gsb(of: str) -> float:
    """of: "good same bad": the gain in percent."""
    good, same, bad = map(int, of.split())
    return 100 * (good - bad) / (good + same + bad)


SIZES: dict[str, Callable[[str], float]] = {
    "parameters M": lambda of: size(of) / 1e6,
    "parameters saved %": _saved(size),
    "parameters ×": _times(size),
    "operations saved %": _saved(operations),
    "operations ×": _times(operations),
    "encoder M": encoder_size,
    "TFLOP/s": terawork,
}
COMPUTED: dict[str, Callable[[str], float]] = SIZES | {
    "cascade cost %": cascade_percent,
    "cascade ×": cascade_times,
    "left": left,
    "average batch": average_batch,
    "throughput %": throughput,
    "arithmetic": pandas.eval,  # of a sum of the paper's own printed numbers
    "year": float,
    "gsb": gsb,
}
OF_PAIRS: dict[str, Callable[["Study", str], float]] = {"set": of_set, "ranker": of_ranker}
