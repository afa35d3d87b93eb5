"""The papers' own counts of their sets, split by split, beside what this study has of them."""

from itertools import product
from typing import TYPE_CHECKING

import numpy
import pandas
from datasets import Dataset

from as2lib.data import sources
from as2lib.data.sources import SPLITS
from as2lib.metrics.ranking import POLICIES
from as2lib.papers.cerberus.sets import COUNTS, RATES, statistics
from as2lib.runs import results
from as2lib.runs.results import published
from as2lib.runs.texts import pairs_of

if TYPE_CHECKING:
    from as2lib.study import Study

CASCADE = [f"Cascade {name}" for name in ("questions", *RATES)]
PAPERS = results.PAPERS_SETS
PAPERS_CAPTION = (
    "Published under “all”: Cosinet, Table 2; under “answered”: CERBERUS, Table 1, and of GPD and TREC-QA Cascade "
    "Transformer, Table 1. In this study: its parameters name the set; “not here”: they do, but params/local.yaml "
    "does not map it."
)
# Table, policy, paper: of two that count alike the later comes first.
_PUBLISHED = (
    ("cosinet_statistics", "all", "Cosinet"),
    ("cascade_table1", "answered", "Cascade"),
    ("cerberus_table1", "answered", "CERBERUS"),
)


def papers_sets(study: "Study") -> pandas.DataFrame:
    """Every set of the papers, split by split: what this study has of it under each policy, beside the papers' counts.

    A set is part of the study where its target, its transfer sets or `data.describe` name it; of the others only what
    is published stands here, so that the table depends on the parameters alone. Index: set. Columns: split, in this
    study ("yes", "no", "not here", "no such split"), questions kept (the policy), what `statistics` counts, the same as
    published, by whom, and the Cascade Transformer's counts. Cosinet counts every question, the others answered ones.
    """
    here, rows = {source.partition("@")[0]: source for source in described(study)}, []
    for name, split in product(dict.fromkeys([*PAPERS, *here]), SPLITS):
        title = PAPERS.get(name, name)
        found, beside = _find(study, here[name], split) if name in here else "no", _published(title, split)
        ours = {} if isinstance(found, str) else statistics(found).to_dict("index")
        row = {"set": title, "split": split, "in this study": "yes" if ours else found}
        if ours and (title, split) == ("TREC-QA", "train"):
            row["split"] = f"train ({trec_training_set(found)})"
        policies = [policy for policy in reversed(POLICIES) if policy in ours or policy in beside]
        for policy in policies or [None] * (name in here):
            rows.append(row | {"questions kept": policy} | ours.get(policy, {}) | beside.get(policy, {}))
    table = pandas.DataFrame(rows).set_index("set")
    theirs = [f"published {name}" for name in COUNTS]
    order = ["split", "in this study", "questions kept", *COUNTS, *RATES, *theirs, "published by", *CASCADE]
    return table.reindex(columns=order).astype(dict.fromkeys([*COUNTS, *theirs, CASCADE[0]], "Int64"))


def totals(sets: pandas.DataFrame) -> pandas.DataFrame:
    """Questions and pairs of whole sets: CERBERUS Table 1 summed, its appendix, and, where `papers_sets` has every
    split of a set, what is here under each policy, and under "answered" in train and "mixed" in dev and test.

    Index: set. Columns: counted, questions, pairs.
    """
    rows = []
    for title, appendix in published("cerberus_appendix").set_index("dataset").iterrows():
        summed = published("cerberus_table1").query("dataset == @title")[["questions", "pairs"]].sum()
        ours = sets.loc[[title]].dropna(subset="questions")
        counted = {"CERBERUS Table 1, summed": summed, "CERBERUS, appendix": appendix[["questions", "pairs"]]}
        if len(ours) == len(SPLITS) * len(POLICIES):
            keeps, train = ours["questions kept"], ours["split"].str.startswith("train")
            chosen = {f"here: {policy}": keeps == policy for policy in reversed(POLICIES)}
            chosen["here: answered in train, mixed in dev and test"] = keeps == numpy.where(train, "answered", "mixed")
            counted |= {label: ours.loc[rows_, ["questions", "pairs"]].sum() for label, rows_ in chosen.items()}
        rows += [{"set": title, "counted": label, **counts.astype(int)} for label, counts in counted.items()]
    return pandas.DataFrame(rows).set_index("set")


