"""ASNQ's form on one machine: generated pairs, 2 M with `--full`, loaded and encoded in a process of their own.

Memory is what the process holds of its own (anonymous pages, its workers' too), sampled every 20 ms; the pages of files
mapped into it come on top where memory is free, and the system takes them back where it is not (`mapped_gib`).
"""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from as2lib.paths import find_root
from bench.memory import status, watched

ROWS, ALL_ROWS, ASNQ_ROWS = 50_000, 2_000_000, 23_662_238  # the last: CERBERUS, Table 1, train
CANDIDATES, MAX_LENGTH, LIMIT_GIB = 413, 128, 4  # candidates a question: the Cascade Transformer's Table 1
PROCESSES = 4
TARGET = "all of ASNQ in 4 GiB (with `--full`)"


def main(full: bool = False) -> dict[str, float | str]:
    folder, size = find_root() / "asnq", ALL_ROWS if full else ROWS
    generate(folder, size)
    found: dict[str, float] = {}
    for rows in (size // 4, size):
        path = folder / f"{rows}.tsv"
        code = f"from bench.data import measure; measure({str(path)!r})"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.getcwd(), os.environ.get("PYTHONPATH", "")])}
        child = subprocess.run([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, check=True)
        found |= {f"{name}@{rows}": value for name, value in json.loads(child.stdout.splitlines()[-1]).items()}
    return summary(found, size) | (projection(found, size) if full else {})


STEPS = ("load", "filter", "encode", "encode_processes")


def summary(found: dict[str, float], rows: int) -> dict[str, float | str]:
    """Rows a second and peak memory on the large table."""
    result: dict[str, float | str] = {"rows": rows, "precision": "none: no model runs"}
    for step in STEPS:
        result[f"{step}_rows_a_second"] = rows / found[f"{step}_seconds@{rows}"]
        result[f"{step}_gib"] = found[f"{step}_gib@{rows}"]
    return result | {"mapped_gib": found[f"mapped_gib@{rows}"]}


def projection(found: dict[str, float], rows: int) -> dict[str, float]:
    """A straight line through both sizes to all of ASNQ: peak memory, which must stay below the limit, and minutes."""
    result, small = {}, rows // 4
    for step in STEPS:
        peak = found[f"{step}_gib@{rows}"]
        slope = (peak - found[f"{step}_gib@{small}"]) / (rows - small)
        result[f"{step}_projected_gib"] = peak + max(0.0, slope) * (ASNQ_ROWS - rows)
        result[f"{step}_projected_minutes"] = found[f"{step}_seconds@{rows}"] * ASNQ_ROWS / rows / 60
    worst = max(value for name, value in result.items() if name.endswith("projected_gib"))
    assert worst < LIMIT_GIB, f"ASNQ would take {worst:.1f} GiB"
    return result


def generate(folder: Path, rows: int) -> None:
    """`<rows / 4>.tsv` and `<rows>.tsv` in ASNQ's original form, with its lengths: sentences of about 25 words."""
    folder.mkdir(parents=True, exist_ok=True)
    generator = random.Random(0)
    words = [f"w{number}" for number in range(20_000)]
    sentences = [" ".join(generator.choices(words, k=generator.randint(5, 45))) for _ in range(50_000)]
    with (folder / f"{rows}.tsv").open("w") as all_rows, (folder / f"{rows // 4}.tsv").open("w") as some:
        for row in range(rows):
            place = row % CANDIDATES
            answered = row // CANDIDATES % 10 > 0  # so that the policy has something to drop
            label = "4" if place == 7 and answered else "123"[row % 3]
            line = f"question {row // CANDIDATES} about what ?\t{generator.choice(sentences)} {row}\t{label}\n"
            all_rows.write(line)
            if row < rows // 4:
                some.write(line)


def measure(path: str) -> None:
    """Prints seconds and peak anonymous memory in GiB of each step, as JSON."""
    from as2lib.data.encode import PairEncoder, word_tokenizer
    from as2lib.data.pairs import filter_questions, load_pairs

    found: dict[str, float] = {}
    pairs = _watched("load", lambda: load_pairs(path, questions="all"), found)
    _watched("filter", lambda: filter_questions(pairs, "answered"), found)
    tokenizer = word_tokenizer(pairs[:50_000]["answer"], MAX_LENGTH)
    one = _watched("encode", lambda: PairEncoder(tokenizer, MAX_LENGTH).encode(pairs, processes=1), found)
    Path(one.cache_files[0]["filename"]).unlink()  # it stays mapped
    many = _watched("encode_processes", lambda: PairEncoder(tokenizer, MAX_LENGTH).encode(pairs, PROCESSES), found)
    assert one.data["length"] == many.data["length"], "several processes made other tokens"
    found["mapped_gib"] = status(os.getpid(), "RssFile") / 2**20
    print(json.dumps(found))


def _watched(step: str, function: Callable[[], object], found: dict[str, float]) -> object:
    result, found[f"{step}_seconds"], found[f"{step}_gib"], _ = watched(function)
    return result
