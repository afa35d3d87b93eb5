"""How many layers a head should have, and how many heads there should be: tables and sentences."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy
import pandas

from as2lib.papers.cerberus.costs import RATIO
from as2lib.papers.cerberus.systems import BASELINE, HEADS, head_depths, mhs_label, stands_for
from as2lib.papers.cerberus.tables import better, notes, tested
from as2lib.runs import results
from as2lib.runs.finished import Finished
from as2lib.runs.wording import apart, number, some

if TYPE_CHECKING:
    from as2lib.study import Study

LEAN, BASE_LABEL = f"mhs/{HEADS}h1", "base model, no teacher"


def shapes(study: "Study") -> dict[str, str]:
    """Run prefix → label of the study's configurations, the leanest first."""
    return {f"mhs/{HEADS}h{layers}": mhs_label(study, layers) for layers in sorted({1, *head_depths(study)})}


def by_layers(study: "Study") -> pandas.DataFrame:
    """A row a configuration, with the paper's that it stands for, below the trivial baseline and the base model."""
    rows = [results.System(prefix, label) for prefix, label in shapes(study).items()]
    table = results.table(study, [BASELINE, results.System("base/electra", BASE_LABEL), *rows])
    paper = results.published("cerberus_table4").set_index("run")
    paper = paper.reindex(table["run"].map(stands_for(study))).set_index(table.index)
    table["the paper's"] = paper["configuration"]
    return table.join(results.published_values(paper, "IAS2"))


def caption(study: "Study", table: pandas.DataFrame) -> str:
    """table: from `by_layers`."""
    paper = "IAS2, CERBERUS Table 4, the leanest that fits"
    return f"{results.caption(int(table['questions'].iloc[0]), study.seeds, paper)} {notes(study)}"


def beside_all(table: pandas.DataFrame) -> pandas.DataFrame:
    """`by_layers`, with the paper's configurations that are not run here.  table: from `by_layers`."""
    paper = results.published("cerberus_table4")
    paper = paper[~paper["configuration"].isin(table["the paper's"])]
    rest = results.published_values(paper, "IAS2").assign(**{"the paper's": paper["configuration"]})
    return pandas.concat([table, rest.set_index(paper["configuration"] + ", not run here")]).rename_axis("system")


def sentence_layers(heads: pandas.DataFrame) -> str:
    """heads: the configurations' rows of `by_layers`."""
    paper, found = results.published("cerberus_table4")["IAS2 MAP"], heads["MAP"]
    if len(heads) == 1:
        return f"The study has one configuration, {heads.index[0]} (MAP {number(found.iloc[0])})."
    noise = heads["MAP ±"].max()
    seeds = "" if pandas.isna(noise) else f"; seeds vary by up to {number(noise)} (standard deviation)"
    return (
        f"The best configuration is {found.idxmax()} (MAP {number(found.max())}), the worst {found.idxmin()} "
        f"({number(found.min())}){seeds}. In the paper the configurations lie within "
        f"{number(paper.max() - paper.min())} points."
    )


def answer(study: "Study", heads: pandas.DataFrame, tests: pandas.DataFrame) -> str:
    """heads: as in `sentence_layers`.  tests: from `deeper_heads`."""
    if tests.empty:
        return f"Every head of this study has one layer (MAP {number(heads['MAP'].iloc[0])}): nothing to choose from."
    helped, best = len(better(study, tests)), heads["MAP"].idxmax()
    lean, highest = heads.index[0], number(heads["MAP"].max())
    top = f"which has the highest MAP of these ({highest})"
    if best != lean:
        top = f"and the highest MAP is that of {best} ({highest}, against {number(heads['MAP'].iloc[0])})"
    is_ = "is" if helped <= 1 else "are"
    deeper = f"{some(helped, len(tests), 'configurations with deeper heads')} {is_}"
    if len(tests) == 1:
        deeper = f"{heads.index[1]}, the only one with deeper heads, is{' not' * (not helped)}"
    return (
        f"{'One layer is enough' if not helped else 'More than one can help'} in models of {study.mhs.body + 1} "
        f"layers: {deeper} shown to be better than {lean}, {top}."
    )


def deeper_heads(study: "Study") -> pandas.DataFrame:
    """Paired tests of deeper heads against heads of one layer; empty where the study has heads of one layer only."""
    labels = shapes(study)
    pairs = [(prefix, LEAN) for prefix in labels if prefix != LEAN]
    if not pairs:
        return pandas.DataFrame()
    return results.labelled(tested(study, pairs), labels)


def sentences_deeper(study: "Study", tests: pandas.DataFrame) -> list[str]:
    if tests.empty:
        return ["Every head of this study has one layer: there is no pair of configurations to compare."]
    return [results.reading(study, name, row) for name, row in tests.iterrows()]


def sentence_costs(counted: pandas.DataFrame) -> str:
    """counted: from `costs.counted`, the paper's Table 4."""
    lean, deep = counted.iloc[0], counted.iloc[-1]
    return (
        f"At ELECTRA base's size {lean.name} has {lean['parameters'] / 1e6:.0f} M parameters and {lean[RATIO]:.2f} "
        f"times the operations of the base model; {deep.name} has {deep['parameters'] / 1e6:.0f} M and "
        f"{deep[RATIO]:.2f} times."
    )


def by_heads(study: "Study") -> pandas.DataFrame:
    """A row a number of heads, each of one layer; `heads`: the number."""
    numbers = sorted({*study.mhs.heads, HEADS})
    rows = [results.System(f"mhs/{number}h1", f"{number} head{'s' * (number > 1)}") for number in numbers]
    return results.table(study, rows).assign(heads=numbers)


def combined_heads(runs: Sequence[Finished]) -> pandas.DataFrame:
    """P@1, MAP and MRR in percent of the heads' mean probability and of their mean logit; means over the runs."""
    scores = {"probability": [], "logit": []}
    for table in [run.scores() for run in runs]:
        by_head = table.filter(like="head_").to_numpy().clip(1e-300, 1 - 1e-16)
        scores["probability"].append(table.assign(score=by_head.mean(axis=1)))
        scores["logit"].append(table.assign(score=(numpy.log(by_head) - numpy.log1p(-by_head)).mean(axis=1)))
    return results.mean_and_spread(results.frame(scores))[results.METRICS].rename_axis("average of")


def sentences_heads(heads: pandas.DataFrame, combined: pandas.DataFrame) -> list[str]:
    """heads: from `by_heads`.  combined: from `combined_heads`."""
    found, gap = heads["MAP"], combined.loc["logit", "MAP"] - combined.loc["probability", "MAP"]
    logits = f"An average of logits is {apart(gap, 'one of probabilities', digits=2)}."
    if len(heads) == 1:
        return [logits]
    best, worst = found.idxmax(), found.idxmin()
    return [
        f"By number of heads, MAP is highest with {best} ({number(found.max())}) and lowest with {worst} "
        f"({number(found.min())}).",
        logits,
    ]
