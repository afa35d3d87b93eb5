"""How time and memory grow with pairs, candidates, heads, teachers and runs of a plan: the exponent n of a law x^n.

Fitted on log axes through the last decade of sizes, where constant costs count least.  `--full` goes to a million pairs
and 10,000 runs, and draws `bench/growth.png`.
"""

import io
import statistics
import time
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from pathlib import Path

import numpy
import torch

from as2lib import Study
from as2lib.commands import print_plan
from as2lib.data.pairs import load_pairs
from as2lib.losses import govern
from as2lib.losses.multi_teacher import kd_sum
from as2lib.metrics.ranking import summary
from as2lib.models import cross_encoder
from as2lib.models.mhs import MHSForSequenceClassification
from as2lib.paths import find_root
from as2lib.ranker import Ranker
from as2lib.score import score
from bench.making import WORDS, generate, small_model
from bench.memory import held, watched

TARGET = "no exponent above 1.1: nothing grows faster than what it is asked for"
ROUNDS = 3
FIGURE = Path(__file__).with_suffix(".png")
Curve = dict[int, float]  # size → seconds, or MiB


def main(full: bool = False) -> dict[str, dict[str, float | str]]:
    curves = {}
    for law, sizes in {
        of_pairs: [10_000, 30_000, 100_000, 300_000, 1_000_000] if full else [3_000, 10_000, 30_000],
        of_candidates: [10, 100, 1_000, 10_000] if full else [10, 100, 1_000],
        of_heads: [1, 3, 5, 7, 9],
        of_teachers: [30, 300, 3_000] if full else [30, 100, 300],
        of_runs: [100, 300, 1_000, 3_000, 10_000] if full else [100, 300, 1_000],
    }.items():
        curves |= law(sizes)
    if full:
        draw(curves)
    return {name: row(curve) for name, curve in curves.items()}


def row(curve: Curve) -> dict[str, float | str]:
    (small, first), (large, last) = min(curve.items()), max(curve.items())
    return {"exponent": exponent(curve), f"at {small:,}": first, f"at {large:,}": last, "precision": "float32"}


def exponent(curve: Curve) -> float:
    """The slope on log axes of a line through the largest sizes: those of the last decade, three at least."""
    sizes = sorted(curve)[-max(3, sum(10 * size >= max(curve) for size in curve)) :]
    return float(numpy.polyfit(numpy.log(sizes), numpy.log([curve[size] for size in sizes]), 1)[0])


def of_pairs(sizes: Iterable[int]) -> dict[str, Curve]:
    """Loading, tokenising, scoring and measuring generated pairs: seconds, and MiB beyond what was held before."""
    model, encoder = small_model()
    found: dict[str, Curve] = {}
    for size in sizes:
        path = generate(find_root() / f"{size}.tsv", size)
        before, peaks = held(), []

        def step(name: str, function: Callable, *given, size=size, peaks=peaks):
            turn = watched(lambda: function(*given))
            found.setdefault(f"pairs: {name}, s", {})[size] = turn.seconds
            peaks.append(round(turn.gib * 2**20))
            return turn.result

        pairs = step("load", lambda path: load_pairs(path, questions="all"), path)
        step("encode", encoder.encode, pairs)
        scores = step("score", score, model, pairs, encoder)
        given = pairs["question_id"][:], pairs["label"][:], scores.score
        step("measure", summary, *given)
        found.setdefault("pairs: memory, MiB", {})[size] = max(1.0, (max(peaks) - before) / 1024)
    return found


def of_candidates(sizes: Iterable[int]) -> dict[str, Curve]:
    """Ranking the candidates of one question."""
    ranker = Ranker(*small_model())
    lists = {size: [f"{WORDS[i % 2000]} {WORDS[i * 7 % 2000]} {i}" for i in range(size)] for size in sizes}
    return {"candidates: rank, s": timed(lists, lambda given: ranker.rank("what is w1 ?", given))}


def of_heads(sizes: Iterable[int]) -> dict[str, Curve]:
    """The forward of students with a body of three layers and so many heads of one."""
    config = {"model_type": "electra", "vocab_size": 1_000, "embedding_size": 64, "hidden_size": 64}
    config |= {"num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 128}
    ids = torch.randint(5, 1_000, (64, 32), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids)
    students = {k: MHSForSequenceClassification.from_backbone(cross_encoder.build(config), 3, k).eval() for k in sizes}
    with torch.inference_mode():
        return {"heads: forward, s": timed(students, lambda student: student(input_ids=ids, attention_mask=mask))}


def of_teachers(sizes: Iterable[int]) -> dict[str, Curve]:
    """Losses of one student and so many teachers, and their gradients."""
    generator = torch.Generator().manual_seed(0)
    logits = {k: torch.randn(256, k, 2, generator=generator) for k in sizes}
    labels, student = torch.arange(256) % 2, torch.randn(256, 2, generator=generator).requires_grad_()
    found = {
        "kd_sum": lambda teachers: kd_sum(student, teachers, labels, 0.5, 3.0),
        "govern": lambda teachers: govern.govern(student.softmax(-1)[:, 1], teachers.softmax(-1)[..., 1]),
        "ca_mkd": lambda teachers: govern.ca_mkd(student.softmax(-1)[:, 1], teachers.softmax(-1)[..., 1], labels),
    }
    return {
        f"teachers: {name}, s": timed(logits, lambda teachers, loss=loss: loss(teachers).total.backward())
        for name, loss in found.items()
    }


def of_runs(sizes: Iterable[int]) -> dict[str, Curve]:
    """`as2 plan` of the sample study with as many seeds as give so many runs, nothing of it done."""
    one, two = (len(Study.load("sample", seeds(n)).plan) for n in (1, 2))
    found = {}
    for size in sizes:
        study = Study.load("sample", seeds(max(1, round((size - one) / (two - one)) + 1)))
        found[len(study.plan)] = timed({0: study}, lambda study: planned(study), rounds=1)[0]
    return {"runs: plan, s": found}


def seeds(count: int) -> dict[str, list[int]]:
    return {"seeds": [*range(count)], "grid_seeds": [0]}


def planned(study: Study) -> None:
    with redirect_stdout(io.StringIO()):
        print_plan(study.store)


def timed(cases: dict[int, object], function: Callable, rounds: int = ROUNDS) -> Curve:
    """Median processor seconds of each case, which a busy machine hardly moves; after one round that is not timed."""
    turns: dict[int, list[float]] = {size: [] for size in cases}
    for turn in range(rounds + (rounds > 1)):
        for size, case in cases.items():
            started = time.process_time()
            function(case)
            turns[size] += [time.process_time() - started] if turn or rounds == 1 else []
    return {size: max(statistics.median(seconds), 1e-6) for size, seconds in turns.items()}


def draw(curves: dict[str, Curve]) -> None:
    from matplotlib import pyplot

    families = dict.fromkeys(name.partition(":")[0] for name in curves)
    figure, axes = pyplot.subplots(1, len(families), figsize=(3.1 * len(families), 3.2), layout="constrained")
    for family, panel in zip(families, axes, strict=True):
        for name, curve in curves.items():
            if name.startswith(f"{family}:"):
                label = f"{name.partition(': ')[2]}  n = {exponent(curve):.2f}"
                panel.plot(*zip(*sorted(curve.items()), strict=True), "o-", markersize=3, label=label)
        panel.set(xscale="log", yscale="log", xlabel=family, title=f"by {family}")
        panel.legend(fontsize=7, frameon=False)
    axes[0].set_ylabel("seconds (memory: MiB)")
    figure.savefig(FIGURE, dpi=110)
