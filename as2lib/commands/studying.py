"""`as2 study` and `as2 plan`: a study, or a part of one, is planned and handed to Snakemake; where it stands."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from filelock import Timeout

from as2lib import hub
from as2lib.papers import Study
from as2lib.paths import find_root, lock, model_origin, whole_file, work_folder
from as2lib.study import catalogue, estimate, pages
from as2lib.study.encoders import KNOWN_TENSORS
from as2lib.study.fit_missing import gpus
from as2lib.study.run import Run
from as2lib.study.store import ERROR_FILE, Store, noting
from as2lib.study.study import params_file

# What is to be made is told by content alone, and the study's lock is held here.
SNAKEMAKE = "--workflow-profile none --forceall --nolock --rerun-incomplete --quiet all".split()


def loadable(study: Study) -> str:
    """What other processes load: a study's name, or the file of one that is not as `params/<name>.yaml` says."""
    if study.variant == study.name and params_file(f"{study.name}.yaml").exists():
        return study.name
    path = work_folder() / "studies" / study.variant / f"{study.name}.yaml"
    content = {"study": study.model_dump(mode="json", exclude_unset=True)}
    with whole_file(path) as temporary:
        temporary.write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return str(path)


def make(study: Study, cores: int, workers: int | None, profile: str | None, dry_run: bool, options: list[str]) -> int:
    """Make a study by Snakemake; returns an exit code."""
    root = find_root()
    if not (root / "Snakefile").exists():
        where = f"pages are made in a clone (AS2_ROOT=CLONE); `as2 fit {study.name}` makes the runs alone, anywhere"
        raise FileNotFoundError(f"{root}: expected the repository's Snakefile and notebooks, got none: {where}")
    if dry_run:
        rehearse(study)
        return 0
    held = lock(f"study-{study.name}", f"study {study.name}")  # until this process ends
    if unfinished(study):
        workers = workers or (8 if profile else max(1, len(gpus()) or cores // study.threads))
        config = [f"study={loadable(study)}", f"workers={workers}"]
        here = ["--cores", str(workers * study.threads)]
        if profile:
            folder = root / "profiles" / profile
            here = ["--profile", str(folder if folder.is_dir() else profile), "--jobs", str(workers)]
        command = [sys.executable, "-m", "snakemake", *SNAKEMAKE, *here, *options, "--config", *config]
        code = run_group(command, root)
        if line := unfinished(study):
            print(line, file=sys.stderr)
        if code or line:
            return code or 1
    held.release()
    page = pages.page_file(study, catalogue.notebooks(study)[0].name)
    print(f"study {study.name}: {page.relative_to(root)}\nto read it: open {page.as_uri()} in a browser")
    return 0


def run_group(command: list[str], folder: Path) -> int:
    """The exit code of a command, in a process group that an interrupt, or SIGTERM, of this process ends whole."""
    signals: list[int] = []
    group: list[int] = []

    def end(number: int, frame: Any) -> None:
        signals.append(number)
        for process in group:
            with suppress(ProcessLookupError):
                os.killpg(process, number)

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"  # where `as2` is
    sys.stdout.flush()
    try:
        process = subprocess.Popen(command, cwd=folder, env=os.environ | {"PATH": path}, process_group=0)
        group.append(process.pid)
        if signals:  # it came while the process started
            end(signals[-1], None)
        code = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 128 + signals[0] if signals else code


def unfinished(study: Study) -> str:
    """What of a study's runs, its pages and its check is not made, on one line; "" where all is there."""
    runs = [name for name in study.store.needed(study.plan) if study.store.find(name) is None]
    missing = [name for name, stamp in pages.stamps(study).items() if pages.why(study, name, stamp)]
    names = ", ".join([f"{len(runs)} of {len(study.plan)} runs"] * bool(runs) + missing)
    return names and f"study {study.name}: not all is made, left: {names}; `as2 plan {study.name}` lists the runs"


def rehearse(study: Study) -> None:
    """Print what `as2 study` would make, and why."""
    needed = study.store.needed(study.plan)
    systems = Counter(study.plan[name].system for name in needed)
    for system, count in systems.items():
        print(f"  {system}: " + ("not made yet" if count == 1 else f"{count} runs not made yet"))
    stamps, count = pages.stamps(study), 0
    for notebook in catalogue.notebooks(study):
        reason = pages.why(study, notebook.name, stamps[notebook.name])
        if not reason and not needed.keys().isdisjoint(pages.runs(study, notebook)):
            reason = "runs that it reads are not made yet"
        count += bool(reason)
        print(f"  {notebook.name}: {reason or 'as it should be'}")
    print(f"{study.name}: {len(needed)} runs; {count} pages")


def make_pages(study: Study, beside: bool) -> bool:
    """Make the pages that are not as they should be, of those that no other process makes; returns whether it could.

    beside: only those that others may be made beside; else also those that measure time, and the first one, which reads
    the others.
    """
    from as2lib.report.check import write_manifest

    stamps, measured = pages.stamps(study), (study.folder / "scores" / "times").exists()
    first, *others = catalogue.notebooks(study)
    chosen = [notebook for notebook in others if not (beside and notebook.timed and not measured)]
    failed = 0
    for notebook in chosen if beside else [*chosen, first]:
        started, name = time.perf_counter(), notebook.name
        with suppress(Timeout), lock(f"page-{study.variant}-{name}", wait=False):
            if not pages.why(study, name, stamps[name]):
                continue
            try:
                make_page(study, name)
                print(f"page {name}, {time.perf_counter() - started:.0f} s", flush=True)
            except Exception as problem:
                failed += 1
                reason = traceback.format_exception_only(problem)[-1].splitlines()[0]
                print(f"failed: {name}: {reason}   ({error_file(study, name)})", flush=True)
    if not (beside or failed):
        write_manifest(study)
    return not failed


def error_file(study: Study, name: str) -> Path:
    """Where a notebook that fails leaves its traceback."""
    return study.folder / "executed" / f"{name[:2]}.log"


def make_page(study: Study, name: str) -> None:
    """Run a notebook, of this name or this number, and make its page; one that fails leaves the page before it."""
    from as2lib.report.pages import execute, parameter, render, studies_with_pages

    names = [notebook.name for notebook in catalogue.notebooks(study)]
    name = next((page for page in names if name in (page, page[:2])), name)
    if name not in names:
        raise ValueError(f"expected one of {', '.join(names)}; got {name!r}")
    error, beside = error_file(study, name), work_folder() / "pages" / study.variant / name
    source, executed = find_root() / "notebooks" / f"{name}.ipynb", error.with_suffix(".ipynb")
    with noting(error):
        if (overrides := parameter(source, "overrides")) != "{}":
            raise ValueError(
                f"{source.name}: expected overrides = {{}}, as a study's page is of its file, got {overrides}; "
                f"`papermill notebooks/{source.name} out.ipynb` runs it with them"
            )
        stamp, page = pages.stamps(study)[name], pages.page_file(study, name)
        shutil.rmtree(beside, ignore_errors=True)
        execute(source, executed, {"study": loadable(study), "overrides": {}, "save": str(beside)})
        fresh = {file.relative_to(beside): file for file in beside.rglob("*") if file.is_file()}
        if lost := [place for place, file in fresh.items() if lacks(file, study.folder / place)]:
            print(f"{name}: sets that it describes are not at hand ({lost[0].name}); what is published of it stays")
            return pages.record(study, name, stamp)
        title, _, made_of = study.title.partition(":")
        up = "../" if page.parent == study.folder else ""
        render(executed, page, names, title, made_of, studies_with_pages(study.variant, page.stem, up))
    for file in pages.outputs(study, name, timing=True):
        if file != page and file.relative_to(study.folder) not in fresh:  # of an earlier page, which had more of them
            file.unlink()
    for place, file in fresh.items():
        (study.folder / place).parent.mkdir(parents=True, exist_ok=True)
        os.replace(file, study.folder / place)
    pages.record(study, name, stamp)


def lacks(table: Path, published: Path) -> bool:
    """Whether more is not at hand in a notebook's table than in the one that it would replace."""
    if table.suffix != ".csv" or not published.exists():
        return False
    now, before = (
        len(re.findall("not at hand|not here", file.read_text(encoding="utf-8"))) for file in (table, published)
    )
    return now > before


def check(study: Study) -> list[str]:
    """Hold a study against what is expected of it; returns a line for each number or finding that moved, each file that
    is not as it was made.
    """
    from as2lib.report.check import moved
    from as2lib.study import findings

    edited = pages.edited(study)
    lines = [f"edited: {file}: not as it was made; `as2 study {study.name}` makes it anew" for file in edited]
    lines += [f"moved: {line}" for line in moved(study)] + findings.broken(study)
    if not lines and (find_root() / "notebooks").is_dir():
        pages.record(study, pages.CHECK, pages.stamps(study)[pages.CHECK])
    return lines


def plan(study: Study) -> None:
    """Print each run and where it stands; then what is left."""
    store, needed = study.store, study.store.needed(study.plan)
    states = {name: state(store, name, name in needed) for name in study.plan}
    for name, where in states.items():
        parents = ", ".join(run.name for run in study.plan[name].parent_runs())
        print(f"{name:<36} {where}" + (f", from {parents}" if parents else ""))
    counts = Counter(where.partition(":")[0] for where in states.values())
    print(f"\n{study.name}: {len(states)} runs: {', '.join(f'{count} {where}' for where, count in counts.items())}")
    left = [*{store.identity(run): run for run in map(study.plan.get, needed)}.values()]  # one may have two names
    if names := unpinned(left):
        print(f"unpinned: {', '.join(names)}; the hub's newest is taken, NAME@COMMIT in the study's file pins one")
    if left:
        steps, hours = sum(map(estimate.steps, left)), sum(map(estimate.hours, left))
        print(f"left: at most {steps:,} steps, {hours:,.1f} hours of an H100 at 40 % of its peak")


def state(store: Store, name: str, missing: bool) -> str:
    """ "done", "published", "no scores" (made only for its weights), "to do", or "failed: …" with the error."""
    if not missing:
        stored = store.find(name)
        return "no scores" if stored is None else "published" if stored.scores_only else "done"
    error = store.partial(name) / ERROR_FILE
    if not error.exists():
        return "to do"
    return f"failed: {error.read_text(encoding='utf-8').strip().splitlines()[-1]}   ({error})"


def unpinned(runs: Iterable[Run]) -> list[str]:
    """The encoders of the hub from which some runs start, of which the study names no commit."""
    names = {name for run in runs for name in run.encoders if hub.HUB_NAME.fullmatch(name)} - {*KNOWN_TENSORS}
    return sorted(name for name in names if not isinstance(model_origin(name)[0], Path))
