"""A `Ranker` by what it runs with and its precision, on WikiQA: MAP, size and time; beside sentence-transformers.

All take turns on one core; what counts is processor time, which other programs stretch far less than
the clock's. The package's own backends ask for another `transformers` than ours: they are measured where
`SERVING_PEERS` names a Python that has them (`bench/requirements-serving.txt`), in a process of its own, in turns too.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy
import pandas

from as2lib.metrics.ranking import summary
from as2lib.precision import machine
from as2lib.ranker import Ranker
from as2lib.serve import BACKENDS, installed
from bench import NotRun, wikiqa
from bench.serving_models import MODELS, fitted, new

TARGET = "ours ≥ 5 times as fast as CrossEncoder.predict, MAP within 0.5"
CANDIDATES = (1, 10, 100)
PLAIN = "{}: torch, float32"
PEERS = Path(__file__).with_name("serving_peers.py")
Ask = Callable[[list[tuple[str, str]]], list[float]]


def main(full: bool = False, names: tuple[str, ...] = MODELS, questions: int = 20, rounds: int = 3) -> dict[str, dict]:
    """full: fitted models and all questions of the test set, for MAP; else new classifiers over the same encoder."""
    if not any(installed(backend) for backend in BACKENDS):
        raise NotRun('neither OpenVINO nor ONNX Runtime is installed: pip install "as2lib[serve]"')
    pairs = wikiqa.pairs("test").to_pandas()
    kept = pairs["question_id"].unique()[: None if full else questions]
    pairs = pairs[pairs["question_id"].isin(kept)]
    texts = list(zip(pairs["question"], pairs["answer"], strict=True))
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as scratch:
        folders = {name: fitted(name) if full else new(name, Path(scratch) / name) for name in names}
        systems, sizes = ours(folders, Path(scratch))
        systems |= peers(folders["cross-encoder"], Path(scratch), sizes)
        seconds, scores = measured(systems, texts, rounds)
    rows = {}
    for name, times in seconds.items():
        of = name.partition(": ")[0]
        same = agreeing(pairs["question_id"], scores[name], scores[PLAIN.format(of if of in names else names[0])])
        rows[name] = (
            {"MAP": summary(pairs["question_id"], pairs["label"], numpy.array(scores[name]))["MAP"]} if full else {}
        )
        rows[name] |= {"same first as torch": same, "MiB": sizes[name], "pairs a second": len(texts) / times["all"]}
        rows[name] |= {f"ms, {count} candidates": 1000 * times[str(count)] for count in CANDIDATES}
        rows[name] |= {"pairs": len(texts), "questions": len(kept), "processor": machine()}
    return rows


def agreeing(question_id, scores: list[float], plain: list[float]) -> float:
    """The share of questions whose first candidate is the same by both scores."""
    table = pandas.DataFrame({"question_id": question_id, "a": scores, "b": plain}).groupby("question_id")
    return float((table["a"].idxmax() == table["b"].idxmax()).mean())


def measured(systems: dict[str, Ask], texts: list[tuple[str, str]], rounds: int) -> tuple[dict, dict]:
    """Processor seconds of each system, by number of candidates and of all pairs: medians of turns; and its scores."""
    jobs = {str(count): [(texts[0][0], answer) for _, answer in texts[:count]] for count in CANDIDATES} | {"all": texts}
    found: dict[str, dict[str, list[float]]] = {name: {job: [] for job in jobs} for name in systems}
    scores = {}
    for turn in range(rounds + 1):
        for name, ask in systems.items():
            for job, given in jobs.items():
                if job == "all" and turn == 0:
                    continue  # the shorter ones have warmed it up
                repeats = {"1": 10, "10": 3}.get(job, 1)
                scored, seconds = ask(given, repeats)
                scores[name] = scored
                if turn:
                    found[name][job].append(seconds)
    return {
        name: {job: statistics.median(times) for job, times in jobs.items()} for name, jobs in found.items()
    }, scores


def timed(score: Callable[[list[tuple[str, str]]], list[float]]) -> Ask:
    """A scorer that says the processor time of a call too, its threads' included."""

    def ask(pairs: list[tuple[str, str]], repeats: int = 1) -> tuple[list[float], float]:
        start = time.process_time()
        for _ in range(repeats):
            found = score(pairs)
        return found, (time.process_time() - start) / repeats

    return ask


def ours(folders: dict[str, Path], scratch: Path) -> tuple[dict[str, Ask], dict[str, float]]:
    """Each model with each backend and precision, by name; and their sizes in MiB."""
    from as2lib.serve.export import export

    systems, sizes = {}, {}
    train = wikiqa.pairs("train")
    for model, folder in folders.items():
        name = PLAIN.format(model)
        systems[name], sizes[name] = timed(by_question(Ranker.load(folder, backend="torch"))), megabytes(folder)
        for backend in filter(installed, BACKENDS):
            for precision, calibration in (("float32", None), ("int8", train)):
                name = f"{model}: {backend}, {precision}"
                out = export(folder, scratch / f"{folder.name}-{backend}-{precision}", backend, calibration)
                systems[name], sizes[name] = timed(by_question(Ranker.load(out))), megabytes(out)
    return systems, sizes


def by_question(ranker: Ranker) -> Callable[[list[tuple[str, str]]], list[float]]:
    """All pairs at once where a model can; the scores of pruned candidates stand below those of survivors."""

    def score(pairs: list[tuple[str, str]]) -> list[float]:
        if ranker.encoder is None:
            codes = numpy.unique([question for question, _ in pairs], return_inverse=True)[1]
            codes = numpy.cumsum(numpy.diff(codes, prepend=codes[0]) != 0)  # as they follow each other
            found = ranker.model.rank(pairs, codes)
            return (found.scores + found.last).tolist()
        from datasets import Dataset

        from as2lib.score import score as score_pairs

        wikiqa.forget_tokens()
        columns = {"question": [question for question, _ in pairs], "answer": [answer for _, answer in pairs]}
        given = Dataset.from_dict({"question_id": [question for question, _ in pairs], **columns})
        return score_pairs(ranker.model, given, ranker.encoder).score.tolist()

    return score


def peers(folder: Path, scratch: Path, sizes: dict[str, float]) -> dict[str, Ask]:
    """sentence-transformers as it is installed here, and its own backends where `SERVING_PEERS` names a Python."""
    systems = {}
    for python, which in ((sys.executable, "torch"), (os.environ.get("SERVING_PEERS"), "backends")):
        if python is None:
            continue
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        command = [python, str(PEERS), which, str(folder.resolve()), str(scratch / which)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environment}
        process = subprocess.Popen(command, **pipes)
        for name, size in json.loads(process.stdout.readline()).items():

            def ask(pairs, repeats=1, name=name, process=process):
                process.stdin.write(json.dumps([name, pairs, repeats]) + "\n")
                process.stdin.flush()
                return json.loads(process.stdout.readline())

            systems[name], sizes[name] = ask, size
    return systems


def megabytes(folder: Path) -> float:
    """What a model's weights and graph take on disk, in MiB."""
    kinds = (".safetensors", ".onnx", ".xml", ".bin")
    return sum(path.stat().st_size for path in folder.iterdir() if path.suffix in kinds) / 2**20
