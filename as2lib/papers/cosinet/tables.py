"""The tables of notebook 09 and the sentences that read them, from stored scores: runs no model, draws nothing."""

from itertools import product
from typing import TYPE_CHECKING

import numpy
import pandas
from datasets import Dataset

from as2lib.data.pairs import at_hand, filter_questions
from as2lib.data.sources import BUILT, split_part
from as2lib.metrics.ranking import summary
from as2lib.papers.cerberus import longer
from as2lib.papers.cerberus.sets import RANKERS, statistics, trivial_rankers
from as2lib.papers.cerberus.systems import TRIVIAL
from as2lib.papers.cerberus.tables import numbers, tested
from as2lib.papers.cosinet.systems import MODELS, PIECES, PLAIN, SHUFFLED, UPPER, fine_tuned, systems, two
from as2lib.paths import local_folder
from as2lib.runs import costs, results
from as2lib.runs.params import Training
from as2lib.runs.texts import has_texts, missing, pairs_of
from as2lib.runs.wording import apart, changes, number, spread_text

if TYPE_CHECKING:
    from as2lib.study import Study

# Source of a target → what the paper calls it, and its table of results; beside any other target stands WikiQA.
SMALL = 2e6  # parameters below which a model answers the question of this notebook
CORPORA = {"wikiqa": ("WikiQA", 4), "squad-sent": ("SQuAD-sent", 5), "nq-la": ("NQ-LA", 6)}


def corpus(study: "Study") -> tuple[str, str, int]:
    """The source of the target's test set; the published set beside it, and its table."""
    source = split_part(study.data.target.test[0])[0]
    return source, *CORPORA.get(source, CORPORA["wikiqa"])


def target(study: "Study") -> Dataset:
    """The target's test set, without its texts where they are not here."""
    return pairs_of(study, study.data.target.test)


def sentence_texts(study: "Study") -> str:
    """Which texts of the target's test set are not here; empty where all are."""
    return missing(study.data.target.test)


def captions(study: "Study", questions: int) -> dict[int, str]:
    """What stands over the tables, by number.  questions: those that are answered."""
    _, dataset, number = corpus(study)
    machines = {run.facts.get("machine") for one in timed(study) for run in study.runs(one.prefix)}
    where = ", ".join([*sorted(machines - {None}), f"{study.threads} thread(s)"])
    if None in machines:
        where = f"{where}; where no machine was recorded, nor was what else ran on it: such times compare nothing"
    listwise = f"List-wise fits: Cosinet {_budget(study.cosinet.listwise)}"
    if study.cosinet.ca_listwise:
        listwise = f"{listwise}; CA, with a budget found for it alone, {_budget(study.cosinet.ca_listwise)}"
    own = 100 * relative_cost(study)
    shares = f"of those of the second over all candidates; Cosinet's own are {own:.1f} %"
    cost = f"Cost: multiply-adds of both stages, {shares}."
    if numpy.isnan(own):
        cost = f"{sentence_texts(study)} The cost of both stages cannot be counted without the lengths of texts."
    second = " The second is trained longer (13_budget)." if two(study)[-1].startswith(longer.BEFORE) else ""
    return {
        2: results.caption(questions, published_as=f"{dataset}, {RANKERS}; of other corpora: Table 2"),
        4: f"{results.caption(questions, study.cosinet.seeds, f'{dataset}, Cosinet Table {number}')} CA's attention "
        f"lacks the projection W^g of Wang and Jiang's equation 2. {results.CLIPPED} {listwise}. "
        f"{study.cosinet.vectors.said()}".strip(),
        5: f"A whole fit, scoring included, {where}; published: training on a GTX 1080 Ti.",
        6: results.tests_caption(study),
        7: f"{results.caption(questions)} Means over seeds.",
        8: f"{results.caption(questions)} Means over all pairs of seeds.{second} {cost}",
    }


def _budget(training: Training) -> str:
    return training.said().replace(" pairs", " question(s)")


