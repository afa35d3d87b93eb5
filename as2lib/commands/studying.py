"""`as2 study` and `as2 plan`: a study, or a part of one, is planned and handed to Snakemake; where it stands."""

import json
import os
import signal
import sys
import time
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import yaml

from as2lib.commands.errors import first_line
from as2lib.papers import Study
from as2lib.paths import find_root, whole_file, work_folder
from as2lib.study import catalogue, estimate, graph, progress
from as2lib.study.bundles import bundles
from as2lib.study.processes import gpus
from as2lib.study.run import Notebook
from as2lib.study.study import params_file


def loadable(study: Study) -> str:
    """What other processes load: a study's name, or the file of one that is not as `params/<name>.yaml` says."""
    if study.variant == study.study and params_file(f"{study.study}.yaml").exists():
        return study.study
    path = work_folder() / "studies" / study.variant / f"{study.study}.yaml"
    content = study.model_dump(mode="json", exclude_unset=True)
    with whole_file(path) as temporary:
        temporary.write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return str(path)


def make(study: Study, only: list[str], cores: int, profile: str | None, dry_run: bool, options: list[str]) -> None:
    """Become the Snakemake that makes a study, or what some notebooks, tables or runs of it need."""
    root = find_root()
    if not (root / "Snakefile").exists():
        where = f"pages are made in a clone (AS2_ROOT=CLONE); `as2 fit {study.name}` makes the runs alone, anywhere"
        raise FileNotFoundError(f"{root}: expected the repository's Snakefile and notebooks, got none: {where}")
    study, notebooks = catalogue.part(study, only)
    graph.markers(study)  # a notebook that is missing is known here
    if dry_run:
        rehearse(study, notebooks)
        return
    config = [f"study={loadable(study)}"]
    if only:
        config.append(f"pages={','.join(notebook.name for notebook in notebooks) or 'none'}")
    arguments = []
    if profile:
        folder = root / "profiles" / profile
        arguments += ["--profile", str(folder if folder.is_dir() else profile), "--local-cores", str(cores)]
    elif count := len(gpus()):
        config += [f"gpus={count}", "gpu=1"]
        arguments += ["--resources", f"gpu={count}"]
        cores = max(cores, count)  # a fit on each
    if not profile:  # whose jobs have threads of their own
        config.append(f"cores={cores}")
        arguments += ["--cores", str(cores)]
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    os.chdir(root)
    sys.stdout.flush()
    for number in (signal.SIGINT, signal.SIGTERM):  # which a shell's background job would ignore, and its children
        signal.signal(number, signal.SIG_DFL)
    command = [sys.executable, "-m", "snakemake", "--config", *config, *arguments, *options]
    os.execve(sys.executable, command, environment)


def rehearse(study: Study, notebooks: list[Notebook]) -> None:
    """Print what `as2 study` would make, and why."""
    jobs, markers = bundles(study.store), graph.markers(study)
    runs = Counter(study.plan[name].system for job in jobs.values() for name in job.runs)
    for system, count in runs.items():
        print(f"  {system}: " + ("not made yet" if count == 1 else f"{count} runs not made yet"))
    reasons = {page.name: graph.why(study, page, find_root() / markers[page.name], jobs) for page in notebooks}
    for name, reason in reasons.items():
        print(f"  {name}: {reason or 'as it should be'}")
    time, pages = progress.clock(sum(job.seconds for job in jobs.values())), sum(map(bool, reasons.values()))
    print(f"{study.name}: {runs.total()} runs in {len(jobs)} jobs, about {time}; {pages} pages")


def run_notebook(study: Study, name: str, marker: str | None) -> None:
    """Run a notebook and make its page."""
    from as2lib.report import pages

    notebooks = {notebook.name: notebook for notebook in catalogue.notebooks(study)}
    if name not in notebooks:
        raise ValueError(f"expected one of {', '.join(notebooks)}; got {name!r}")
    folder, page = find_root() / "reports" / study.variant, pages.page_name(name)
    source, executed = find_root() / "notebooks" / f"{name}.ipynb", folder / "executed" / f"{name[:2]}.ipynb"
    if (overrides := pages.parameter(source, "overrides")) != "{}":
        raise ValueError(
            f"{source.name}: expected overrides = {{}}, as a study's page is of its file, got {overrides}; "
            f"`papermill notebooks/{source.name} out.ipynb` runs it with them"
        )
    pages.execute(source, executed, {"study": loadable(study), "overrides": {}})
    others = pages.other_studies(study.study, page)
    pages.render(executed, folder / f"{page}.html", list(notebooks), study.title.partition(":")[0], others)
    if marker:
        graph.mark(marker, graph.outputs(study, name), graph.notebook_content(study, notebooks[name]))


