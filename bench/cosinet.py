"""`Cosinet`, list-wise with a BiRNN: three epochs of WikiQA, several questions a step."""

import statistics
import time
from contextlib import nullcontext

import numpy
import torch

from as2lib import Study
from as2lib.data.pairs import load_parts
from as2lib.kernels.cosinet import reading_whole_batches
from as2lib.metrics.ranking import summary
from as2lib.models.cosinet import Cosinet
from as2lib.runs.fit.batches import GroupedBatches, Items
from as2lib.runs.fit.objectives import objective
from as2lib.runs.fit.start import start
from as2lib.runs.fit.trainer import slanted_triangle
from as2lib.runs.make import resolved
from as2lib.score import autocast, score
from bench import NotRun
from bench.memory import watched
from bench.timing import PRECISIONS, ROUNDS, ratio

TARGET = "under 5 s in float32 and 3 s in bf16 (published: 8.9 s on a GTX 1080 Ti); MAP 75.6"
RUN = "cosinet/birnn/seed-0"
EPOCHS, CUT, RATIO = 3, 0.1, 32
QUESTIONS, RATE = 12, 7e-4  # of a step; MAP as with the study's one question a step and 2e-4


def train(study: Study, precision: str, questions: int, rate: float, seed: int = 0) -> dict[str, float]:
    """Seconds of three epochs once the data is encoded, and of scoring the test set; MAP and MRR on it, in percent."""
    job = resolved(study.store, RUN)
    run = job.run
    torch.manual_seed(seed)
    model, encoder = start(job)
    pairs = load_parts(tuple(run.data["train"]), "answered")
    items = Items(encoder.encode(pairs), pairs["label"], [])
    length = numpy.asarray(items.encoded["length"])
    rows = items.__getitems__(list(range(len(items))))  # encoded and in memory
    steps = EPOCHS * -(-len(rows) // questions)
    loss, optimizer = objective(run.spec), torch.optim.Adam(model.parameters(), rate, fused=True)
    started = time.perf_counter()
    for step, chosen in enumerate(GroupedBatches(length, questions, steps, seed)):
        optimizer.param_groups[0]["lr"] = rate * slanted_triangle(step, steps, CUT, RATIO)
        batch = encoder.collate([rows[row] for row in chosen])
        labels = batch.pop("labels")
        with reading_whole_batches(model), autocast("cpu", precision):
            total = loss(model.train()(**batch), {"labels": labels}, step).total
        total.backward()
        optimizer.step()
        optimizer.zero_grad()
    trained = time.perf_counter()
    test = load_parts(tuple(run.data["test"]), "answered")
    encoder.encode(test)
    encoded = time.perf_counter()
    found = score(model, test, encoder, precision).score
    scored = time.perf_counter() - encoded
    metrics = summary(test["question_id"], test["label"], found)
    return {
        "seconds": trained - started,
        "scoring": scored,
        "MAP": 100 * metrics["MAP"],
        "MRR": 100 * metrics["MRR"],
    }


def step_ratio(rounds: int) -> dict[str, float]:
    """A step over questions of random words, as the model says and with its kernels, in turns."""
    torch.manual_seed(0)
    model, loss = Cosinet(torch.randn(5000, 300), rank_rnn="rnn", bidirectional=True), objective({"loss": "bce"})
    asked, candidates = torch.randint(5, 10, (QUESTIONS,)), torch.randint(5, 15, (QUESTIONS,))
    said = torch.randint(8, 40, (int(candidates.sum()),))
    texts = {"question": asked, "candidate": said}
    batch = {f"{name}_words": torch.randint(0, 5000, (int(lengths.sum()),)) for name, lengths in texts.items()}
    batch |= {"question_lengths": asked, "candidate_lengths": said, "candidates": candidates}

    def step(inside) -> None:
        with inside(model):
            loss(model(**batch), {"labels": torch.zeros(len(said))}, 0).total.backward()

    found = ratio(lambda: step(nullcontext), lambda: step(reading_whole_batches), rounds)
    return {**found, "precision": "float32", "questions a step": QUESTIONS}


def main(study: str = "wikiqa", rounds: int = ROUNDS) -> dict[str, dict[str, float]]:
    """Rows by precision: median seconds of training and of scoring, one seed a round, MAP and MRR over the seeds.

    And one of a step, with and without the kernels.
    """
    try:
        loaded = Study.load(study)
        load_parts(tuple(loaded.data.target.train), "answered")
    except (OSError, ValueError) as error:
        raise NotRun(str(error).splitlines()[0]) from None
    turns: dict[str, list[dict[str, float]]] = {precision: [] for precision in PRECISIONS}
    for seed in range(rounds):
        for precision, found in turns.items():
            turn = watched(lambda precision=precision, seed=seed: train(loaded, precision, QUESTIONS, RATE, seed))
            found.append({**turn.result, "peak_gib": turn.gib})
    rows = {}
    for precision, found in turns.items():
        rows[precision] = {name: statistics.median(turn[name] for turn in found) for name in found[0]}
        for name in ("MAP", "MRR"):
            values = [turn[name] for turn in found]
            rows[precision] |= {name: statistics.mean(values), f"{name} ±": statistics.stdev(values)}
        rows[precision] |= {"precision": precision, "seeds": rounds, "questions a step": QUESTIONS, "rate": RATE}
    return {**rows, "a step, plain against kernels": step_ratio(rounds)}
