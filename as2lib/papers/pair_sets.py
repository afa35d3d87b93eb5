"""What a study's pair sets look like, what they share, and the papers' own counts of them; trains nothing.

Where the texts of a set are not at hand, published scores still say which pairs are correct: counts need no text.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations, product

import numpy
import pandas
from datasets import Dataset

from as2lib.data import sets
from as2lib.data.pairs import load_pairs, load_parts
from as2lib.metrics import ranking
from as2lib.models import lexical
from as2lib.papers import paper_tables
from as2lib.paths import local_folder
from as2lib.study import Study, results
from as2lib.study.recipes import Lexical

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
PLACES_SHOWN = 12  # of a list
RATES = ["candidates a question", "correct a question"]
CASCADE = [f"Cascade {name}" for name in ("questions", *RATES)]
TEXTS = {"question": "words a question", "answer": "words a candidate"}
# Table, policy, paper, in the order in which they count: of two that count alike the later comes first.
PUBLISHED = (
    ("cosinet", "statistics", "all", "Cosinet"),
    ("cascade", "table1", "answered", "Cascade"),
    ("cerberus", "table1", "answered", "CERBERUS"),
)


def set_of(part: str) -> str:
    """Our short name of the known set that a part belongs to; of any other its source."""
    source = sets.split_part(part)[0].partition("@")[0]
    return sets.SHORT.get(source, source)


def published_set(study: Study) -> str:
    """The set whose published numbers stand beside a study's: that of its target, WikiQA where no paper has that."""
    return BESIDE.get(set_of(study.data.target.test[0]), "WikiQA")


# ---------------------------------------------------------------- the study's own sets


def of_study(study: Study) -> dict[str, Dataset]:
    """The pair sets that a study is made of, as `pairs_of` has them; "target test" last, which is compared with all."""
    parts = {}
    for role in ("target", "transfer"):
        if pairs := getattr(study.data, role):
            parts |= {f"{role} {split}": names for split, names in pairs.model_dump().items()}
    parts["target test"] = parts.pop("target test")
    pair_sets = {name: pairs_of(study, names) for name, names in parts.items() if names}
    return {name: pairs for name, pairs in pair_sets.items() if pairs is not None}


def pairs_of(study: Study, parts: Sequence[str]) -> Dataset | None:
    """Every pair of some parts: with texts, or as published scores have them; None where neither is here."""
    try:
        return load_parts(tuple(parts), "all")
    except FileNotFoundError:
        return as_scored(study, parts)


def as_scored(study: Study, parts: Sequence[str]) -> Dataset | None:
    scores = baseline_scores(study, parts)
    return None if scores is None else Dataset.from_pandas(scores[["question_id", "label"]], preserve_index=False)


def baseline_scores(study: Study, parts: Sequence[str], scorer: str | None = None) -> pandas.DataFrame | None:
    """What a ranker that learns nothing (default: any) scored on some parts; None where no run of it is here."""
    for name, run in study.plan.items():
        if isinstance(run.recipe, Lexical) and scorer in (None, run.recipe.scorer):
            for split in ("dev", "test"):
                if tuple(run.data.get(split, ())) == tuple(parts) and (stored := study.store.find(name)):
                    return stored.scores(split)
    return None


def has_texts(pairs: Dataset) -> bool:
    return "answer" in pairs.column_names


def sources(study: Study) -> pandas.DataFrame:
    """What each set of a study is made of, index `set`, a column a split: "SelQA dev + WikiQA test ≥ 15"."""
    roles = {"target": study.data.target, "transfer": study.data.transfer}
    if study.cascade:
        roles["wide (page 8)"] = study.wide
        roles |= {f"{name} (page 8)": pairs for name, pairs in study.cascade.targets.items()}
    if study.govern:
        roles["transfer (page 10)"] = study.govern.transfer
    rows = {}
    for name, pairs in roles.items():
        if pairs:
            rows[name] = {split: _sum_of(parts) for split, parts in pairs.model_dump().items() if parts}
    if study.govern:
        rows["unlabelled pool (page 10)"] = {"train": _sum_of(study.govern.unlabelled)}
    return pandas.DataFrame.from_dict(rows, orient="index").rename_axis("set")


def _sum_of(parts: Sequence[str]) -> str:
    names = [f"{title(part)} {sets.split_part(part)[1] or ''}" for part in parts]
    return " + ".join(names).replace(">=", " ≥ ").replace("=", ": ")


def title(part: str) -> str:
    return PAPERS.get(set_of(part)) or sets.split_part(part)[0]


def owners(study: Study, parts: Sequence[str], questions: Sequence[str]) -> pandas.Series:
    """The set that each question of some parts is of, index its id; the last part's where nothing says another."""
    owners = pandas.Series(title(parts[-1]), index=questions)
    for part in parts[:-1]:
        source, split = sets.split_part(part)
        pairs = pairs_of(study, [f"{source}:{sets.with_only(split)[0]}"])
        if pairs is not None:
            owners[owners.index.isin(pairs.unique("question_id"))] = title(part)
    return owners


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


def correct_by_position(pairs: Dataset) -> pandas.DataFrame:
    """Percent of the candidates in each of the first places that are correct: columns position, correct."""
    answered = results.answered(pandas.DataFrame({name: pairs[name] for name in ("question_id", "label")}))
    position = answered.groupby("question_id", sort=False).cumcount() + 1
    correct = 100 * answered["label"].groupby(position.rename("position")).mean().head(PLACES_SHOWN)
    return correct.rename("correct").reset_index()


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


