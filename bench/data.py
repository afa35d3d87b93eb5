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
from typing import Any

from as2lib.paths import find_root
from bench.memory import status, watched

ROWS, ALL_ROWS, ASNQ_ROWS = 50_000, 2_000_000, 23_662_238  # the last: CERBERUS, Table 1, train
CANDIDATES, MAX_LENGTH, LIMIT_GIB = 413, 128, 4  # candidates a question: the Cascade Transformer's Table 1
PROCESSES = 4
TARGET = "all of ASNQ in 4 GiB (with `--full`)"


def main(full: bool = False) -> dict[str, float | str]:
    """Rows a second and peak memory on the large table; full: also as a straight line through both says of ASNQ."""
    folder, rows = find_root() / "asnq", ALL_ROWS if full else ROWS
    generate(folder, rows)
    small, large = (in_own_process(folder / f"{some}.tsv") for some in (rows // 4, rows))
    found = {"rows": rows, "precision": "none: no model runs", "mapped_gib": large.pop("mapped_gib")}
    for step, (seconds, gib) in large.items():
        found |= {f"{step}_rows_a_second": rows / seconds, f"{step}_gib": gib}
        if full:
            slope = max(0.0, gib - small[step][1]) / (rows - rows // 4)
            found[f"{step}_projected_gib"] = whole = gib + slope * (ASNQ_ROWS - rows)
            found[f"{step}_projected_minutes"] = seconds * ASNQ_ROWS / rows / 60
            assert whole < LIMIT_GIB, f"{step}: ASNQ would take {whole:.1f} GiB"
    return found


def in_own_process(path: Path) -> dict[str, Any]:
    code = f"from bench.data import measure; measure({str(path)!r})"
    child = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)
    return json.loads(child.stdout.splitlines()[-1])


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

    found: dict[str, Any] = {}

    def step(name: str, function: Callable[..., Any], *given: Any) -> Any:
        turn = watched(lambda: function(*given))
        found[name] = turn.seconds, turn.gib
        return turn.result

    pairs = step("load", load_pairs, path, None, "all")
    step("filter", filter_questions, pairs, "answered")
    tokenizer = word_tokenizer(pairs[:50_000]["answer"], MAX_LENGTH)
    one = step("encode", PairEncoder(tokenizer, MAX_LENGTH).encode, pairs, 1)
    Path(one.cache_files[0]["filename"]).unlink()  # it stays mapped
    many = step("encode_processes", PairEncoder(tokenizer, MAX_LENGTH).encode, pairs, PROCESSES)
    assert one.data["length"] == many.data["length"], "several processes made other tokens"
    found["mapped_gib"] = status(os.getpid(), "RssFile") / 2**20
    print(json.dumps(found))
