"""A `Ranker` by what it runs with and its precision, on WikiQA: MAP, size and time.

All take turns on one core; what counts is processor time, which other programs stretch far less than
the clock's. A pair of the test set is scored once by each system: every turn takes another part of the questions, and
pairs a second are those of all turns.
"""

import os
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path

import numpy
import pandas
import torch

from as2lib.export import INT8, PACKAGES, export
from as2lib.metrics.ranking import summary
from as2lib.precision import machine
from as2lib.ranker import Ranker
from bench import NotRun, wikiqa
from bench.serving_models import MODELS, fitted, new

TARGET = "ours ≥ 5 times as fast as CrossEncoder.predict, MAP within 0.5"
CANDIDATES = (1, 10, 100)
PLAIN = "{}: torch, float32"
REPEATS = {1: 10, 10: 3}  # of what takes little time
ALL, ALPHA = "all", 0.3  # all pairs of the set; the share that a stage of the cascade drops
Pairs = list[tuple[str, str]]
Ask = Callable[[Pairs, int], tuple[list[float], float]]  # pairs, how often → a score of each, seconds


def main(full: bool = False, names: tuple[str, ...] = MODELS, questions: int = 20, rounds: int = 3) -> dict[str, dict]:
    """full: fitted models and all questions of the test set, for MAP; else new classifiers over the same encoder."""
    if not installed():
        raise NotRun('neither OpenVINO nor ONNX Runtime is installed with nncf: pip install ".[serve]" in the clone')
    pairs = wikiqa.pairs("test").to_pandas()
    kept = pairs["question_id"].unique()[: None if full else questions]
    pairs = pairs[pairs["question_id"].isin(kept)]
    texts = list(zip(pairs["question"], pairs["answer"], strict=True))
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    torch.set_num_threads(1)  # a second thread would wait for the core, and its waiting would count
    with tempfile.TemporaryDirectory() as scratch:
        folders = {name: fitted(name) if full else new(name, Path(scratch) / name) for name in names}
        systems, sizes = ours(folders, Path(scratch))
        seconds, scores = measured(systems, texts, rounds)
    rows = {}
    for name, times in seconds.iterrows():
        of = name.partition(": ")[0]
        plain = scores[PLAIN.format(of if of in names else names[0])]
        row = {"MAP": summary(pairs["question_id"], pairs["label"], scores[name])["MAP"]} if full else {}
        rows[name if full else f"{name}, new classifiers"] = {  # what `--full` measured stays beside it
            **row,
            "same first as torch": agreeing(pairs["question_id"], scores[name], plain),
            "MiB": sizes[name],
            "pairs a second": len(texts) / times[ALL],
            **{f"ms, {count} candidates": 1000 * times[count] for count in CANDIDATES},
            "pairs": len(texts),
            "questions": len(kept),
            "processor": machine(),
        }
    return rows


def agreeing(question_id: pandas.Series, scores: numpy.ndarray, plain: numpy.ndarray) -> float:
    """The share of questions whose first candidate is the same by both scores."""
    firsts = [pandas.Series(given).groupby(question_id.to_numpy()).idxmax() for given in (scores, plain)]
    return float((firsts[0] == firsts[1]).mean())


def measured(systems: dict[str, Ask], texts: Pairs, rounds: int) -> tuple[pandas.DataFrame, dict[str, numpy.ndarray]]:
    """Processor seconds of each system, by number of candidates (medians of turns) and of all pairs; and its scores."""
    short = {count: [(texts[0][0], answer) for _, answer in texts[:count]] for count in CANDIDATES}
    questions = [list(own) for _, own in groupby(texts, itemgetter(0))]
    times, scores = [], {name: [] for name in systems}
    for ask in systems.values():
        ask(short[10], 1)  # it warms up
    for part in numpy.array_split(numpy.arange(len(questions)), rounds):
        turn = {**short, ALL: list(chain.from_iterable(questions[place] for place in part))}
        for name, ask in systems.items():
            for count, given in turn.items():
                scored, seconds = ask(given, REPEATS.get(count, 1))
                times.append((name, count, seconds))
            scores[name] += scored  # the last are those of all pairs
    table = pandas.DataFrame(times, columns=["system", "count", "seconds"])
    seconds = table.pivot_table("seconds", "system", "count", "median", sort=False)
    seconds[ALL] = table[table["count"] == ALL].groupby("system")["seconds"].sum()
    return seconds, {name: numpy.array(each) for name, each in scores.items()}


def timed(score: Callable[[Pairs], list[float]]) -> Ask:
    """A scorer that says the processor time of a call too, its threads' included."""

    def ask(pairs: Pairs, repeats: int) -> tuple[list[float], float]:
        start = time.process_time()
        for _ in range(repeats):
            scores = score(pairs)
        return scores, (time.process_time() - start) / repeats

    return ask


def ours(folders: dict[str, Path], scratch: Path) -> tuple[dict[str, Ask], dict[str, float]]:
    """Each model with each backend and precision, by name; and their sizes in MiB.  A cascade prunes with each."""
    systems, sizes = {}, {}
    train = wikiqa.pairs("train")
    for model, folder in folders.items():
        name, alpha = PLAIN.format(model), ALPHA if model == "cascade" else None
        systems[name] = timed(by_question(Ranker.load(folder, alpha=alpha)))
        sizes[name] = megabytes(folder)
        for backend in installed():
            for precision, calibration in (("float32", None), ("int8", train))[: 1 + (backend == INT8)]:
                name = f"{model}: {backend}, {precision}"
                out = scratch / f"{folder.name}-{backend}-{precision}"
                export(folder, out, backend, calibration)
                systems[name], sizes[name] = timed(by_question(Ranker.load(out, alpha=alpha))), megabytes(out)
    return systems, sizes


def installed() -> list[str]:
    """The backends that a model can be exported to here, int8 included."""
    return [name for name, packages in PACKAGES.items() if all(map(find_spec, (*packages, "nncf")))]


def by_question(ranker: Ranker) -> Callable[[Pairs], list[float]]:
    """The places of pairs in their question, from 0 downwards: a pruned candidate stands below all that were not."""

    def score(pairs: Pairs) -> list[float]:
        lists = [(question, [answer for _, answer in own]) for question, own in groupby(pairs, itemgetter(0))]
        scores = []
        for ranking in ranker.rank(*map(list, zip(*lists, strict=True))):
            places = {ranked.position: -float(place) for place, ranked in enumerate(ranking)}
            scores += [places[position] for position in range(len(places))]
        return scores

    return score


def megabytes(folder: Path) -> float:
    """What a model's weights and graph take on disk, in MiB."""
    kinds = (".safetensors", ".onnx", ".xml", ".bin")
    return sum(path.stat().st_size for path in folder.iterdir() if path.suffix in kinds) / 2**20