def fetch(study: Study, only: list[str]) -> list[str]:
    """Bring a study's encoders and data to this machine, check them, and make the tokens that its fits share.

    Prints each with its size; returns a line for each that can't be had.
    """
    from as2lib.data.encode import PairEncoder
    from as2lib.data.pairs import load_parts
    from as2lib.models import cross_encoder
    from as2lib.study import fitting

    study, _ = catalogue.part(study, only)
    fits = [run for run in study.plan.values() if run.kind == "fit"]
    problems = []
    for name in sorted({name for run in fits for name in run.recipe.encoders}):
        try:
            print(f"{fetch_encoder(name) / 1e6:>10,.1f} MB  {name}", flush=True)
        except (OSError, ValueError) as error:
            problems.append(f"{name}: {first_line(error)}")
    for name in sorted({name for run in study.plan.values() for parts in run.data.values() for name in parts}):
        try:
            print(f"{len(load_parts([name], 'all')):>10,} pairs  {name}", flush=True)
        except (OSError, ValueError) as error:
            problems.append(f"{name}: {first_line(error)}")
    if problems:
        return problems
    lessons = {}  # what is encoded alike, for all the fits that read it
    for run in fits:
        if encoder := run.lineage()[0].recipe.pretrained:
            lessons[encoder, run.recipe.max_length, study.store.learnt_from(run)] = run
    for (encoder, length, _), run in lessons.items():
        tokens = PairEncoder(cross_encoder.tokenizer(encoder), length).encode(fitting.training_pairs(run))
        print(f"{len(tokens):>10,} pairs  {', '.join(run.data['train'])} as tokens of {encoder}", flush=True)
    return problems


def fetch_encoder(name: str) -> int:
    """The bytes of an encoder's files, which are here now, with the weights that the study knows by its name."""
    from as2lib.data.pretrained import require_whole
    from as2lib.study.store import require_known_tensors

    folder = require_whole(name)
    require_known_tensors(name)
    return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())


def plan(study: Study, only: list[str]) -> None:
    """Print each run and where it stands; then what is left, and when it will end."""
    study, _ = catalogue.part(study, only)
    states = progress.states(study.store)
    jobs = graph.jobs(study)
    logs = {run: graph.job_log(study, name) for name, job in jobs.items() for run in job.runs}
    for state in states:
        parents = ", ".join(run.name for run in study.plan[state.name].parent_runs())
        detail = state.detail or f"from {parents or '–'}"
        if state.state == "failed" and state.name in logs:
            detail += f"   ({logs[state.name]})"
        print(f"{state.state:<9}  {state.name:<36} {detail}")
    left = [study.plan[state.name] for state in states if state.state in ("to do", "running", "failed")]
    counts = Counter(state.state for state in states)
    print(f"\n{study.name}: {len(states)} runs: {', '.join(f'{count} {state}' for state, count in counts.items())}")
    if not left:
        return
    seconds = sum(map(estimate.seconds_of(study.store), left))
    steps = sum(map(estimate.steps, left))
    gigabytes = sum(map(estimate.disk, left)) / 1e9
    hours = {gpu: sum(estimate.gpu_hours(run, gpu, study.precision) for run in left) for gpu in estimate.PEAK}
    print(f"left: at most {steps:,} steps and {gigabytes:,.1f} GB; about {progress.clock(seconds)} in series here")
    print(f"GPU-hours at 40 % of the peak: {', '.join(f'{count:,.1f} on an {gpu}' for gpu, count in hours.items())}")
    if counts["running"]:
        end = datetime.fromtimestamp(time.time()) + timedelta(seconds=seconds / counts["running"])
        print(f"{counts['running']} side by side end about {end:%A %d %B %H:%M}")


def show(study: Study, name: str) -> None:
    """Print a run's spec, parents, where it is used, its facts, and what it scored."""
    from as2lib.commands.scoring import print_metrics

    run, stored = study.store.planned(name), study.store.find(name)
    pages = catalogue.notebooks(study)
    readers = [page.name for page in pages if run.system in {system.run for system in page.systems}]
    lines = {
        "identity": study.store.identity(name),
        "spec": json.dumps(run.spec),
        "data": json.dumps(run.data),
        **{role: ", ".join(parent.name for parent in runs) for role, runs in run.parents.items()},
        "used by": ", ".join(other.name for other in study.plan.values() if run in other.parent_runs()),
        "read by": ", ".join(readers),
        "facts": json.dumps(stored.facts) if stored else "not made yet",
        "commit": stored.commit if stored else "",
        "folder": stored.folder if stored else "",
    }
    print(f"{name}   {run.kind}")
    for title, content in lines.items():
        print(f"{title:<9} {content or '–'}")
    for split in ("dev", "test") if stored else ():
        if split in run.data:
            print_metrics(split, stored.scores(split), "answered")
