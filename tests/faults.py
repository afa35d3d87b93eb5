"""Faults on a tiny study, the long part: `make faults`.  What is killed is begun again and must end with equal bytes.

Each case says how often it broke something and how often the end was the same; the counts go to reports/faults.json.
Seeded; a case whose programs are not here is not run, and keeps what stands there.  The short part: test_faults.py.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from xml.etree import ElementTree

from conftest import write_study
from tqdm import tqdm

HERE = Path(__file__).resolve().parents[1]
REPORT = HERE / "reports" / "faults.json"
RUNS = ["base/electra/seed-0", "kd/electra/seed-0", "mhs/3h1/seed-0"]  # evaluated on the way, so they have checkpoints
NOTEBOOK = "reports/tiny/metrics/03.json"  # with the fits that it reads, it stands for a study here
PATIENCE = 600  # seconds for what is not killed


class NotRun(Exception):
    """A program that a case needs is not here; the message says which."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"default: all, {', '.join(CASES)}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--at-most", type=int, default=sys.maxsize, metavar="N", help="faults of a case, to try it")
    options = parser.parse_args()
    if wrong := set(options.cases) - set(CASES):
        parser.error(f"expected some of {', '.join(CASES)}, got {', '.join(sorted(wrong))}")
    found, failed = json.loads(REPORT.read_text()) if REPORT.exists() else {}, False
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "whole" / "root"
        if set(options.cases or CASES) - {"damages"}:  # which has a study of its own
            undisturbed(whole)
        for name in options.cases or CASES:
            case, times = CASES[name]
            try:
                with tqdm(total=min(times, options.at_most), desc=name, unit="fault") as bar:
                    counts = case(whole, random.Random(f"{name} {options.seed}"), bar)
            except AssertionError as problem:
                failed = True
                print(f"{name}: failed: {problem}", flush=True)
                continue
            except NotRun as reason:
                found.setdefault(name, {"not run": str(reason)})
                print(f"{name}: not run: {reason}")
                continue
            found[name] = {"what": case.__doc__.splitlines()[0], "seed": options.seed, **counts}
            print(f"{name}: " + ", ".join(f"{count} {what}" for what, count in counts.items()), flush=True)
            REPORT.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return int(failed or any(case.get("ends", 0) != case.get("same bytes", 0) for case in found.values()))


def kills_of_fits(whole: Path, draw: random.Random, bar: tqdm) -> dict[str, int]:
    """A fit is killed (SIGKILL) at random moments, up to five times, while it loads, trains, saves or scores."""
    ends = same = 0
    while bar.n < bar.total:
        name = RUNS[ends % len(RUNS)]
        with copied(whole) as root:
            forget(root, name)
            shutil.rmtree(root / "work" / "encoded")
            shutil.rmtree(root / "work" / "logits", ignore_errors=True)
            kills = sum(forked(root, name, draw.uniform(0, 2)) is None for _ in range(draw.randint(1, 5)))
            bar.update(kills)
            assert forked(root, name, PATIENCE) == 0, f"{name}: a fit after {kills} kills failed"
            ends, same = ends + 1, same + (content(root, name) == content(whole, name))
    return {"kills": bar.n, "ends": ends, "same bytes": same}


def kills_of_studies(whole: Path, draw: random.Random, bar: tqdm) -> dict[str, int]:
    """All processes of a study are killed at once, at a random moment, twice; the next study ends it."""
    ends = same = 0
    while bar.n < bar.total:
        with copied(whole) as root:
            for made in ("work", "reports"):
                shutil.rmtree(root / made)
            for _ in range(2):
                study = started(["study", "tiny", "--", NOTEBOOK], root)
                time.sleep(draw.uniform(5, 60))
                bar.update(killed(study))
            end(started(["study", "tiny", "--", NOTEBOOK], root), root)
            ends, same = ends + 1, same + all_the_same(whole, root)
    return {"kills": bar.n, "ends": ends, "same bytes": same}


def kills_of_processes(whole: Path, draw: random.Random, bar: tqdm) -> dict[str, int]:
    """One of two processes that fit together is killed; both end, and the next two end as two undisturbed ones."""
    ends = same = 0
    name = RUNS[0]
    with copied(whole) as both:
        forget(both, name)
        end(together(both, name), both)
        while bar.n < bar.total:
            with copied(whole) as root:
                forget(root, name)
                running, until = together(root, name), time.time() + draw.uniform(8, 25)
                while time.time() < until and running.poll() is None:
                    time.sleep(0.1)
                workers = [process for process in children(running.pid) if running.poll() is None]
                if workers:
                    os.kill(draw.choice(workers), signal.SIGKILL)
                    bar.update()
                assert running.wait(PATIENCE) != 0 or not workers, "a process died, and torchrun did not say so"
                end(together(root, name), root)
                ends, same = ends + 1, same + (content(root, name) == content(both, name))
    return {"kills": bar.n, "ends": ends, "same bytes": same}


