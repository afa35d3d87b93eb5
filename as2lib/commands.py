"""What the command line prints: a study's plan, a run, and the scores of pairs."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from as2lib.escape import field, spreadsheet, terminal
from as2lib.papers import notebooks
from as2lib.paths import find_root
from as2lib.precision import computed_in
from as2lib.runs import forked
from as2lib.runs.alone import guarded
from as2lib.runs.estimate import estimate, said
from as2lib.runs.finished import Finished
from as2lib.runs.store import Store

if TYPE_CHECKING:
    from as2lib.study import Study

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")  # of tracebacks
_SAVED = re.compile(r'href="((?:tables|figures)/[^"]+)"')  # what a page links to
SILENCE = 8.0  # seconds after which a study says what it is at
SECONDS_A_PROCESS = 6.0  # importing torch and the Trainer


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


def require_clone(name: str) -> None:
    """Raises FileNotFoundError or ModuleNotFoundError, in one line, where there is nothing to walk, or to walk with."""
    if not (find_root() / "Snakefile").exists():
        raise FileNotFoundError(
            f"{find_root()}: expected the repository's Snakefile and notebooks, got none: pages are made in a clone "
            f"(cd there, or AS2_ROOT=CLONE); `as2 fit {name}` makes the runs alone, anywhere"
        )
    if find_spec("snakemake") is None:
        raise ModuleNotFoundError("No module named 'snakemake'")


def incomplete(study: "Study") -> list[str]:
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
    with guarded(command, lock, **given) as running:
        pairs = ((running.stdout, sys.stdout), (running.stderr, sys.stderr))
        readers = [threading.Thread(target=pass_on, args=pair) for pair in pairs]
        for reader in readers:
            reader.start()
        while any(reader.is_alive() for reader in readers):
            readers[0].join(0.2)
            readers[1].join(0.2)
            if time.time() - last > SILENCE:
                print(f"  … {time.time() - started:.0f} s: {at_work(store, started)}", flush=True)
                last = time.time()
        code = running.wait()
    return code


def at_work(store: Store, since: float) -> str:
    """The runs that are being made since then, or the notebooks that were."""
    marks = {
        name: store.folder(name).with_name(f"{store.folder(name).name}.partial") / "spec.json" for name in store.plan
    }
    now = [name for name, mark in marks.items() if mark.exists() and mark.stat().st_mtime >= since]
    total, left = len(store.plan), len(store.missing(list(store.plan)))
    if now or left:
        busy = f"at work on {', '.join(now)}" if now else "starting, or at a notebook"
        return f"{total - left} of {total} runs done, {busy}"
    names = [notebook.name[:2] for notebook in notebooks(store.study)]
    pages = [store.published_folder.parent / "metrics" / f"{name}.json" for name in names]
    made = sum(page.exists() and page.stat().st_mtime >= since for page in pages)
    return f"all {total} runs are done, {made} of {len(names)} notebooks made"


def print_run(store: Store, name: str) -> None:
    """A run's spec, parents, where it is used, and what it scored."""
    run, found = store.planned(name), store.find(name)
    print(f"{name}   {run.kind}   group {run.group}   identity {store.identity(name)[:24]}")
    print(f"spec      {json.dumps(run.spec)}")
    print(f"data      {json.dumps(run.data)}")
    for role, parents in run.parents.items():
        print(f"{role:<9} {', '.join(parents)}")
    print(f"used by   {', '.join(store.used_by(name)) or '–'}")
    read = [notebook.name for notebook in notebooks(store.study) if name in notebook.runs]
    print(f"read by   {', '.join(read) or '–'}")
    if found is None:
        whole = store.missing([name]) or store.missing([name], model=True)  # a run that is never scored is its model
        own, others = said(store, estimate(store, name)), len(whole) - 1
        every = said(store, sum(estimate(store, one) for one in whole))
        more = f"; with the {others} missing it is made from, {every}" if others else ""
        print(f"state     to do, about {own}{more}")
        return
    print(f"facts     {json.dumps(found.facts)}")
    print(f"folder    {found.folder}")
    now = "unknown" if found.code is None else "other than there is now" if store.by_other_code(found) else "as now"
    print(f"code      {now}")
    for split in ("dev", "test"):
        if split in run.data:
            print_metrics(split, found.scores(split), "answered")


