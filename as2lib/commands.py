"""The commands over a study: what is planned, made, shown, kept and written, and the walk over its graph."""

import json
import os
import re
import subprocess
import sys
import time
from argparse import Namespace
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from as2lib.escape import terminal
from as2lib.papers import left_out, notebooks
from as2lib.paths import find_root
from as2lib.runs import forked, make, upkeep
from as2lib.runs.alone import guarded, only_one, stopped_by_signals
from as2lib.runs.beforehand import require_inputs
from as2lib.runs.estimate import estimate, said
from as2lib.runs.gpu import gpus
from as2lib.runs.store import Store
from as2lib.study import STUDY_FILES, Study

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")  # of tracebacks
_SAVED = re.compile(r'href="((?:tables|figures)/[^"]+)"')  # what a page links to
SILENCE = 8.0  # seconds after which a study says what it is at
SECONDS_A_PROCESS = 6.0  # importing torch and the Trainer
print_now = partial(print, flush=True)


def study_of(options: Namespace, **changes: Any) -> Study:
    """The study that a command names, with what `--set` replaces; says on stderr what is not as its file says."""
    given = getattr(options, "set", [])
    if wrong := [one for one in given if not re.match(r"[^=.][^=]*=", one)]:
        raise ValueError(f"--set: expected KEY=VALUE, such as threads=2 or fit.adapt.steps=10; got {wrong[0]!r}")
    pairs = (one.partition("=") for one in given)
    study = Study.load(options.study, {key: _value(value) for key, _, value in pairs} | changes)
    for key, (before, now) in study.overridden().items():
        print(terminal(f"not as params/{study.study}.yaml says: {key} {now} (there: {before})"), file=sys.stderr)
    return study