def deaths_of_nodes(whole: Path, draw: random.Random, bar: tqdm) -> dict[str, int]:
    """A node of a Slurm cluster dies (slurmd and all jobs on it are killed) and comes back; the study goes on."""
    require_slurm()
    ends = same = 0
    while bar.n < bar.total:
        with copied(whole) as root:
            for made in ("work", "reports"):
                shutil.rmtree(root / made)
            profile = ["--profile", "profiles/slurm", "--slurm-init-seconds-before-status-checks", "5"]
            study = started(["study", "tiny", "--", *profile, NOTEBOOK], root)
            deadline = time.time() + PATIENCE
            while not fits_on_nodes() and study.poll() is None and time.time() < deadline:
                time.sleep(0.5)
            time.sleep(draw.uniform(0, 8))
            bar.update(node_dies() > 0)
            end(study, root)
            ends, same = ends + 1, same + all_the_same(whole, root)
    return {"deaths": bar.n, "ends": ends, "same bytes": same}


def damages_of_the_store(whole: Path, draw: random.Random, bar: tqdm) -> dict[str, int]:
    """A file of the store is cut, emptied, flipped, swapped or removed: the short part, `tests/test_faults.py`."""
    result = whole.parents[1] / "damages.xml"
    command = ["-m", "pytest", "-q", f"--junitxml={result}", str(HERE / "tests" / "test_faults.py")]
    code = subprocess.run([sys.executable, *command], cwd=HERE, stdout=subprocess.DEVNULL).returncode
    suite = ElementTree.parse(result).getroot().find("testsuite")
    ends, failed = int(suite.get("tests")), int(suite.get("failures")) + int(suite.get("errors"))
    bar.update(ends)
    assert code == 0 or failed, f"pytest ended with {code}"
    return {"damages": ends, "ends": ends, "same bytes": ends - failed}


Case = Callable[[Path, random.Random, tqdm], dict[str, int]]
CASES: dict[str, tuple[Case, int]] = {  # and how many faults each makes: all in half an hour on two quiet cores
    "nodes": (deaths_of_nodes, 1),
    "processes": (kills_of_processes, 2),
    "fits": (kills_of_fits, 100),
    "studies": (kills_of_studies, 6),
    "damages": (damages_of_the_store, 40),
}


def undisturbed(root: Path) -> None:
    """Make the tiny study in a root without a fault, for one seed, as far as `NOTEBOOK` reads it."""
    write_study(root, seeds=[0])
    for name in ("Snakefile", "notebooks", "as2lib", "profiles"):
        (root / name).symlink_to(HERE / name)
    with tqdm(total=1, desc="undisturbed", unit="study") as bar:
        end(started(["study", "tiny", "--", NOTEBOOK], root), root)
        bar.update()


@contextmanager
def copied(whole: Path) -> Iterator[Path]:
    """A copy of a root under the same name, so that nothing in it can differ by where it lies."""
    with tempfile.TemporaryDirectory(dir=whole.parents[1]) as folder:
        yield Path(shutil.copytree(whole, Path(folder) / "root", symlinks=True))


def environment(root: Path) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    source = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "AS2_ROOT": str(root), "PYTHONPATH": source, "OMP_NUM_THREADS": "1", "PATH": path}


def started(arguments: list[str], root: Path, module: tuple[str, ...] = ("-m", "as2lib")) -> subprocess.Popen:
    """A command of `as2` in a session of its own."""
    command = [sys.executable, *module, *arguments]
    with (root / "said.txt").open("a") as said:
        return subprocess.Popen(
            command, cwd=root, env=environment(root), start_new_session=True, stdout=said, stderr=said
        )


def end(running: subprocess.Popen, root: Path) -> None:
    """Wait for what must not fail."""
    code = running.wait(3 * PATIENCE)
    assert code == 0, f"exit code {code}: {(root / 'said.txt').read_text()[-2000:]}"


def together(root: Path, name: str) -> subprocess.Popen:
    module = ("-m", "torch.distributed.run", "--nproc_per_node", "2", "--standalone", "-m", "as2lib")
    return started(["fit", "tiny", name, "--quiet"], root, module)


def forked(root: Path, name: str, seconds: float) -> int | None:
    """The exit code of a process that makes a run, or None where it was killed because it took longer.

    Forked, since importing takes longer than these fits; the process forked from starts no thread of its own.
    """
    import as2lib.runs.fit  # noqa: F401
    from as2lib import Study
    from as2lib.runs.make import make_all

    if (process := os.fork()) == 0:
        os.setsid()
        os.chdir(root)
        os.environ["AS2_ROOT"] = str(root)
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        try:
            make_all(Study.load("tiny").store, [name], progress=False, model=True)
        except BaseException:
            os._exit(1)
        os._exit(0)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return None


