"""`as2 study` and its parts: plan, fit, page, check, publish.  Snakemake runs what of a study is missing."""

import os
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
import yaml
from filelock import Timeout
from typer import Argument, Option

from as2lib.commands.options import Changes, StudyName, load_study
from as2lib.papers import Study
from as2lib.paths import find_root, lock, whole_file, work_folder
from as2lib.report.check import moved, write_manifest
from as2lib.study import findings, pages
from as2lib.study.fit_missing import fit_missing, gpus
from as2lib.study.store import ERROR_FILE, noting
from as2lib.study.study import params_file

PAGE_ERROR = "executed/{}.log"  # where a notebook that fails leaves its traceback, in its study's folder
# What is to be made is told by content alone, and the study's lock is held here.
SNAKEMAKE = "--workflow-profile none --forceall --nolock --rerun-incomplete --quiet all".split()


def study(
    context: typer.Context,
    study: StudyName,
    cores: Annotated[int, Option(min=1, max=4096, help="of this machine, for fits and notebooks")] = 2,
    workers: Annotated[int | None, Option(min=1, max=4096, help="default: one a GPU, or cores / threads")] = None,
    profile: Annotated[str | None, Option(help='"slurm", or the folder of a Snakemake profile')] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="say what would be made, and why")] = False,
    changes: Changes = None,
) -> None:
    """Make a whole study: runs, notebooks, pages, check.  Further options are Snakemake's."""
    for number in (signal.SIGINT, signal.SIGTERM):  # the first is ignored by what a shell starts in the background
        signal.signal(number, signal.default_int_handler)
    loaded, root = load_study(study, changes), find_root()
    if not (root / "Snakefile").exists():
        way_out = f"pages are made in a clone (AS2_ROOT=CLONE); `as2 fit {loaded.name}` makes the runs alone, anywhere"
        raise FileNotFoundError(f"{root}: expected a Snakefile and notebooks, got none: {way_out}")
    if dry_run:
        print("\n".join(unfinished(loaded)) or f"study {loaded.name}: nothing to make")
        return
    _held = lock(f"study-{loaded.name}", f"study {loaded.name}")  # until this process ends
    if unfinished(loaded):
        workers = workers or (8 if profile else max(1, len(gpus()) or cores // loaded.threads))
        here = ["--cores", str(workers * loaded.threads)]
        if profile:
            folder = root / "profiles" / profile
            here = ["--profile", str(folder if folder.is_dir() else profile), "--jobs", str(workers)]
        config = ["--config", f"study={loadable(loaded)}", f"workers={workers}"]
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"  # where `as2` is
        command = [sys.executable, "-m", "snakemake", *SNAKEMAKE, *here, *context.args, *config]
        process = subprocess.Popen(command, cwd=root, env=os.environ | {"PATH": path}, process_group=0)
        try:
            code = process.wait()
        except KeyboardInterrupt:  # ends all of the group, on a cluster too
            os.killpg(process.pid, signal.SIGINT)
            process.wait()
            raise
        left = unfinished(loaded)
        if code or left:
            print(f"study {loaded.name}: not all is made, left: {'; '.join(left)}", file=sys.stderr)
            raise typer.Exit(code or 1)
    page = pages.page_file(loaded, loaded.notebooks[0].name)
    print(f"study {loaded.name}: {page.relative_to(root)}\nto read it: open {page.as_uri()} in a browser")
    check(loadable(loaded))


def loadable(study: Study) -> str:
    """What other processes load: a study's name, or the file of one that is not as `params/<name>.yaml` says."""
    if study.variant == study.name and params_file(f"{study.name}.yaml").exists():
        return study.name
    path = work_folder() / "studies" / study.variant / f"{study.name}.yaml"
    content = {"study": study.model_dump(mode="json", exclude_unset=True)}
    with whole_file(path) as temporary:
        temporary.write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return str(path)


def unfinished(study: Study) -> list[str]:
    """What of a study is to be made, a line each with the reason: a system's runs and pages."""
    runs = Counter(study.plan[name].system for name in study.store.needed(study.plan))
    reasons = {name: pages.why(study, name, stamp) for name, stamp in pages.stamps(study).items()}
    lines = [f"{system}: runs not made yet: {count}" for system, count in runs.items()]
    return lines + [f"{name}: {reason}" for name, reason in reasons.items() if reason]


def plan(study: StudyName, changes: Changes = None) -> None:
    """Where a study stands.  Each run, and how many are made, and to do."""
    loaded = load_study(study, changes)
    store, counts = loaded.store, Counter()
    needed = store.needed(loaded.plan)
    for name, run in loaded.plan.items():
        state = "to do" if name in needed else "no scores"  # made only for its weights
        error = store.partial(name) / ERROR_FILE
        if name not in needed and (stored := store.find(name)):
            state = "published" if stored.published else "done"
        elif name in needed and error.exists():
            state = f"failed: {error.read_text(encoding='utf-8').strip().splitlines()[-1]}   ({error})"
        counts[state.partition(":")[0]] += 1
        parents = ", ".join(parent.name for parent in run.parent_runs())
        print(f"{name:<36} {state}" + (f", from {parents}" if parents else ""))
    print(f"\n{loaded.name}: {len(loaded.plan)} runs: {', '.join(f'{count} {what}' for what, count in counts.items())}")
    encoders = {name for run in needed for name in loaded.plan[run].encoders if "@" not in name}
    if names := sorted(name for name in encoders if "hub" in store.encoder_identity(name)):
        print(f"unpinned: {', '.join(names)}; the hub's newest is taken, NAME@COMMIT in the study's file pins one")


def fit(
    study: StudyName,
    runs: Annotated[list[str] | None, Argument(help="names of runs; default: all that the study needs")] = None,
    weights: Annotated[bool, Option("--weights", help="also of runs whose scores are published")] = False,
    changes: Changes = None,
) -> None:
    """Make runs, and what they are made from, as one of any number of workers that share a study."""
    loaded = load_study(study, changes)
    raise typer.Exit(int(bool(fit_missing(loaded.store, runs or loaded.plan, weights or bool(runs)))))


def publish(
    study: StudyName,
    runs: Annotated[list[str] | None, Argument(help="names of runs; default: all that are made")] = None,
) -> None:
    """Add the scores of runs to reports/<study>/scores/."""
    from as2lib.study.publishing import publish

    print(f"{len(publish(load_study(study), runs or None))} runs published")


def page(
    study: StudyName,
    name: Annotated[str | None, Argument(help="such as 03; default: all that are not as they should be")] = None,
    beside: Annotated[bool, Option("--beside", help="those that others may be made beside")] = False,
) -> None:
    """Run a notebook of a study, and make its page."""
    loaded = load_study(study)
    failed, (first, *others) = False, loaded.notebooks
    chosen = [page for page in others if not page.timed] if beside else [*others, first]  # it reads others
    names = [page.name for page in chosen if name in (None, page.name, page.name[:2])]
    if name and not names:
        raise ValueError(f"expected one of {', '.join(page.name for page in chosen)}; got {name!r}")
    for each in names:
        started = time.perf_counter()
        with suppress(Timeout), lock(f"page-{loaded.variant}-{each}", f"page {each}", wait=name is not None):
            if not (name or pages.why(loaded, each, pages.stamps(loaded)[each])):
                continue
            try:
                make_page(loaded, each)
                print(f"page {each}, {time.perf_counter() - started:.0f} s", flush=True)
            except Exception as problem:
                failed = True
                reason = traceback.format_exception_only(problem)[-1].splitlines()[0]
                print(f"failed: {each}: {reason}   ({loaded.folder / PAGE_ERROR.format(each[:2])})", flush=True)
    if not (name or beside or failed):
        write_manifest(loaded)
    raise typer.Exit(int(failed))


def make_page(study: Study, name: str) -> None:
    """Run a notebook and make its page; one that fails leaves the page before it."""
    from papermill import inspect_notebook

    from as2lib.report.pages import execute, render, studies_with_pages

    error, beside = study.folder / PAGE_ERROR.format(name[:2]), work_folder() / "pages" / study.variant / name
    source, executed = find_root() / "notebooks" / f"{name}.ipynb", error.with_suffix(".ipynb")
    with noting(error):
        if (overrides := inspect_notebook(str(source))["overrides"]["default"]) != "{}":
            way_out = f"`papermill notebooks/{source.name} out.ipynb` runs it with them"
            raise ValueError(f"{source.name}: expected overrides = {{}} for a study's page, got {overrides}; {way_out}")
        stamp, page = pages.stamps(study)[name], pages.page_file(study, name)
        shutil.rmtree(beside, ignore_errors=True)
        execute(source, executed, {"study": loadable(study), "overrides": {}, "save": str(beside)})
        fresh = {file.relative_to(beside): file for file in beside.rglob("*") if file.is_file()}
        lost = [str(place) for place, file in fresh.items() if loses_numbers(file, study.folder / place)]
        if lost:  # such as those of texts that are not on this machine
            print(f"{name}: {lost[0]} has numbers of what is not at hand; what is published stays, until you remove it")
            return pages.record(study, name, stamp)
        title, _, made_of = study.title.partition(":")
        up, names = "../" if page.parent == study.folder else "", [page.name for page in study.notebooks]
        render(executed, page, names, title, made_of, studies_with_pages(study.variant, page.stem, up))
    for file in pages.outputs(study, name, timing=True):
        if file != page and file.relative_to(study.folder) not in fresh:  # of an earlier page, which had more of them
            file.unlink()
    for place, file in fresh.items():
        (study.folder / place).parent.mkdir(parents=True, exist_ok=True)
        os.replace(file, study.folder / place)
    pages.record(study, name, stamp)


def loses_numbers(fresh: Path, published: Path) -> bool:
    """Whether a table has blanks where the one that it would replace, of as many rows and columns, has none."""
    if fresh.suffix != ".csv" or not published.exists():
        return False
    from pandas import read_csv

    now, before = (read_csv(file).isna().to_numpy() for file in (fresh, published))
    return now.shape == before.shape and bool((now & ~before).any())


def check(study: StudyName) -> None:
    """Hold a study against what is expected.  Its numbers within their tolerances, its findings, its files as made."""
    loaded = load_study(study)
    edited = pages.edited(loaded)
    lines = [f"edited: {file}: not as it was made; `as2 study {loaded.name}` makes it anew" for file in edited]
    if loaded.variant == loaded.name:  # of other parameters nothing is expected
        lines += [f"moved: {line}" for line in moved(loaded)] + findings.broken(loaded)
    sys.stderr.writelines(f"{line}\n" for line in lines)
    raise typer.Exit(int(bool(lines)))
