"""One `Ranker` that sixteen threads call some thousand times: the memory that the process holds stays flat."""

import random
import threading

from as2lib.ranker import Ranker
from bench.measuring import held
from bench.small import WORDS, small_model

TARGET = "the second half of the calls adds less than 10 MiB"
CALLS, THREADS = 4_000, 16


def main(calls: int = CALLS, threads: int = THREADS) -> dict[str, float | str]:
    """MiB that each half of the calls added; candidates differ in number and length from call to call."""
    ranker = Ranker(*small_model())
    added = []
    for half in range(2):
        before = held()
        work = [threading.Thread(target=call, args=(ranker, calls // 2 // threads, (half, n))) for n in range(threads)]
        for thread in work:
            thread.start()
        for thread in work:
            thread.join()
        added.append((held() - before) / 1024)
    return {
        "MiB, first half": added[0],
        "MiB, second half": added[1],
        "calls": calls,
        "threads": threads,
        "precision": "float32",
    }


def call(ranker: Ranker, times: int, seed: tuple[int, int]) -> None:
    draw = random.Random(str(seed))
    for _ in range(times):
        candidates = [" ".join(draw.choices(WORDS, k=draw.randint(1, 25))) for _ in range(draw.randint(1, 30))]
        ranker.rank("what about w1 ?", candidates)