def leakage(pair_sets: Mapping[str, Dataset]) -> pandas.DataFrame:
    """Distinct questions, candidates and correct ones that two sets share, and percent of the first's."""
    counts, texts = ["questions", "sentences", "correct sentences"], {}
    for name, pairs in pair_sets.items():
        correct = pairs.select(numpy.flatnonzero(numpy.asarray(pairs["label"][:]) == 1))
        texts[name] = [hashes(pairs, "question"), hashes(pairs, "answer"), hashes(correct, "answer")]
    rows = []
    for a, b in combinations(pair_sets, 2):
        row = {"of": b, "also in": a}
        for count, of_a, of_b in zip(counts, texts[a], texts[b], strict=True):
            shared = len(numpy.intersect1d(of_a, of_b, assume_unique=True))
            row |= {count: shared, f"{count} %": 100 * shared / max(1, len(of_b))}
        rows.append(row)
    columns = ["of", "also in", *counts, *(f"{count} %" for count in counts)]
    return pandas.DataFrame(rows, columns=columns).set_index("of")


def questions_elsewhere(pair_sets: Mapping[str, Dataset], name: str) -> tuple[int, int]:
    """How many distinct questions of one set are also in others, and how many it has."""
    questions = hashes(pair_sets[name], "question")
    others = [hashes(pairs, "question") for other, pairs in pair_sets.items() if other != name]
    elsewhere = numpy.isin(questions, numpy.concatenate(others)).sum() if others else 0
    return int(elsewhere), len(questions)


def hashes(pairs: Dataset, column: str) -> numpy.ndarray:
    """The distinct texts of a column, each as a 64-bit hash, sorted."""
    texts = pairs.with_format("arrow").select_columns([column])[:][column].unique().to_pandas()
    return numpy.unique(pandas.util.hash_array(texts.to_numpy(), categorize=False))


# ---------------------------------------------------------------- the papers' sets


def papers_sets(study: Study) -> pandas.DataFrame:
    """Every set of the papers, split by split: what this study has of it under each policy, beside the papers' counts.

    A set is part of the study where its target, its transfer set or `data.describe` names it.  in this study: "yes",
    "no", "not here" (neither texts nor scores), "not at hand" (no such split).  questions kept: the policy; Cosinet
    counts every question, the other papers answered ones.
    """
    used = [study.data.target, *filter(None, [study.data.transfer])]
    names = [set_of(part) for pairs in used for parts in pairs.model_dump().values() for part in parts]
    sources = [*(name for name in names if name in PAPERS), *study.data.describe]
    here, printed = {source.partition("@")[0]: source for source in sources}, printed_counts(study)
    rows = []
    for name, split in product(dict.fromkeys([*PAPERS, *here]), sets.SPLITS):
        title, state, counts = PAPERS.get(name, name), "no", {}
        if name in here:
            try:
                pairs = pairs_of(study, [f"{here[name]}:{split}"])
                state = "not here" if pairs is None else "yes"
                counts = {} if pairs is None else statistics(pairs).to_dict("index")
            except sets.NoSplit:
                state = "not at hand"
        policies = [each for each in reversed(ranking.POLICIES) if each in counts or (title, split, each) in printed]
        for policy in policies or [None] * (name in here):
            row = {"set": title, "split": split, "in this study": state, "questions kept": policy}
            rows.append(row | counts.get(policy, {}) | printed.get((title, split, policy), {}))
    published = [f"published {name}" for name in COUNTS]
    columns = ["split", "in this study", "questions kept", *COUNTS, *RATES, *published, "published by", *CASCADE]
    table = pandas.DataFrame(rows, columns=["set", *columns]).set_index("set")
    return table.astype(dict.fromkeys([*COUNTS, *published, CASCADE[0]], "Int64"))


def printed_counts(study: Study) -> dict[tuple[str, str, str], dict[str, float | str]]:
    """(set, split, the policy that a paper follows) → its counts."""
    counts: dict[tuple[str, str, str], dict[str, float | str]] = {}
    for paper, table, policy, author in PUBLISHED:
        for place, row in paper_tables.printed(study, paper, table).set_index(["dataset", "split"]).iterrows():
            of_place = counts.setdefault((*place, policy), {})
            of_place |= {f"published {name}": row[name] for name in COUNTS if name in row} | {"published by": author}
            of_place |= dict(zip(CASCADE, row, strict=True)) if author == "Cascade" else {}
    return counts


def totals(study: Study, papers: pandas.DataFrame) -> pandas.DataFrame:
    """Questions and pairs of whole sets: CERBERUS Table 1 summed, its appendix, and, where `papers_sets` has every
    split of a set, what is here under each policy, and under "answered" in train and "mixed" in dev and test.
    """
    table1, appendix = (paper_tables.printed(study, "cerberus", name) for name in ("table1", "appendix"))
    rows = []
    for _, stated in appendix.iterrows():
        title = stated["dataset"]
        summed = table1[table1["dataset"] == title][["questions", "pairs"]].sum()
        counted = {"CERBERUS Table 1, summed": summed, "CERBERUS, appendix": stated[["questions", "pairs"]]}
        here = papers.loc[[title]].dropna(subset="questions") if title in papers.index else papers.iloc[:0]
        if len(here) == len(sets.SPLITS) * len(ranking.POLICIES):
            keeps, train = here["questions kept"], here["split"] == "train"
            chosen = {f"here: {policy}": keeps == policy for policy in reversed(ranking.POLICIES)}
            chosen["here: answered in train, mixed in dev and test"] = keeps == numpy.where(train, "answered", "mixed")
            counted |= {label: here.loc[which, ["questions", "pairs"]].sum() for label, which in chosen.items()}
        rows += [{"set": title, "counted": label, **counts.astype(int)} for label, counts in counted.items()]
    return pandas.DataFrame(rows, columns=["set", "counted", "questions", "pairs"]).set_index("set")