def _value(text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError(f"--set: expected UTF-8 text, got {text!a}") from None
    return value


def model_folder(options: Namespace) -> Path:
    """A model folder as given, or that of a run of the study."""
    if (Path(options.model) / "config.json").exists():
        return Path(options.model)
    return study_of(options).run(options.model, model=True).model_folder


def plan(options: Namespace) -> None:
    print_plan(study_of(options).store)


def print_plan(store: Store) -> None:
    """The graph of runs, group by group: done, published or to do, what each is made from, and an estimate."""
    missing, outdated = set(store.missing(list(store.plan))), set(store.outdated())
    total = 0.0
    for group, names in store.groups.items():
        seconds = sum(estimate(store, name) for name in names if name in missing)
        total += seconds + (SECONDS_A_PROCESS if seconds else 0)
        print(f"\n{group}" + (f"   about {said(store, seconds)} to do" if seconds else "   done"))
        for name in names:
            run, found = store.plan[name], store.find(name)
            state = "no scores" if found is None else "published" if found.published else "done"
            state = ("damaged" if name in store.damaged else "to do") if name in missing else state
            origin = ", ".join(run.parent_names) or "–"
            print(f"  {state:<9}  {name:<32} from {origin}{'   made by other code' * (name in outdated)}")
    if outdated:
        print(f"\n{len(outdated)} runs made by other code: `as2 fit {store.study.study} --refresh` makes them again")
    done = len(store.plan) - len(missing)
    print(f"\n{store.study.study}: {len(store.plan)} runs, {done} done, {len(missing)} to do", end="")
    print(f", about {said(store, total)}; several run side by side" if missing else "")


def fit(options: Namespace) -> None:
    store = study_of(options, **({"precision": options.precision} if options.precision else {})).store
    names = [*options.runs, *(store.group(options.group) if options.group else [])] or list(store.plan)
    model = bool(options.runs)
    make.make_all(store, names, not options.quiet, say=print_now, model=model, refresh=options.refresh)


def show(options: Namespace) -> None:
    """A run's spec, parents, where it is used, and what it scored."""
    store, name = study_of(options).store, options.run
    run, found = store.planned(name), store.find(name)
    print(f"{name}   {run.kind}   group {run.group}   identity {store.identity(name)[:24]}")
    used = [other.name for other in store.plan.values() if name in other.parent_names]
    read = [notebook.name for notebook in notebooks(store.study) if name in notebook.runs]
    told = {"spec": json.dumps(run.spec), "data": json.dumps(run.data)}
    told |= {role: ", ".join(parents) for role, parents in run.parents.items()}
    told |= {"used by": ", ".join(used) or "–", "read by": ", ".join(read) or "–"}
    if found is None:
        whole = store.missing([name]) or store.missing([name], model=True)  # a run that is never scored is its model
        every = said(store, sum(estimate(store, one) for one in whole))
        more = f"; with the {len(whole) - 1} missing it is made from, {every}" if len(whole) > 1 else ""
        told["state"] = f"to do, about {said(store, estimate(store, name))}{more}"
    else:
        now = "other than there is now" if store.by_other_code(found) else "as now"
        told |= {"facts": json.dumps(found.facts), "folder": found.folder, "code": now if found.code else "unknown"}
    for title, content in told.items():
        print(f"{title:<9} {content}")
    for split in ("dev", "test") if found else ():
        if split in run.data:
            print_metrics(split, found.scores(split), "answered")


def print_metrics(name: str, table, questions: str) -> None:
    """One line: the metrics of a table with question_id, label and score under a policy."""
    from as2lib.metrics.ranking import summary

    found = summary(table["question_id"], table["label"], table["score"], questions)
    values = "   ".join(f"{metric} {100 * found[metric]:.2f}" for metric in ("P@1", "MAP", "MRR", "nDCG@10"))
    print(f"{name:<9} {values}   ({found['questions']} questions, policy {questions}, ties against the system)")


def study(options: Namespace) -> int:
    """Walk the graph with Snakemake; one study at a time, a second one waits."""
    loaded, file = Study.load(options.study), Path(options.study)
    if loaded.variant != loaded.study:
        raise ValueError(
            f"{file}: the study {loaded.study} is that of params/{loaded.study}.yaml, which has other content; "
            "give the file, and its key study, another name"
        )
    require_clone(loaded.study)
    given = str(file.resolve()) if file.suffix in STUDY_FILES else f"params/{loaded.study}.yaml"
    name, whole, missing = loaded.study, len(loaded.plan), loaded.store.missing(list(loaded.plan))
    to_do = f"{len(missing)} of {whole} runs are to be made"
    to_do = to_do if missing else f"all {whole} runs are done, nothing is trained"
    if outdated := loaded.store.outdated():
        to_do += f"; {len(outdated)} were made by other code, `as2 fit {name} --refresh` makes them again"
    require_inputs(loaded.store, missing)
    print_now(f"study {name}: {to_do}{left_out(loaded)}")
    elsewhere = any(option.startswith(("--profile", "--executor")) for option in options.snakemake)
    limits = [] if elsewhere or not gpus() else ["--resources", f"gpu={len(gpus())}"]  # a cluster knows its own
    again = incomplete(loaded)
    limits += [*(["--forcerun", *again] if again else []), "--cores", str(options.cores)]
    with stopped_by_signals(), only_one(f"study-{name}", f"study {name}") as lock:
        make.forget_made(loaded.store)
        named = ["--config", f"study={given}"]
        code = walk(loaded.store, lock, *named, *limits, *options.snakemake, forks=not elsewhere)
    if code == 0:
        print_now(f"study {name}: reports/{name}/index.html")
    return code


def require_clone(name: str) -> None:
    """Raises FileNotFoundError or ModuleNotFoundError, in one line, where there is nothing to walk, or to walk with."""
    if not (find_root() / "Snakefile").exists():
        raise FileNotFoundError(
            f"{find_root()}: expected the repository's Snakefile and notebooks, got none: pages are made in a clone "
            f"(cd there, or AS2_ROOT=CLONE); `as2 fit {name}` makes the runs alone, anywhere"
        )
    if find_spec("snakemake") is None:
        raise ModuleNotFoundError("No module named 'snakemake'")


def incomplete(study: Study) -> list[str]:
    """The graph's rules of those notebooks whose page links to a table or a figure that is there no more."""
    folder, found = find_root() / "reports" / study.study, []
    for number, _, name in (notebook.name.partition("_") for notebook in notebooks(study)):
        page = folder / ("index.html" if number == "00" else f"{number}_{name}.html")
        links = _SAVED.findall(page.read_text(encoding="utf-8")) if page.exists() else []
        if not all((folder / link).exists() for link in links):
            found.append(f"notebook_{number}")
    return found


def walk(store: Store, lock: int, *arguments: str, forks: bool = True) -> int:
    """Snakemake over the study's graph, and its exit code; a line of what is at work where nothing is printed.

    forks: its fits and notebooks are forks of one process, on one machine without a GPU.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    # Freed tensors stay with the process, instead of costing a page fault a page again and again: a fifth of the time.
    keep = "glibc.malloc.mmap_threshold=4294967296:glibc.malloc.trim_threshold=4294967296"
    environment = {"GLIBC_TUNABLES": keep, "PYTHONUNBUFFERED": "1", **os.environ, "PATH": path}
    pipe, command = subprocess.PIPE, [sys.executable, "-m", "snakemake", *arguments]
    command = forked.below_forks(command) if forks else command
    started = last = time.time()

    def pass_on(source, target) -> None:
        nonlocal last
        for line in source:
            if not line.startswith("Using workflow specific profile"):
                target.write(f"{terminal(_COLOUR.sub('', line.rstrip()))}\n")
                target.flush()
                last = time.time()

    given = {"cwd": find_root(), "env": environment, "stdout": pipe, "stderr": pipe, "text": True}
    with ThreadPoolExecutor(2) as readers, guarded(command, lock, **given) as running:
        pairs = ((running.stdout, sys.stdout), (running.stderr, sys.stderr))
        passing = [readers.submit(pass_on, *pair) for pair in pairs]
        while wait(passing, timeout=0.4).not_done:
            if time.time() - last > SILENCE:
                print(f"  … {time.time() - started:.0f} s: {at_work(store, started)}", flush=True)
                last = time.time()
        return running.wait()


def at_work(store: Store, since: float) -> str:
    """The runs that are being made since then, or the notebooks that were."""
    marks = {name: Path(f"{store.folder(name)}.partial", "spec.json") for name in store.plan}
    now = [name for name, mark in marks.items() if mark.exists() and mark.stat().st_mtime >= since]
    total, left = len(store.plan), len(store.missing(list(store.plan)))
    if now or left:
        busy = f"at work on {', '.join(now)}" if now else "starting, or at a notebook"
        return f"{total - left} of {total} runs done, {busy}"
    names = [notebook.name[:2] for notebook in notebooks(store.study)]
    pages = [store.published_folder.parent / "metrics" / f"{name}.json" for name in names]
    made = sum(page.exists() and page.stat().st_mtime >= since for page in pages)
    return f"all {total} runs are done, {made} of {len(names)} notebooks made"


def notebook(options: Namespace) -> None:
    """Run and render in one process: each would import for two seconds."""
    from as2lib.report.pages import execute, page_name, render

    name, root, study = options.notebook, find_root(), study_of(options)
    names = [notebook.name for notebook in notebooks(study)]
    if name not in names:
        raise ValueError(f"expected one of {', '.join(names)}; got {name!r}")
    folder, file = root / "reports" / study.variant, Path(options.study)
    elsewhere = file.suffix in STUDY_FILES and file.resolve() != root / "params" / f"{study.study}.yaml"
    given = str(file.resolve()) if elsewhere else study.study  # a page names no folder of this machine without need
    executed = execute(root / "notebooks" / f"{name}.ipynb", folder / "executed" / f"{name[:2]}.ipynb", given)
    render(executed, folder / f"{page_name(name)}.html", names)


def check(options: Namespace) -> int:
    """1 where numbers moved, or with --store where a file is damaged; else what ends a study is written."""
    from as2lib.report import readme
    from as2lib.report.check import expected, moved, write_manifest

    loaded = study_of(options)
    if options.store:
        return int(upkeep.check_store(loaded.store, print_now) > 0)
    lines, count = moved(loaded), sum(map(len, expected(loaded).values()))
    for line in lines:
        print(f"moved: {line}", file=sys.stderr)
    if not lines:
        write_manifest(loaded)
        readme.write(loaded)
        print_now(f"checked {count} expected numbers" if count else "no expected numbers for this study")
    return int(bool(lines))


def clean(options: Namespace) -> None:
    """Show what no study needs; with --yes remove it."""
    files = sorted(path for path in (find_root() / "params").glob("*.yaml") if path.stem != "local")
    found = upkeep.stale([Study.load(path).store for path in [*files, *options.studies]])
    for path, (why, size) in found.items():
        print(f"{size / 1e6:>10,.1f} MB  {path.relative_to(find_root())}   {why}")
    print(f"{len(found)} things that no study needs, {sum(size for _, size in found.values()) / 1e6:,.1f} MB", end="")
    print((": removed" if options.yes else "; --yes removes them") if found else "")
    if options.yes:
        upkeep.remove(found)


def publish(options: Namespace) -> None:
    store = study_of(options).store
    written = make.publish(store, options.runs or store.unpublished())
    print(f"{len(written)} runs written to {store.published_folder.relative_to(find_root())}")