def score_pairs(options: Namespace, run: Finished | None = None, folder: Path | None = None, pairs=None) -> None:
    """The stored scores of a run on its own split, or those of any pairs by the model in a folder; then what is asked.

    Writes the files named by `--trec` and `--out`, then prints metrics where there are labels; scores that neither a
    file nor a metric tells of are printed themselves, as TSV.
    """
    table = run.scores(options.split) if run else _fresh_scores(folder, options, pairs)
    if options.trec:
        write_trec(Path(options.trec), table, tag=options.model.replace("/", "-"))
        print(f"wrote {options.trec}")
    if options.out:
        _scores(table).to_csv(options.out, sep="\t", index=False)
        print(f"wrote {options.out}")
    told, name = options.trec or options.out, options.pairs or options.split
    try:
        if "label" in table:
            print_metrics(name, table, options.questions)
            told = True
    except ValueError as error:
        raise ValueError(f"{name}: scored, but without metrics: {error}; --questions all keeps each question") from None
    finally:
        if not told:
            _scores(table).to_csv(sys.stdout, sep="\t", index=False)


def _scores(table):
    """What `--out` holds."""
    ids = table["question_id"].map(spreadsheet)
    return table.assign(question_id=ids)[["question_id", "position", "score"]]


def pairs_to_score(options: Namespace):
    """The pairs that `as2 score` was given, with their labels where they have some."""
    from as2lib.data.formats import NoLabels
    from as2lib.data.pairs import load_pairs, load_unlabelled

    split = None if Path(options.pairs).is_file() else options.split
    try:
        return load_pairs(options.pairs, split, questions="all")
    except NoLabels:
        return load_unlabelled(options.pairs, split)


def write_trec(path: Path, table, tag: str) -> None:
    """A run file: question, Q0, candidate (`question-position`), rank, score, tag; questions in first-seen order.

    Blanks in an id are written as `%20`.  Equal scores keep their order in the file; trec_eval ignores ranks and has a
    tie rule of its own.
    """
    first_seen = {question: place for place, question in enumerate(dict.fromkeys(table["question_id"]))}
    ordered = table.assign(at=table["question_id"].map(first_seen), below=-table["score"])
    ordered = ordered.sort_values(["at", "below"], kind="stable")
    ordered["rank"] = ordered.groupby("at", sort=False).cumcount() + 1
    with path.open("w", encoding="utf-8") as file:
        for row in ordered.itertuples():
            question = field(row.question_id)
            file.write(f"{question} Q0 {question}-{row.position} {row.rank} {row.score!r} {field(tag)}\n")


def _fresh_scores(folder: Path, options: Namespace, pairs):
    from as2lib import models
    from as2lib.data.encode import load_encoder
    from as2lib.score import on_gpu, score

    precision = computed_in(options.precision)
    found = score(on_gpu(models.load(folder)), pairs, load_encoder(folder), precision, progress=True)
    print(f"scored {len(pairs):,} pairs in {precision}", file=sys.stderr)
    columns = [name for name in ("question_id", "label") if name in pairs.column_names]
    table = pairs.select_columns(columns).with_format("pandas")[:]  # at once: a column by itself is read row by row
    table.insert(1, "position", table.groupby("question_id", sort=False).cumcount())
    return table.assign(score=found.score)


def print_metrics(name: str, table, questions: str) -> None:
    """One line: the metrics of a table with question_id, label and score under a policy."""
    from as2lib.metrics.ranking import summary

    found = summary(table["question_id"], table["label"], table["score"], questions)
    values = "   ".join(f"{metric} {100 * found[metric]:.2f}" for metric in ("P@1", "MAP", "MRR", "nDCG@10"))
    print(f"{name:<9} {values}   ({found['questions']} questions, policy {questions}, ties against the system)")
