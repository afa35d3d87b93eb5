"""The papers' checkable numbers beside what we compute of them: counts of public sets, rankers, costs and sizes.

`published/fidelity.csv` of each paper has a number, where it stands, and by which function of `COMPUTED` or `OF_PAIRS`,
from which argument, it is computed.  Where a set's texts are not at hand, published scores say what they can of it.
"""

from collections.abc import Callable

import numpy
import pandas

from as2lib.metrics import ranking
from as2lib.metrics.cost import cascade_cost, sequential_cost
from as2lib.metrics.pruning import survivors
from as2lib.papers import pair_sets, paper_tables
from as2lib.papers.cascade.rows import PAPER_EXITS as EXITS
from as2lib.papers.cerberus import true_sizes
from as2lib.study import Study

AGREES, LOOSELY, DIFFERS, NOT_HERE = STATES = ("agrees", "agrees within its tolerance", "differs", "not here")
DEPTH = EXITS[-1]
SIZE_TOLERANCE = 1.0  # percent, of a size or of operations: how a vocabulary is counted is not printed
TOKENS = 128  # of a pair, in counts of operations
VOCABULARY, POSITIONS = 50265, 514  # of RoBERTa, which the teachers of GOVERN are taken to have


def numbers(study: Study) -> pandas.DataFrame:
    """One row a number, index `paper`, those that differ first.

    state: "agrees" within half a unit of the last printed digit; "agrees within its tolerance", that of its row, 1 % of
    sizes and operations of models; "differs"; "not here" where it needs a set that is not.
    """
    rows = paper_tables.of_every_paper(study, "fidelity").fillna({"note": ""})
    rows["computed"] = [computed(study, row.by, str(row.of)) for row in rows.itertuples()]
    rows["tolerance"] = rows["tolerance"].fillna(rows["by"].isin(SIZES) * SIZE_TOLERANCE)
    rows["difference %"] = 100 * (rows["computed"] / rows["published"] - 1)
    rows["state"] = [state(row) for row in rows.itertuples()]
    rows["tolerance %"] = rows["tolerance"].where(rows["state"] == LOOSELY)
    columns = ["quantity", "published", "computed", "difference %", "tolerance %", "state", "note", "source"]
    order = [DIFFERS, LOOSELY, AGREES, NOT_HERE]
    return rows.set_index("paper")[columns].sort_values("state", key=lambda s: s.map(order.index), kind="stable")


def state(row) -> str:
    if pandas.isna(row.computed):
        return NOT_HERE
    half = 0.5 * 10.0 ** -int(row.digits) + 1e-9
    gap = abs(row.computed - row.published)
    return AGREES if gap <= half else LOOSELY if gap <= row.tolerance / 100 * abs(row.published) else DIFFERS


def computed(study: Study, by: str, of: str) -> float:
    """What `COMPUTED[by]` gives for the words of `of`, or `OF_PAIRS[by]`; nan without its pairs."""
    words = [float(word) if word.replace(".", "", 1).isdigit() else word for word in of.split()]
    try:
        return float(OF_PAIRS[by](study, of) if by in OF_PAIRS else COMPUTED[by](*words))
    except OSError:
        return numpy.nan


def size(name: str) -> int:
    """Trainable parameters of a row of CERBERUS's or Cosinet's tables at its true size; "bert": ELECTRA-BASE, alike."""
    return true_sizes.parameters("base/electra" if name == "bert" else name)


def operations(row: str) -> float:
    """Of a pair, with last layers that compute every token, as the papers draw and time them."""
    return true_sizes.operations(row, TOKENS, first_token=False)


def seconds(row: str) -> float:
    """What CERBERUS's own Table 5 prints, under µs."""
    return paper_tables.read("cerberus", "table5").set_index("run")["latency"][row]


def encoder_size(layers: float, width: float) -> float:
    """Millions of parameters, with RoBERTa's vocabulary and positions."""
    return (layers * (12 * width**2 + 13 * width) + (VOCABULARY + POSITIONS + 3) * width) / 1e6


def cascade_percent(method: str, number: float) -> float:
    """CT or SR at an alpha, or MT of so many layers: layers computed, in percent more (+) or fewer (−) than by all."""
    if method == "MT":
        return 100 * (number / DEPTH - 1)
    return 100 * ({"CT": cascade_cost, "SR": sequential_cost}[method](DEPTH, EXITS, number) - 1)


def throughput(candidates: float, alpha: float, largest: float) -> float:
    """Percent more candidates than the largest batch, where the average batch of a layer fits."""
    return 100 * (candidates / largest - 1) if COMPUTED["average batch"](candidates, alpha) <= largest else 0.0


def of_set(study: Study, of: str) -> float:
    """of: "wikiqa test answered | candidates a question"; nan of what the pairs at hand do not say."""
    where, _, quantity = of.partition(" | ")
    source, split, policy = where.split()
    pairs = pair_sets.mapped(source, split) or pair_sets.as_scored(study, [f"{source}:{split}"])
    if pairs is None:
        return numpy.nan
    statistics = pair_sets.statistics(pairs)
    answered = 100 * statistics["questions"]["answered"] / statistics["questions"]["all"]
    return {**statistics.loc[policy], "answered %": answered}.get(quantity, numpy.nan)


def of_ranker(study: Study, of: str) -> float:
    """of: "wikiqa test word_overlap MAP"; from what the ranker's run scored, else from texts."""
    source, split, ranker, metric = of.split()
    parts = [f"{source}:{split}"]
    scores = pair_sets.baseline_scores(study, parts, ranker)
    if scores is not None:
        return 100 * ranking.summary(**scores[["question_id", "label", "score"]])[metric]
    pairs = (pair_sets.as_scored(study, parts) if ranker == "random" else None) or pair_sets.mapped(source, split)
    return numpy.nan if pairs is None else pair_sets.of_ranker(pairs, ranker)[metric]


SIZES: dict[str, Callable[..., float]] = {
    "parameters M": lambda name: size(name) / 1e6,
    "parameters saved %": lambda row, other: 100 * (1 - size(row) / size(other)),
    "parameters ×": lambda row, other: size(row) / size(other),
    "operations saved %": lambda row, other: 100 * (1 - operations(row) / operations(other)),
    "operations ×": lambda *rows: numpy.mean([*map(operations, rows[:-1])]) / operations(rows[-1]),  # their mean
    "encoder M": encoder_size,
}
COMPUTED: dict[str, Callable[..., float]] = SIZES | {
    "printed time saved %": lambda row, other: 100 * (1 - seconds(row) / seconds(other)),
    "printed time ×": lambda *rows: numpy.mean([*map(seconds, rows[:-1])]) / seconds(rows[-1]),
    "cascade cost %": cascade_percent,
    "cascade ×": lambda alpha: sequential_cost(DEPTH, EXITS, alpha) / cascade_cost(DEPTH, EXITS, alpha),
    # of so many candidates, those that the exit in that place, from 0, scores
    "left": lambda candidates, alpha, place: survivors(len(EXITS), alpha, candidates)[int(place)],
    "average batch": lambda candidates, alpha: candidates * cascade_cost(DEPTH, EXITS, alpha, candidates),
    "throughput %": throughput,
    "gsb": lambda good, same, bad: 100 * (good - bad) / (good + same + bad),  # the gain in percent
}
OF_PAIRS: dict[str, Callable[[Study, str], float]] = {"set": of_set, "ranker": of_ranker}
