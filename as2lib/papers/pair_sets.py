"""What a study's pair sets are made of, and how many questions and candidates they have; trains nothing.

Where the texts of a set are not at hand, published scores still say which pairs are correct: counts need no text.
"""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import numpy
import pandas
from datasets import Dataset

from as2lib.data import sets
from as2lib.data.pairs import folded, load_pairs, load_parts, shared_answers
from as2lib.metrics import ranking
from as2lib.models import lexical
from as2lib.paths import local_folder
from as2lib.study import Study, results

PAPERS = {  # our name of a set → the papers'
    "asnq": "ASNQ",
    "ias2": "IAS2",
    "wikiqa": "WikiQA",
    "gpd": "GPD",
    "trecqa": "TREC-QA",
    "squad-sent": "SQuAD-sent",
    "nq-la": "NQ-LA",
    "selqa": "SelQA",
}
BESIDE = {"wikiqa": "WikiQA", "asnq": "ASNQ", "ias2": "IAS2"}  # target → the set of CERBERUS whose numbers stand beside
COUNTS = ["questions", "pairs", "correct"]
RATES = ["candidates a question", "correct a question"]
TEXTS = {"question": "words a question", "answer": "words a candidate"}


def set_of(part: str) -> str:
    """Our short name of the known set that a part belongs to; of any other its source."""
    source = sets.split_part(part)[0].partition("@")[0]
    return sets.SHORT.get(source, source)


def published_set(study: Study) -> str:
    """The set whose published numbers stand beside a study's: that of its target, WikiQA where no paper has that."""
    return BESIDE.get(set_of(study.data.target.test[0]), "WikiQA")


def pairs_of(study: Study, parts: Sequence[str]) -> Dataset | None:
    """Every pair of some parts: with texts, or as published scores have them; None where neither is here."""
    try:
        return load_parts(tuple(parts), "all")
    except OSError:  # nor does the hub answer
        return as_scored(study, parts)


def as_scored(study: Study, parts: Sequence[str]) -> Dataset | None:
    scores = baseline_scores(study, parts)
    return None if scores is None else Dataset.from_pandas(scores[["question_id", "label"]], preserve_index=False)


def baseline_scores(study: Study, parts: Sequence[str], scorer: str | None = None) -> pandas.DataFrame | None:
    """What a ranker that learns nothing (default: any) scored on some parts; None where no run of it is here."""
    for name, run in study.plan.items():
        if run.kind == "lexical" and scorer in (None, run.spec["scorer"]):
            for split in ("dev", "test"):
                if tuple(run.data.get(split, ())) == tuple(parts) and (stored := study.store.find(name)):
                    return stored.scores(split)
    return None


def candidates(study: Study, parts: Sequence[str], scores: pandas.DataFrame, question: str) -> pandas.DataFrame:
    """A question's rows of the scores of some parts: `label`, and `sentence` where the texts are at hand.

    `attrs["question"]` is its text, or says that it is not at hand.
    """
    rows, pairs = scores.loc[scores["question_id"] == question, ["label"]], pairs_of(study, parts)
    if pairs is None or not has_texts(pairs):
        rows.attrs["question"] = f"Question {question}, whose texts are not at hand."
        return rows
    texts = pairs.select(numpy.flatnonzero(numpy.asarray(pairs["question_id"][:]) == question)).to_pandas()
    rows.attrs["question"] = texts["question"].iloc[0]
    return rows.assign(sentence=texts["answer"].to_numpy())


def has_texts(pairs: Dataset) -> bool:
    return "answer" in pairs.column_names


def title(part: str) -> str:
    return PAPERS.get(set_of(part)) or sets.split_part(part)[0]


@cache
def statistics(pairs: Dataset) -> pandas.DataFrame:
    """Counts and mean lengths of a labelled pair set under each question policy, a row each (index `questions kept`).

    two or more correct: questions.  words: means over pairs, split at blanks; left out where the pairs have no texts.
    """
    table = pairs.select_columns(["question_id", "label"]).to_pandas()
    texts = TEXTS if has_texts(pairs) else {}
    for name, label in texts.items():
        table[label] = pairs.with_format("pandas")[name][:].str.split().str.len().to_numpy()
    groups = table.groupby("question_id", sort=False)
    questions = groups.sum().rename(columns={"label": "correct"}).assign(pairs=groups.size())
    rows = {}
    for policy in reversed(ranking.POLICIES):
        kept = questions[ranking.kept(questions["pairs"].to_numpy(), questions["correct"].to_numpy(), policy)]
        sums, count = kept.sum(), max(1, len(kept))
        row = {"questions": len(kept), "pairs": sums["pairs"], "correct": sums["correct"]}
        row |= {"candidates a question": sums["pairs"] / count, "correct a question": sums["correct"] / count}
        row["two or more correct"] = int((kept["correct"] > 1).sum())
        row |= {label: sums[label] / max(1, sums["pairs"]) for label in texts.values()}
        rows[policy] = row
    return pandas.DataFrame.from_dict(rows, orient="index").rename_axis("questions kept")


def counted(study: Study, parts: Sequence[str], policy: str) -> dict[str, float]:
    """What `statistics` counts of some parts under a policy, without texts; nothing where no pair of them is here."""
    pairs = pairs_of(study, parts) if parts else None
    return {} if pairs is None else statistics(pairs.select_columns(["question_id", "label"])).loc[policy].to_dict()


@cache
def of_ranker(pairs: Dataset, ranker: str) -> dict[str, float]:
    """P@1, MAP and MRR in percent of a scorer of `lexical`, or the expectation of a "random" order."""
    if ranker == "random":
        values = lexical.expected_random(pairs)
    else:
        values = ranking.summary(pairs["question_id"][:], pairs["label"][:], getattr(lexical, ranker)(pairs))
    return {metric: 100 * values[metric] for metric in results.METRICS}


@cache
def mapped(source: str, split: str) -> Dataset | None:
    """Every pair of a known set that is mapped to a local folder."""
    name = sets.HUB_SETS[source].name if source in sets.HUB_SETS else source
    return load_pairs(source, split, "all") if local_folder(name) else None


@cache
def learnt_in_published() -> dict[tuple[str, str], frozenset[str]]:
    """(train, test) of the published studies → the ids of `learnt`, counted once, so that no texts are needed."""
    rows = pandas.read_csv(files("as2lib.papers") / "learnt.csv")
    return {(row.train, row.test): frozenset(row.questions.split()) for row in rows.itertuples()}


def learnt(train: Sequence[str], test: Sequence[str], first: Sequence[str] = ()) -> frozenset[str]:
    """The ids of test questions whose correct sentence, or whole list, train has too, or that are asked in `first`,
    which is learnt before it, but for case and punctuation.
    """
    key = " ".join([*train, *first]), " ".join(part.removesuffix("=answered") for part in test)
    if key in learnt_in_published():
        return learnt_in_published()[key]
    of_test, of_train = (load_parts(tuple(parts), "answered") for parts in (test, train))
    questions = of_test.to_pandas().drop_duplicates("question_id")
    asked = {folded(question) for question in load_parts(tuple(first), "all").unique("question")} if first else set()
    shared = shared_answers(of_test, of_train) | questions["question"].map(folded).isin(asked)
    return frozenset(questions.loc[shared, "question_id"])
