"""Every benchmark, a line a row: `make bench`, or `python -m bench NAME …`.  Seconds are this machine's; quote ratios.

A claim is measured in a process of its own, on one thread, in a root folder of its own: no runs and no caches.
"""

import argparse
import importlib
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from textwrap import fill
from typing import Any

import yaml

import bench
from as2lib.paths import find_root
from as2lib.precision import machine

CLAIMS = ("cascade", "finetuning", "predicting", "serving")
THREADS = 1
SECONDS = 600  # past which a claim is given up


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: all, {', '.join(CLAIMS)}")
    parser.add_argument("--full", action="store_true", help="what takes more than a minute too, such as whole epochs")
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)  # a child's results, of one claim
    options = parser.parse_args()
    if options.into:
        options.into.write_text(json.dumps(run(options.names[0], options.full)))
        return 0
    if wrong := set(options.names) - set(CLAIMS):
        parser.error(f"expected some of {', '.join(CLAIMS)}, got {', '.join(sorted(wrong))}")
    claims = {}
    for name in options.names or CLAIMS:
        claims[name] = in_own_process(name, options.full)
        print_claim(name, claims[name])
    path = write(claims)
    print(f"written to {path}")
    return int(any(claim["state"] == "failed" for claim in claims.values()))


def run(name: str, full: bool) -> dict[str, Any]:
    """One claim, measured in this process: its state, "run" or "not run", and its rows or the reason."""
    module = importlib.import_module(f"bench.{name}")
    takes_full = "full" in inspect.signature(module.main).parameters
    claim = {"claim": module.__doc__.splitlines()[0], "target": getattr(module, "TARGET", "")}
    try:
        rows = module.main(full=full) if takes_full else module.main()
    except bench.NotRun as reason:
        return {**claim, "state": "not run", "reason": str(reason)}
    place = device()
    rows = {key: {**row, "device": place} for key, row in rows.items()}
    return {**claim, "state": "run", "device": place, "rows": rows}


def in_own_process(name: str, full: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        root, result = Path(folder) / "root", Path(folder) / "result.json"
        environment = {
            **os.environ,
            "AS2_ROOT": str(own_root(root)),
            "PYTHONPATH": os.pathsep.join([os.getcwd(), os.environ.get("PYTHONPATH", "")]),
            **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), str(THREADS)),
        }
        command = [sys.executable, "-m", "bench", name, "--into", str(result), *(["--full"] if full else [])]
        try:
            seconds = None if full else SECONDS
            code = subprocess.run(command, env=environment, stdout=sys.stderr, timeout=seconds).returncode
        except subprocess.TimeoutExpired:
            return {"state": "failed", "reason": f"took longer than {SECONDS} s"}
        return json.loads(result.read_text()) if code == 0 else {"state": "failed", "reason": "see the error above"}


def own_root(folder: Path) -> Path:
    """A root with this one's studies, no runs and no caches; hub names mean what they mean here."""
    shutil.copytree(find_root() / "params", folder / "params")
    mapping = find_root() / "params" / "local.yaml"
    local = (yaml.safe_load(mapping.read_text()) or {}).get("local") or {} if mapping.exists() else {}
    absolute = {name: str((find_root() / Path(path).expanduser()).resolve()) for name, path in local.items()}
    (folder / "params" / "local.yaml").write_text(yaml.safe_dump({"local": absolute}))
    return folder


def device() -> str:
    """The GPU's name, or "cpu", the threads, the widest instructions that torch uses, and the processor's name."""
    import torch

    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return f"cpu, {torch.get_num_threads()} threads, {torch.backends.cpu.get_cpu_capability()}, {machine()}"


def print_claim(name: str, claim: dict[str, Any]) -> None:
    width = shutil.get_terminal_size().columns
    print("\n" + fill(f"{name}: {claim.get('claim', '')}", width))
    print(f"  {claim['state']}: {claim['reason']}" if "reason" in claim else f"  target: {claim['target'] or 'none'}")
    for row, values in claim.get("rows", {}).items():
        texts = {key: f"{value:.4g}" if isinstance(value, float) else str(value) for key, value in values.items()}
        pairs = [f"{key} {text}".replace(" ", "\N{NO-BREAK SPACE}") for key, text in texts.items()]
        print(fill(f"  {row}: {'   '.join(pairs)}", width, subsequent_indent="      "), flush=True)


def write(claims: dict[str, Any]) -> Path:
    """Into `reports/bench.json`, or that of the GPU; a claim or row that was not run keeps what stands there."""
    devices = [claim.get("device", "cpu") for claim in claims.values()]
    gpu = next((name for name in devices if not name.startswith("cpu")), None)
    suffix = "" if gpu is None else "-" + re.sub(r"\W+", "-", gpu.lower()).strip("-")
    path = Path("reports") / f"bench{suffix}.json"
    path.parent.mkdir(exist_ok=True)
    before = json.loads(path.read_text()) if path.exists() else {}
    new = {name: claim for name, claim in claims.items() if claim["state"] != "not run" or name not in before}
    for name in new.keys() & before.keys():  # rows that only `--full` measures, or other processors, stay
        if "rows" in new[name]:
            device, rows = {"device": before[name].get("device")}, before[name].get("rows", {})
            new[name]["rows"] = {row: device | values for row, values in rows.items()} | new[name]["rows"]
    path.write_text(json.dumps(dict(sorted({**before, **new}.items())), indent=1, ensure_ascii=False) + "\n")
    return path


if __name__ == "__main__":
    sys.exit(main())