def sets(study: "Study") -> pandas.DataFrame:
    """Table 1: the target's test set, those built from reading comprehension whose originals are at hand, and every
    published one.
    """
    source, here, _ = corpus(study)
    mapped = [name for name in BUILT if name != source and (local_folder(name) or local_folder(BUILT[name]))]
    pairs = {"target": target(study)} | {name: at_hand((f"{name}:test",)) for name in mapped}
    paper = results.published("cosinet_statistics").set_index("dataset").drop(columns="split")
    published, rows = {name: paper.loc[name] for name in paper.index}, {}
    for name, found in pairs.items():
        counts, (dataset, _) = statistics(found), CORPORA.get(name, (here, None))
        answered = 100 * counts.loc["answered", "questions"] / counts.loc["all", "questions"]
        rows[f"{name}, here"] = {**counts.loc["all"], "answered %": answered}
        rows[f"{dataset}, published"] = published.pop(dataset)
    rows |= {f"{dataset}, published": row for dataset, row in published.items()}
    return pandas.DataFrame(rows).T[[*paper]].rename_axis("set").astype({"questions": int, "pairs": int})


def rankers(study: "Study") -> pandas.DataFrame:
    """Table 2: the rankers that learn nothing on the target, and on the paper's other corpora as published."""
    here = corpus(study)[1]
    found = trivial_rankers(study, target(study), here)
    others = [name for name, _ in CORPORA.values() if name != here]
    theirs = results.published("cosinet_table2").set_index("run").reindex(found["run"]).set_axis(found.index)
    return found.assign(**{f"published {of} {one}": theirs[f"{of} {one}"] for of in others for one in ("P@1", "MAP")})


def sentence_random(study: "Study", rankers: pandas.DataFrame) -> str:
    (source, dataset, _), row = corpus(study), rankers.iloc[0]
    ours = f"A random order is expected to have P@1 {row['P@1']:.2f} and MAP {row['MAP']:.2f}"
    theirs = f"the published numbers beside it are {dataset}'s, another corpus"
    if source in CORPORA:
        both = f"{row['published P@1']:.2f} and {row['published MAP']:.2f}"
        theirs = f"the published {both} are {number(abs(row['MAP'] - row['published MAP']))} points of MAP away"
    return f"{ours} over the {row['questions']:.0f} answered questions, exactly; {theirs}."


def models(study: "Study") -> pandas.DataFrame:
    """Table 4: the twelve models, between the trivial rankers and the fine-tuned encoder, trained longer too."""
    _, dataset, number = corpus(study)
    paper = results.published(f"cosinet_table{number}")
    table = results.table(study, [*TRIVIAL, *MODELS, *fine_tuned(study)], beside=paper, dataset=dataset)
    measured = [f"{metric}{sign}" for metric in ("MAP", "MRR", "P@1") for sign in ("", " ±")]
    table = table[["run", "seeds", "parameters", *measured, "published MAP", "published MRR"]]
    theirs = paper.set_index("run").reindex(table["run"]).set_axis(table.index)
    more = {f"published {metric} ±": theirs.get(f"{dataset} {metric} ±") for metric in ("MAP", "MRR")}
    return table.assign(**more, **{"published parameters (M)": theirs["millions"]})


def other_corpora() -> pandas.DataFrame:
    """Cosinet Tables 5 and 6, as published: percent, ± as given there, millions of parameters, seconds of training."""
    found = []
    for place, dataset in ((5, "SQuAD-sent"), (6, "NQ-LA")):
        table = results.published(f"cosinet_table{place}").drop(columns="run").set_index("system")
        found.append(table.rename(columns={"millions": f"{dataset} parameters (M)", "seconds": f"{dataset} seconds"}))
    return found[0].join(found[1])


def against(study: "Study", table: pandas.DataFrame) -> pandas.DataFrame:
    """Paired tests, index (a, b): the best of the twelve below `SMALL` parameters, and the best of all, against WO+RR
    and the transferred encoder, trained longer where the study has it so.  table: from `models`.
    """
    twelve = table.loc[[model.label for model in MODELS]].set_index("run")
    best = dict.fromkeys(rows["MAP"].idxmax() for rows in (twelve[twelve["parameters"] < SMALL], twelve) if len(rows))
    pairs = list(product(best, [TRIVIAL[-1].prefix, longer.twin(study, UPPER)]))
    return tested(study, pairs).rename(dict(zip(table["run"], table.index, strict=True)))


def plain(study: "Study", table: pandas.DataFrame) -> str:
    """The label of the encoder without a transfer step, at the budget that is better on dev."""
    budgets = table["run"][table["run"].isin([PLAIN, longer.BEFORE + PLAIN])][::-1]  # the larger one first
    runs = budgets.map(study.runs)
    return runs.map(lambda fits: numpy.mean([run.facts.get("dev_MAP") or 0.0 for run in fits])).idxmax()


