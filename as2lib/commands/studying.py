"""`as2 study` and `as2 plan`: a study, or a part of one, is planned and handed to Snakemake; where it stands."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from as2lib import hub
from as2lib.locks import lock
from as2lib.papers import Study
from as2lib.paths import find_root, model_origin, whole_file, work_folder
from as2lib.study import catalogue, estimate, pages, worker
from as2lib.study.run import Run
from as2lib.study.store import KNOWN_TENSORS
from as2lib.study.study import params_file

# What is to be made is told by content alone, and the study's lock is held here.
SNAKEMAKE = "--workflow-profile none --forceall --nolock --rerun-incomplete --quiet all".split()


def loadable(study: Study) -> str:
    """What other processes load: a study's name, or the file of one that is not as `params/<name>.yaml` says."""
    if study.variant == study.study and params_file(f"{study.study}.yaml").exists():
        return study.study
    path = work_folder() / "studies" / study.variant / f"{study.study}.yaml"
    content = study.model_dump(mode="json", exclude_unset=True)
    with whole_file(path) as temporary:
        temporary.write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return str(path)


def make(
    study: Study,
    only: list[str],
    cores: int,
    workers: int | None,
    profile: str | None,
    dry_run: bool,
    options: list[str],
) -> int:
    """Make a study, or what some notebooks, tables or runs of it need, by Snakemake; returns an exit code."""
    root = find_root()
    if not (root / "Snakefile").exists():
        where = f"pages are made in a clone (AS2_ROOT=CLONE); `as2 fit {study.name}` makes the runs alone, anywhere"
        raise FileNotFoundError(f"{root}: expected the repository's Snakefile and notebooks, got none: {where}")
    name, (study, notebooks) = study.name, catalogue.part(study, only)
    names = [notebook.name for notebook in notebooks] + ([] if only else [pages.CHECK])
    if dry_run:
        rehearse(study, names)
        return 0
    held = lock(f"study-{name}", f"study {name}")  # until this process ends
    if unfinished(study, names):
        workers = workers or (8 if profile else max(1, len(worker.gpus()) or cores // study.threads))
        config = [f"study={loadable(study)}", f"workers={workers}"]
        if only:
            config.append(f"pages={','.join(names) or 'none'}")
        here = ["--cores", str(workers * study.threads)]
        if profile:
            folder = root / "profiles" / profile
            here = ["--profile", str(folder if folder.is_dir() else profile), "--jobs", str(workers)]
        command = [sys.executable, "-m", "snakemake", *SNAKEMAKE, *here, *options, "--config", *config]
        code = run_group(command, root)
        if line := unfinished(study, names):
            print(line, file=sys.stderr)
        if code or line:
            return code or 1
    held.release()
    if notebooks:
        page = pages.page_file(study, notebooks[0].name)
        print(f"study {name}: {page.relative_to(root)}\nto read it: open {page.as_uri()} in a browser")
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


def unfinished(study: Study, names: list[str]) -> str:
    """What of a study's runs, and of some pages, is not made, on one line; "" where all is there."""
    contents = pages.contents(study)
    missing = [name for name in names if pages.why(study, name, contents[name])]
    return worker.unfinished_line(study.name, worker.states(study.store), missing)


def rehearse(study: Study, names: list[str]) -> None:
    """Print what `as2 study` would make, and why."""
    needed, seconds = study.store.needed(list(study.plan)), estimate.seconds_of(study.store)
    systems = Counter(study.plan[name].system for name in needed)
    for system, count in systems.items():
        print(f"  {system}: " + ("not made yet" if count == 1 else f"{count} runs not made yet"))
    contents, count = pages.contents(study), 0
    for notebook in catalogue.notebooks(study):
        if notebook.name in names:
            reason = pages.why(study, notebook.name, contents[notebook.name])
            if not reason and not needed.keys().isdisjoint(pages.runs(study, notebook)):
                reason = "runs that it reads are not made yet"
            count += bool(reason)
            print(f"  {notebook.name}: {reason or 'as it should be'}")
    time = estimate.duration(sum(seconds(study.plan[name]) for name in needed))
    print(f"{study.name}: {len(needed)} runs, about {time} in series; {count} pages")


def work(study: Study, names: str, alone: bool, weights: bool, say: Callable[[str], None]) -> int:
    """Be a worker of a study: make its runs, and the pages that are named; returns an exit code.

    names: of notebooks, with commas between, or "all".  alone: nothing runs beside, so pages that measure time are
    made too, and the first one, which reads the others.
    """
    items = []
    if names:
        contents, measured = pages.contents(study), (study.folder / "runs" / "times").exists()
        first, *others = catalogue.notebooks(study)
        for notebook in (*others, first):
            last = notebook is first or (notebook.timed and not measured)
            if (names == "all" or notebook.name in names.split(",")) and (alone or not last):
                make = partial(make_stale_page, study, notebook.name, contents[notebook.name])
                error = study.folder / "executed" / f"{notebook.name[:2]}.log"
                items.append(worker.Page(notebook.name, pages.runs(study, notebook), error, make))
    missing = worker.work(study.store, say, weights, items)
    if missing and not names:  # else who started this worker says it
        say(worker.unfinished_line(study.name, worker.states(study.store)))
    return int(bool(missing))


def make_stale_page(study: Study, name: str, content: dict[str, Any]) -> bool:
    """Make a page whose runs are there; False where it is as it should be."""
    reason = pages.why(study, name, content)
    if reason:
        os.environ[worker.MAKE_NOTHING] = "1"
        try:
            make_page(study, name)
        finally:
            del os.environ[worker.MAKE_NOTHING]
    return bool(reason)


def make_page(study: Study, name: str) -> None:
    """Run a notebook, of this name or this number, and make its page."""
    from as2lib.report.pages import execute, other_studies, parameter, render

    names = [notebook.name for notebook in catalogue.notebooks(study)]
    name = next((page for page in names if name in (page, page[:2])), name)
    if name not in names:
        raise ValueError(f"expected one of {', '.join(names)}; got {name!r}")
    page = pages.page_file(study, name)
    source, executed = find_root() / "notebooks" / f"{name}.ipynb", study.folder / "executed" / f"{name[:2]}.ipynb"
    with worker.noting(executed.with_suffix(".log")):
        if (overrides := parameter(source, "overrides")) != "{}":
            raise ValueError(
                f"{source.name}: expected overrides = {{}}, as a study's page is of its file, got {overrides}; "
                f"`papermill notebooks/{source.name} out.ipynb` runs it with them"
            )
        content = pages.contents(study)[name]
        execute(source, executed, {"study": loadable(study), "overrides": {}})
        title, _, made_of = study.title.partition(":")
        render(executed, page, names, title, made_of, other_studies(study.study, page.stem))
    pages.record(study, name, content)


def check(study: Study) -> list[str]:
    """Hold a study against what is expected of it; returns a line for each number or finding that moved, each file that
    is not as it was made.
    """
    from as2lib.report.check import moved, write_manifest
    from as2lib.study import findings

    edited = pages.edited(study)
    lines = [f"edited: {file}: not as it was made; `as2 study {study.name}` makes it anew" for file in edited]
    lines += [f"moved: {line}" for line in moved(study)] + findings.broken(study)
    if not edited:
        write_manifest(study)
    if not lines and (find_root() / "notebooks").is_dir():
        pages.record(study, pages.CHECK, pages.contents(study)[pages.CHECK])
    return lines


def plan(study: Study, only: list[str]) -> None:
    """Print each run and where it stands; then what is left, and when it will end."""
    study, _ = catalogue.part(study, only)
    states = worker.states(study.store)
    for state in states:
        parents = ", ".join(run.name for run in study.plan[state.name].parent_runs())
        detail = state.detail or f"from {parents or '–'}"
        print(f"{state.state:<9}  {state.name:<36} {detail}")
    counts = Counter(state.state for state in states)
    print(f"\n{study.name}: {len(states)} runs: {', '.join(f'{count} {state}' for state, count in counts.items())}")
    needed = study.store.needed(list(study.plan))
    left = [*{study.store.identity(run): run for run in map(study.plan.get, needed)}.values()]  # one may have two names
    if not left:
        return
    steps, gigabytes = sum(map(estimate.steps, left)), sum(map(estimate.disk, left)) / 1e9
    if names := unpinned(left):
        print(f"unpinned: {', '.join(names)}; the hub's newest is taken, NAME@COMMIT in the study's file pins one")
    print(f"left: at most {steps:,} steps and {gigabytes:,.1f} GB; about")
    here, device = estimate.seconds_of(study.store), estimate.device_of(study.store)
    devices = {} if device.startswith("on an A100") else {device: here}  # it stands below
    for gpu in estimate.PEAK:
        devices[f"on an {gpu} at 40 % of its peak"] = partial(estimate.gpu_seconds, gpu=gpu, precision=study.precision)
    for device, seconds in devices.items():
        queue = worker.Queue(study.plan, needed, seconds)
        longest = max(queue.chain, key=queue.chain.get)
        series, chain = sum(map(seconds, left)), queue.chain[longest]
        four = estimate.wall_time(queue, seconds, study.plan, 4)
        times = [f"{estimate.duration(time):>12}" for time in (series, four, chain)]
        print(
            f"{times[0]} in series {times[1]} by four workers {times[2]} the longest chain, from {longest}   {device}"
        )
    if counts["running"]:
        end = datetime.fromtimestamp(time.time()) + timedelta(seconds=sum(map(here, left)) / counts["running"])
        print(f"{counts['running']} side by side end about {end:%A %d %B %H:%M}")


def unpinned(runs: Iterable[Run]) -> list[str]:
    """The encoders of the hub from which some runs start, of which the study names no commit."""
    names = {name for run in runs for name in run.recipe.encoders if hub.HUB_NAME.fullmatch(name)} - {*KNOWN_TENSORS}
    return sorted(name for name in names if not isinstance(model_origin(name)[0], Path))
