"""`make study` of the sample study from nothing, and again unchanged: on two cores, of what is committed."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from bench import NotRun

TARGET = "≤ 8 minutes, and ≤ 15 s unchanged"
CORES = 2


def main(full: bool = False) -> dict[str, float | str]:
    """The clock's seconds; `fits_core_seconds` is what the runs say of themselves, two at a time."""
    if not full:
        raise NotRun("it takes minutes: python -m bench --full study")
    clone = Path(os.environ["AS2_ROOT"]) / "clone"
    subprocess.run(["git", "clone", "-q", str(Path(__file__).parents[1]), str(clone)], check=True)
    environment = {**os.environ, "AS2_ROOT": str(clone), "PYTHONPATH": str(clone)}

    def seconds() -> float:
        started = time.perf_counter()
        command = [sys.executable, "-m", "as2lib", "study", "sample", "--cores", str(CORES)]
        subprocess.run(command, cwd=clone, env=environment, stdout=sys.stderr, check=True)
        return time.perf_counter() - started

    cold, unchanged = seconds(), seconds()
    facts = [json.loads(path.read_text())["facts"] for path in sorted((clone / "work" / "runs").glob("*/done.json"))]
    fits = [fact["seconds"] for fact in facts if "seconds" in fact]
    return {"cold": cold, "unchanged": unchanged, "fits_core_seconds": sum(fits), "fits": len(fits), "cores": CORES}