def readings(sets: pandas.DataFrame, whole: pandas.DataFrame) -> list[str]:
    """Sentences on what `papers_sets` and `totals` hold: whose counts agree with whose; none where a study has none."""
    if (sets["in this study"] == "no").all():
        return []
    counted = sets[sets["Cascade questions"].notna()]
    here = counted.dropna(subset="questions")
    differing = here[here["questions"] != here["Cascade questions"]]
    said = [
        f"{len(here)} of the {len(counted)} splits in the Cascade Transformer's Table 1 are part of this study and "
        f"here; {(len(here) - len(differing)) or 'none'} of these have the published number of questions with an "
        "answer."
        if len(here)
        else f"None of the {len(counted)} splits in the Cascade Transformer's Table 1 is here as a part of this study."
    ]
    for name, row in differing.iterrows():
        said.append(
            f"{name} {row['split']} has {row['questions']:,} questions with an answer here, "
            f"against {row['Cascade questions']:,} published."
        )
    here = sets.index[sets["in this study"] != "no"]
    return [*said, *(_unanswered(sets) if "WikiQA" in here else []), *_sums(whole[whole.index.isin(here)])]


def _unanswered(sets: pandas.DataFrame) -> list[str]:
    """Whether Table 1 of CERBERUS counts WikiQA's unanswered test questions, from the papers and from what is here."""
    cosinet = published("cosinet_statistics").set_index("dataset").loc["WikiQA"]
    table1 = published("cerberus_table1").set_index(["dataset", "split"]).loc[("WikiQA", "test"), "questions"]
    answered = round(cosinet["questions"] * cosinet["answered %"] / 100)
    verdict = {answered: "leaves unanswered questions out", cosinet["questions"]: "keeps unanswered questions in"}
    said = (
        f"Of WikiQA's {cosinet['questions']} test questions {cosinet['answered %']} % are answered (Cosinet Table 2): "
        f"{answered}. CERBERUS Table 1 has {table1}: it {verdict.get(table1, 'follows neither count')}, while its "
        "appendix says that they stay in dev and test. We follow Table 1."
    )
    here = sets.loc[["WikiQA"]].query("split == 'test'").dropna(subset="questions").set_index("questions kept")
    if here.empty:
        return [said]
    counts = ", ".join(f"{row['questions']} under “{policy}”" for policy, row in here.iterrows())
    same = " and ".join(f"“{policy}”" for policy in here.index[here["questions"] == table1]) or "no policy"
    return [said, f"Questions in WikiQA's test set here: {counts}; Table 1 agrees with {same}."]


def _sums(whole: pandas.DataFrame) -> list[str]:
    said = []
    for name, rows in whole.groupby(level=0, sort=False):
        rows = rows.set_index("counted")
        table1, appendix = rows.iloc[0], rows.iloc[1]
        agreeing = (
            rows.iloc[2:].query("pairs == @appendix.pairs").rename(index=lambda label: label.removeprefix("here: "))
        )
        said.append(
            f"CERBERUS Table 1's splits of {name} add up to {table1['questions']:,} questions and {table1['pairs']:,} "
            f"pairs; its appendix has {appendix['questions']:,} and {appendix['pairs']:,}"
            + "".join(f"; “{a}” has as many pairs here, and {n:,} questions" for a, n in agreeing["questions"].items())
            + "."
        )
    return said


def described(study: "Study") -> list[str]:
    """The known sources that a study learns from, is tested on, or describes beside (`data.describe`)."""
    transfers = [getattr(family, size).transfer for family in study.backbones.values() for size in ("large", "base")]
    used = [study.data.target, study.data.transfer, *filter(None, transfers)]
    known = [results.set_of(part) for pairs in used for split in SPLITS for part in getattr(pairs, split)]
    return list(dict.fromkeys([*(name for name in known if name in PAPERS), *study.data.describe]))


def trec_training_set(pairs: Dataset) -> str:
    """Which of TREC-QA's two training sets this is, by its number of questions beside TRAIN-ALL's published one."""
    published_size = published("cascade_table1").set_index(["dataset", "split"]).loc[("TREC-QA", "train"), "questions"]
    share = int(statistics(pairs).loc["all", "questions"]) / published_size
    return "TRAIN-ALL" if 0.98 < share < 1.02 else "TRAIN" if share < 0.1 else "neither TRAIN nor TRAIN-ALL"


def _find(study: "Study", name: str, split: str) -> Dataset | str:
    """The pairs, or why they are not here."""
    try:
        return pairs_of(study, [f"{name}:{split}"]) or "not here"
    except sources.NoSplit:
        return "no such split"


def _published(title: str, split: str) -> dict[str, dict[str, float | str]]:
    """The papers' counts of a split, by the policy that they follow."""
    found: dict[str, dict[str, float | str]] = {}
    for table, policy, paper in _PUBLISHED:
        values = published(table).set_index(["dataset", "split"])
        if (title, split) in values.index:
            row = values.loc[(title, split)]
            counts = {f"published {name}": row[name] for name in COUNTS if name in row}
            beside = dict(zip(CASCADE, row, strict=True)) if paper == "Cascade" else {}
            found[policy] = found.get(policy, {}) | counts | beside | {"published by": paper}
    return found
