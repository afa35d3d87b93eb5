"""What pair sets look like, what they share, and the papers' own counts beside them; reads texts in batches."""

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

import numpy
import pandas
import pyarrow
import pyarrow.compute as compute
from datasets import Dataset

from as2lib.data import sources
from as2lib.data.sources import SPLITS
from as2lib.metrics.ranking import POLICIES, kept
from as2lib.models import lexical
from as2lib.papers.cerberus.systems import TRIVIAL
from as2lib.runs import results
from as2lib.runs.results import published
from as2lib.runs.texts import has_texts, missing, pairs_of
from as2lib.runs.wording import begin, number, some

if TYPE_CHECKING:
    from as2lib.study import Study

COUNTS = ["questions", "pairs", "correct"]
RATES = ["candidates a question", "correct a question"]
CASCADE = [f"Cascade {name}" for name in ("questions", *RATES)]
PAPERS = results.PAPERS_SETS
PAPERS_CAPTION = (
    "Published under “all”: Cosinet, Table 2; under “answered”: CERBERUS, Table 1, and of GPD and TREC-QA Cascade "
    "Transformer, Table 1. In this study: its parameters name the set; “not here”: they do, but params/local.yaml "
    "does not map it."
)
_TEXTS = {"question": "words a question", "answer": "words a candidate"}
# Table, policy, paper: of two that count alike the later comes first.
_PUBLISHED = (
    ("cosinet_statistics", "all", "Cosinet"),
    ("cascade_table1", "answered", "Cascade"),
    ("cerberus_table1", "answered", "CERBERUS"),
)
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


def trivial_rankers(study: "Study", pairs: Dataset, dataset: str = "WikiQA") -> pandas.DataFrame:
    """Cosinet Table 2: a random order of the test `pairs`, in exact expectation, and the rankers that learn nothing.

    dataset: whose published numbers stand beside them.
    """
    paper = published("cosinet_table2")
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


def papers_sets(study: "Study") -> pandas.DataFrame:
    """Every set of the papers, split by split: what this study has of it under each policy, beside the papers' counts.

    A set is part of the study where its target, its transfer sets or `data.describe` name it; of the others only what
    is published stands here, so that the table depends on the parameters alone. Index: set. Columns: split, in this
    study ("yes", "no", "not here", "no such split"), questions kept (the policy), what `statistics` counts, the same as
    published, by whom, and the Cascade Transformer's counts. Cosinet counts every question, the others answered ones.
    """
    here, rows = {source.partition("@")[0]: source for source in described(study)}, []
    for name in dict.fromkeys([*PAPERS, *here]):
        title = PAPERS.get(name, name)
        for split in SPLITS:
            found, beside = _find(study, here[name], split) if name in here else "no", _published(title, split)
            row = {"set": title, "split": split, "in this study": found if isinstance(found, str) else "yes"}
            ours = {} if isinstance(found, str) else statistics(found).to_dict("index")
            if ours and (title, split) == ("TREC-QA", "train"):
                row["split"] = f"train ({trec_training_set(found)})"
            policies = [policy for policy in reversed(POLICIES) if policy in ours or policy in beside]
            for policy in policies or [None] * (name in here):
                kept_here = {"questions kept": policy} if policy else {}
                rows.append(row | kept_here | ours.get(policy, {}) | beside.get(policy, {}))
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
    parts = [part for pairs in used for split in SPLITS for part in getattr(pairs, split)]
    names = [sources.split_part(part)[0].partition("@")[0] for part in parts]
    short = {hub.name: name for name, hub in sources.HUB_SETS.items()}
    known = (short.get(name, name) for name in names)
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


def _column(pairs: Dataset, name: str) -> pyarrow.ChunkedArray:
    return pairs.with_format("arrow").select_columns([name])[:][name]


def _batches(pairs: Dataset, name: str) -> Iterator[pyarrow.Array]:
    column = _column(pairs, name)
    for start in range(0, len(column), _BATCH):
        yield column.slice(start, _BATCH).combine_chunks()


def _words(texts: pyarrow.Array) -> numpy.ndarray:
    return compute.list_value_length(compute.utf8_split_whitespace(compute.utf8_trim_whitespace(texts))).to_numpy()
