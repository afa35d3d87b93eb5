"""What small commands cost: ranking two sentences with a tiny model, cold and warm; planning a large study."""

import resource
import statistics
import subprocess
import sys
import tempfile

from as2lib.ranker import Ranker
from bench.measuring import measure
from bench.small import small_model

TARGET = "as2 rank of two sentences ≤ 4 s, a warm call ≤ 3 ms, as2 plan paper < 2 s"
ROUNDS = 3
QUESTION, CANDIDATES = "who sank the boat ?", ["ada sank the boat", "the boat is red"]


def main(rounds: int = ROUNDS, study: str = "paper") -> dict[str, dict[str, float | str]]:
    """Processor seconds of whole processes, imports included, and milliseconds of a call; medians."""
    with tempfile.TemporaryDirectory() as folder:
        model, encoder = small_model([QUESTION, *CANDIDATES])
        model.save_pretrained(folder)
        encoder.save(folder)
        commands = {
            "imports of a transformers model": ["-c", "import torch, transformers.models.bert.modeling_bert"],
            "as2 rank, cold": ["-m", "as2lib", "rank", folder, QUESTION, *CANDIDATES],
            f"as2 plan {study}": ["-m", "as2lib", "plan", study],
        }
        rows = {
            name: {"seconds": statistics.median(processor_seconds(command) for _ in range(rounds))}
            for name, command in commands.items()
        }
        ranker = Ranker.load(folder)
        warm = measure({"rank": lambda: ranker.rank(QUESTION, CANDIDATES)}, 20 * rounds)["rank"].seconds
    return {**rows, "Ranker.rank, warm": {"ms": 1000 * warm, "precision": "float32"}}


def processor_seconds(arguments: list[str]) -> float:
    """Of a Python process and what it starts, user and system."""

    def spent() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = spent()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return spent() - before
