"""What the study's pair sets look like and what they share; reads texts in batches."""

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

import numpy
import pandas
import pyarrow
import pyarrow.compute as compute
from datasets import Dataset

from as2lib.metrics.ranking import POLICIES, kept
from as2lib.models import lexical
from as2lib.papers.cerberus.systems import TRIVIAL
from as2lib.runs import results
from as2lib.runs.results import published
from as2lib.runs.texts import has_texts, missing, pairs_of
from as2lib.runs.wording import begin, number, some

if TYPE_CHECKING:
    from as2lib.study import Study

RANKERS = "Cosinet Table 2; MRR: Tables 4 to 6"  # the source of `published_rankers`
COUNTS = ["questions", "pairs", "correct"]
RATES = ["candidates a question", "correct a question"]
_TEXTS = {"question": "words a question", "answer": "words a candidate"}
_BATCH = 65_536


def of_study(study: "Study") -> dict[str, Dataset]:
    """The pair sets that a study is made of, such as "target dev"; "target test" last, which is compared with all.

    One whose texts are not here has question_id and label alone, or is left out (see `runs.texts.pairs_of`).
    """
    found = {name: pairs_of(study, parts) for name, parts in _parts(study).items()}
    return {name: pairs for name, pairs in found.items() if pairs is not None}


def with_texts(pairs: dict[str, Dataset]) -> dict[str, Dataset]:
    return {name: each for name, each in pairs.items() if has_texts(each)}


def sentence_texts(study: "Study") -> str:
    """Which texts of the study's sets are not here; empty where all are."""
    return missing(part for parts in _parts(study).values() for part in parts)


def _parts(study: "Study") -> dict[str, list[str]]:
    roles = {"target": study.data.target.model_dump(), "transfer": study.data.transfer.model_dump()}
    parts = {f"{role} {split}": parts for role, splits in roles.items() for split, parts in splits.items() if parts}
    parts["target test"] = parts.pop("target test")
    return parts


def statistics(pairs: Dataset) -> pandas.DataFrame:
    """Counts and mean lengths of a labelled pair set under each question policy.

    Returns one row a policy (index `questions kept`): questions, pairs, correct, candidates a question, correct a
    question, two or more correct (questions), words a question and words a candidate (means over pairs; words are split
    at blanks; left out where the pairs have no texts).
    """
    ids, found, texts = _column(pairs, "question_id"), {}, _TEXTS if has_texts(pairs) else {}
    starts = numpy.append(True, compute.not_equal(ids[1:], ids[:-1])).nonzero()[0]
    columns = {"correct": _column(pairs, "label").to_numpy()}
    columns |= {called: numpy.concatenate([*map(_words, _batches(pairs, name))]) for name, called in texts.items()}
    each = {name: numpy.add.reduceat(column, starts, dtype=numpy.int64) for name, column in columns.items()}
    each = pandas.DataFrame({"pairs": numpy.diff(numpy.append(starts, len(pairs))), **each})  # a row a question
    for policy in reversed(POLICIES):
        rows = each[kept(each["pairs"].to_numpy(), each["correct"].to_numpy(), policy)]
        sums, questions = rows.sum(), len(rows)
        found[policy] = {"questions": questions, "pairs": sums["pairs"], "correct": sums["correct"]}
        found[policy] |= dict(zip(RATES, sums[["pairs", "correct"]] / max(1, questions), strict=True))
        found[policy]["two or more correct"] = (rows["correct"] > 1).sum()
        found[policy] |= {called: sums[called] / max(1, sums["pairs"]) for called in texts.values()}
    return pandas.DataFrame.from_dict(found, orient="index").rename_axis("questions kept")


def sentence_target(test: pandas.Series) -> str:
    return (
        f"The target test set has {test['questions']:,.0f} questions with an answer, "
        f"{number(test['candidates a question'])} candidates each; "
        f"{number(test['two or more correct'], 0) if test['two or more correct'] else 'none'} of them have two or more "
        "correct candidates."
    )


def answer(test: pandas.Series, found: pandas.DataFrame, seen: tuple[int, int] | None) -> str:
    """test: the target test set's row of `statistics`.  found: from `trivial_rankers`.  seen: from `seen`, or None."""
    leaks = "what the splits share cannot be counted without their texts"
    if seen:
        leaks = f"of its {seen[1]} distinct questions, {seen[0] or 'none'} also occur in another set"
    rows = found.set_index("run")["MAP"]
    return (
        f"The target test set has {number(test['questions'], 0)} questions with an answer and "
        f"{number(test['candidates a question'])} candidates for each; {leaks}; word overlap with ties by the original "
        f"order reaches MAP {number(rows['lexical/overlap_then_rank'])}, a random order {number(rows['random'])}."
    )