def killed(running: subprocess.Popen) -> bool:
    """Kill a process and all that it started; whether it was running."""
    alive = running.poll() is None
    for process in [*children(running.pid), running.pid]:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            continue
    running.wait()
    return alive


def children(process: int) -> list[int]:
    """The processes below a process, the nearest first."""
    below = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            below += map(int, task.read_text().split())
        except OSError:
            continue
    return below + [grandchild for child in below for grandchild in children(child)]


def forget(root: Path, name: str) -> None:
    shutil.rmtree(folder_of(root, name))


def folder_of(root: Path, name: str) -> Path:
    found = [path.parent for path in (root / "work" / "runs").glob("*/spec.json") if named(path) == name]
    assert len(found) == 1, f"{name}: expected one folder, found {len(found)}"
    return found[0]


def named(spec: Path) -> str:
    return json.loads(spec.read_text())["name"]


def content(root: Path, name: str) -> dict[str, str]:
    """The hash of each file that a run left, seconds aside."""
    folder, found = folder_of(root, name), {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        held = path.read_bytes()
        if path.suffix in (".json", ".jsonl") and path.parent == folder:
            lines = [json.loads(line) for line in held.splitlines()] if path.suffix == ".jsonl" else [json.loads(held)]
            held = json.dumps([without_times(line) for line in lines]).encode()
        found[str(path.relative_to(folder))] = sha256(held).hexdigest()
    return found


def without_times(entry: dict) -> dict:
    """Without seconds, and without the hashes of what holds them."""
    kept = {key: value for key, value in entry.items() if key not in ("seconds", "sha256")}
    if "files" in kept:
        kept["files"] = {name: value for name, value in kept["files"].items() if name != "log.jsonl"}
    return kept


def all_the_same(whole: Path, root: Path) -> bool:
    """Whether all runs, and all that the notebook wrote, are those of the undisturbed study."""
    names = sorted(named(path) for path in (whole / "work" / "runs").glob("*/spec.json"))
    return reports(root) == reports(whole) and all(content(root, name) == content(whole, name) for name in names)


def reports(root: Path) -> dict[str, str]:
    """The hash of each page, table, figure and file of metrics."""
    folder = root / "reports" / "tiny"
    files = [path for pattern in ("*.html", "[tfm]*/*") for path in sorted(folder.glob(pattern))]
    return {str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest() for path in files}


def require_slurm() -> None:
    for program in ("sinfo", "slurmd", "sbatch"):
        if not shutil.which(program):
            raise NotRun(f"{program} is not installed; see docs/scale.md")
    if subprocess.run(["sinfo", "-h"], capture_output=True).returncode:
        raise NotRun("no Slurm cluster answers here; see docs/scale.md")
    try:
        import snakemake_executor_plugin_slurm  # noqa: F401
    except ImportError:
        raise NotRun("snakemake-executor-plugin-slurm is not installed; see docs/scale.md") from None


def steps_of_slurm() -> list[int]:
    """The processes with which Slurm watches over its jobs on this machine."""
    found = subprocess.run(["pgrep", "-x", "slurmstepd"], capture_output=True, text=True).stdout
    return [int(process) for process in found.split()]


def fits_on_nodes() -> bool:
    """Whether a job of Slurm fits something on this machine."""
    for process in (child for step in steps_of_slurm() for child in children(step)):
        try:
            words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"fit" in words and b"--group" in words:
            return True
    return False


def node_dies() -> int:
    """Kill slurmd with all jobs of this machine, wait until the cluster knows, start it again; how many jobs died."""
    settings = subprocess.run(["scontrol", "show", "config"], capture_output=True, text=True, check=True).stdout
    values = dict(line.split("=", 1) for line in settings.splitlines() if "=" in line)
    values = {key.strip(): value.strip() for key, value in values.items()}
    steps = steps_of_slurm()
    os.kill(int(Path(values["SlurmdPidFile"]).read_text()), signal.SIGKILL)
    for process in [each for step in steps for each in [*children(step), step]]:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            continue
    deadline = time.time() + PATIENCE
    while "down" not in subprocess.run(["sinfo", "-h", "-o", "%T"], capture_output=True, text=True).stdout:
        assert time.time() < deadline, "the cluster did not see its node die"
        time.sleep(1)
    subprocess.run(["slurmd"], check=True)
    return len(steps)


if __name__ == "__main__":
    sys.exit(main())