def sentence_best(study: "Study", table: pandas.DataFrame, tests: pandas.DataFrame, plain: str) -> str:
    """The best small model and the best of the twelve beside their rivals.  tests, plain: from those functions."""
    said, trivial = [], TRIVIAL[-1].label
    sized = {name: f"{name}, of {size / 1e6:.2f} million" for name, size in table["parameters"].items()}
    alone = table["seeds"].map(lambda seeds: "" if seeds > 1 else " (one seed)")
    for name, rivals in tests.groupby(level="a", sort=False):
        which = "Below two million parameters" if table.loc[name, "parameters"] < SMALL else "Of all twelve"
        found = [
            f"{apart(row['difference'], 'WO+RR' if rival == trivial else sized[rival])}: {results.verdict(study, row)}"
            for (_, rival), row in rivals.iterrows()
        ]
        said.append(
            f"{which} {sized[name]}, has the highest MAP on the test set, "
            f"{spread_text(*table.loc[name, ['MAP', 'MAP ±']])}{alone[name]}; it is {'; '.join(found)}."
        )
    own, floor = table.loc[plain, "MAP"], table.loc[trivial, "MAP"]
    learnt = apart(own - floor, "WO+RR") if own > floor else "itself no better than WO+RR"
    said.append(f"The encoder without a transfer step has MAP {number(own)}{alone[plain]}, {learnt}.")
    return " ".join(said)


def seconds(study: "Study") -> pandas.DataFrame:
    """Table 5: how long a fit took, mean over seeds."""
    theirs, rows = results.published(f"cosinet_table{corpus(study)[-1]}").set_index("run")["seconds"], {}
    for one in timed(study):
        ours = numpy.mean([run.facts["seconds"] for run in study.runs(one.prefix)])
        rows[one.label] = {"seconds": ours, "published seconds": theirs.get(one.prefix)}
    return pandas.DataFrame.from_dict(rows, orient="index").rename_axis("system")


def timed(study: "Study") -> list[results.System]:
    """The rows of Table 5: the twelve models, and the encoder that is only fine-tuned, as the paper's BERT."""
    return [*MODELS, *(one for one in fine_tuned(study) if one.prefix == PLAIN)]


def pieces(study: "Study") -> pandas.DataFrame:
    """Table 6: each model beside the same one without a piece."""
    labels = {prefix: system.label for prefix, system in systems(study).items()}
    return results.labelled(tested(study, PIECES), labels)


def order(study: "Study") -> pandas.DataFrame:
    """Table 7: the same models where the candidates come in their order, and in a random one."""
    own, random = (mean_maps(study, [f"{below}{prefix}" for prefix in SHUFFLED]) for below in ("", "shuffled/"))
    index = pandas.Index([systems(study)[prefix].label for prefix in SHUFFLED], name="system")
    return pandas.DataFrame({"MAP, their order": own, "MAP, random order": random, "lost": own - random}, index)


def mean_maps(study: "Study", prefixes: list[str]) -> numpy.ndarray:
    """MAP of each system in percent, mean over its seeds."""
    return results.mean_and_spread(results.frame(results.scored(study, prefixes)))["MAP"].to_numpy()


def sentence_order(table: pandas.DataFrame) -> str:
    point, birnn = (table.iloc[SHUFFLED.index(prefix)] for prefix in ("cosinet/point", "cosinet/birnn"))
    return (
        f"A random order {changes(-birnn['lost'])} for Cosinet with the BiRNN, and {changes(-point['lost'])} for the "
        f"point-wise model; in it the BiRNN has MAP {number(birnn['MAP, random order'])}, the point-wise model "
        f"{number(point['MAP, random order'])}."
    )