def published_rankers() -> pandas.DataFrame:
    """Cosinet's Table 2, with the MRR that its Tables 4 to 6 have of the same rankers."""
    found = published("cosinet_table2")
    for table, dataset in (("table4", "WikiQA"), ("table5", "SQuAD-sent"), ("table6", "NQ-LA")):
        found = found.merge(published(f"cosinet_{table}")[["run", f"{dataset} MRR"]], how="left", on="run")
    return found


def trivial_rankers(study: "Study", pairs: Dataset, dataset: str = "WikiQA") -> pandas.DataFrame:
    """Cosinet Table 2: a random order of the test `pairs`, in exact expectation, and the rankers that learn nothing.

    dataset: whose published numbers stand beside them.
    """
    paper = published_rankers()
    chance = lexical.expected_random(pairs)
    first = {"run": "random", **{metric: 100 * chance[metric] for metric in results.METRICS}}
    first |= {**results.published_row(paper, "random", dataset), "questions": chance["questions"]}
    rankers = results.table(study, TRIVIAL, beside=paper, dataset=dataset)[[*first, "ties %"]]
    return pandas.concat([pandas.DataFrame(first, ["random order (expectation)"]), rankers]).rename_axis("ranker")


def sentences_trivial(found: pandas.DataFrame) -> list[str]:
    rows = found.set_index("run")
    best, chance, ties = rows.loc["lexical/overlap_then_rank"], rows.loc["random"], rows["ties %"]
    return [
        f"Word overlap with ties by the original order reaches MAP {number(best['MAP'])} and P@1 "
        f"{number(best['P@1'])}; a random order is expected to reach {number(chance['MAP'])} and "
        f"{number(chance['P@1'])}.",
        f"Word overlap alone has a tie at the top in {number(ties['lexical/word_overlap'], 0)} % of the questions, "
        "which count against it.",
    ]


def leakage(sets: dict[str, Dataset]) -> pandas.DataFrame:
    """Distinct questions and candidate sentences that two pair sets share, letter by letter (by 64-bit hashes).

    sets: name → pairs.  One row a pair of sets: `of`, `also in`, the two counts, and each as a share of the first's.
    """
    texts, rows = {name: [hashes(pairs, column) for column in _TEXTS] for name, pairs in sets.items()}, []
    for a, b in combinations(sets, 2):
        shared = [len(numpy.intersect1d(*both, assume_unique=True)) for both in zip(texts[a], texts[b], strict=True)]
        shares = [100 * count / max(1, len(own)) for count, own in zip(shared, texts[b], strict=True)]
        rows.append([b, a, *shared, *shares])
    return pandas.DataFrame(rows, columns=["of", "also in", "questions", "sentences", "questions %", "sentences %"])


def shared_sentences(shared: pandas.DataFrame) -> int:
    """Distinct sentences of the target test set that are in target train, too.  shared: from `leakage`."""
    return shared.query("`of` == 'target test' and `also in` == 'target train'")["sentences"].item()


def seen(sets: dict[str, Dataset], name: str) -> tuple[int, int]:
    """How many distinct questions of one set are also in another, and how many it has."""
    own = hashes(sets[name], "question")
    others = [hashes(pairs, "question") for other, pairs in sets.items() if other != name]
    return int(numpy.isin(own, numpy.concatenate(others)).sum()), len(own)


def sentences_leakage(shared: pandas.DataFrame, elsewhere: int, asked: int) -> list[str]:
    """shared: from `leakage`.  elsewhere, asked: from `seen`, of the target test set."""
    tested = shared[shared["of"] == "target test"].set_index("also in")
    taught, worst = tested.loc["target train"], tested.sort_values("sentences").iloc[-1]
    here = f"{taught['sentences']} ({number(taught['sentences %'])} %)" if taught["sentences"] else "none"
    most = f"the set that shares most with it is {worst.name}: {worst['sentences'] or 'none'}"
    return [
        f"{begin(some(elsewhere, asked, 'distinct questions'))} of the target test set also occur in another set.",
        f"Of its distinct sentences {here} also occur in target train; {most}.",
    ]


def hashes(pairs: Dataset, column: str) -> numpy.ndarray:
    """The distinct texts of a column, each as a 64-bit hash, sorted."""
    found = numpy.empty(0, numpy.uint64)
    for texts in _batches(pairs, column):
        batch = pandas.util.hash_array(texts.unique().to_numpy(zero_copy_only=False), categorize=False)
        found = numpy.union1d(found, batch)
    return found


def _column(pairs: Dataset, name: str) -> pyarrow.ChunkedArray:
    return pairs.with_format("arrow").select_columns([name])[:][name]


def _batches(pairs: Dataset, name: str) -> Iterator[pyarrow.Array]:
    column = _column(pairs, name)
    for start in range(0, len(column), _BATCH):
        yield column.slice(start, _BATCH).combine_chunks()


def _words(texts: pyarrow.Array) -> numpy.ndarray:
    return compute.list_value_length(compute.utf8_split_whitespace(compute.utf8_trim_whitespace(texts))).to_numpy()