def two_stages(study: "Study") -> pandas.DataFrame:
    """Table 8: Cosinet keeps each question's best candidates, and the multiple-heads student ranks those.

    P@1, MAP, MRR, dev MAP: percent, mean over all pairs of seeds; of dev where both were scored on it.  cost %:
    multiply-adds of both, of those of the student for every candidate of the answered questions; missing where nothing
    tells how long the texts are.
    """
    stages = [study.runs(prefix) for prefix in two(study)]
    data = [study.plan[name].data for prefix in two(study) for name in study.store.below(prefix)]
    splits = [split for split in ("test", "dev") if all(split in one for one in data)]
    scored = {split: [*product(*([run.scores(split) for run in runs] for runs in stages))] for split in splits}
    groups = scored["test"][0][0].groupby("question_id", sort=False)["label"]
    sizes, cost, rows = groups.size()[groups.max() > 0], relative_cost(study), {}
    for keep in [*(keep for keep in (1, 2, 3, 4, 5, 7, 10, 15) if keep < sizes.max()), sizes.max()]:
        found = {}
        for split, pairs in scored.items():
            each = [summary(a["question_id"], a["label"], rerank(a, b, keep)) for a, b in pairs]
            found[split] = 100 * pandas.DataFrame(each)[results.METRICS].mean()
        left = sizes.clip(upper=keep).sum() / sizes.sum()
        dev = found["dev"]["MAP"] if "dev" in found else numpy.nan
        rows[keep] = {**found["test"], "dev MAP": dev, "candidates left %": 100 * left, "cost %": 100 * (cost + left)}
    return pandas.DataFrame.from_dict(rows, orient="index").rename_axis("kept")


def rerank(first: pandas.DataFrame, second: pandas.DataFrame, keep: int) -> numpy.ndarray:
    """The first's `keep` best candidates in the second's order (1 + its score), then the others in the first's own.

    first, second: question_id, position, score (P(correct), within [0, 1]).  Equal scores of the first keep the input's
    order.  Raises ValueError where the rows differ.
    """
    if not first[["question_id", "position"]].equals(second[["question_id", "position"]]):
        raise ValueError(f"expected scores of the same pairs, got {len(first)} and {len(second)} other rows")
    rank = first.groupby("question_id", sort=False)["score"].rank(method="first", ascending=False)
    return numpy.where(rank <= keep, 1 + second["score"], first["score"]).astype(float)


def relative_cost(study: "Study") -> float:
    """Cosinet's multiply-adds for all candidates of answered test questions over those of the multiple-heads student.

    Missing where the texts are not here, and the set is none whose lengths are known.
    """
    pairs = filter_questions(target(study), "answered")
    if costs.stated(study) is None and not has_texts(pairs):
        return numpy.nan
    runs, words = [study.store.planned(study.store.below(prefix)[0]) for prefix in two(study)], costs.lengths(study)
    cosinet, student = (costs.work(study, run, words) for run in runs)
    candidates = len(pairs) / len(set(pairs["question_id"]))
    return float((cosinet.candidate + cosinet.question / candidates) / student.candidate)


def sentence_two_stages(table: pandas.DataFrame, mhs: float, cosinet: float) -> str:
    """How many candidates to keep, chosen on dev (where nothing is scored there, on the test set, which it says).

    table: from `two_stages`.  mhs, cosinet: MAP of either alone, in percent.
    """
    unseen, top = table["dev MAP"].isna().any(), table["MAP"].idxmax()
    best = table.loc[top if unseen else table["dev MAP"].idxmax()]
    cost = f"{number(best['cost %'], 0)} % of the operations"
    if pandas.isna(best["cost %"]):
        cost = f"{number(best['candidates left %'], 0)} % of the student's candidates"
    where = "the test set itself" if unseen else "dev"
    late = "" if best.name == top else f" (in hindsight {top}: {number(table.loc[top, 'MAP'])})"
    return (
        f"Of the numbers kept, {best.name} is best on {where} for the two in a row: test MAP {number(best['MAP'])} at "
        f"{cost}{late}, against {number(mhs)} for the multiple-heads student alone and {number(cosinet)} for Cosinet "
        "alone."
    )


def recorded(*tables: pandas.DataFrame) -> dict[str, float]:
    """What the overview and the expected file read of Tables 4, 6, 7 and 8, by name."""
    accuracy, tests, order, stages = tables
    found = numbers(accuracy, "MAP", "MAP ±", "MRR", "parameters")
    found |= {f"{a} minus {b}": points for (a, b), points in zip(PIECES, tests["difference"], strict=True)}
    found |= {f"{prefix} lost by shuffling": points for prefix, points in zip(SHUFFLED, order["lost"], strict=True)}
    return found | {f"kept {keep} MAP": points for keep, points in stages["MAP"].items()}
