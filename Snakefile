# The graph of one study: jobs of runs → notebooks and their pages → check.  `as2 study` becomes this.
# What is to be made is told by content (as2lib/study/graph.py), and bundled into jobs (bundles.py): no file's time decides.
import atexit
import sys
import threading
from pathlib import Path

from as2lib.locks import lock
from as2lib.study import graph, progress
from as2lib.study.catalogue import notebooks
from as2lib.study.make import MAKE_NOTHING
from as2lib.study.processes import end_jobs_on_interrupt
from as2lib import Study

GIVEN = str(config.get("study", "sample"))  # a name, or a file: Snakemake reads a study's name "nan" as a number
study = Study.load(GIVEN)
REPORTS = f"reports/{study.variant}"
NOTEBOOKS = {notebook.name: notebook for notebook in notebooks(study)}
FIRST, *OTHERS = NOTEBOOKS  # 00_overview reads what the others recorded
MARKERS = graph.markers(study)
MEASURED = Path(REPORTS, "runs/times").exists()  # times are kept, and measured again only where they are removed
PAGES = [name for name in NOTEBOOKS if name in config.get("pages", name).split(",")]  # those of `as2 study --only`
TARGETS = {name: MARKERS[name] for name in ([*PAGES] if "pages" in config else MARKERS)}
GPU = int(config.get("gpu", study.gpu))  # of a fit
CORES = config.get("cores", study.threads)  # of this machine, where jobs are not a cluster's

if workflow.is_main_process:
    LOCK = lock(f"study-{study.name}", f"study {study.name}")  # until this process ends
    JOBS = graph.refresh(study, [*MARKERS.values()])
    end_jobs_on_interrupt(lambda: workflow.local_exec)
    pages = [MARKERS[name] for name in PAGES]
    threading.Thread(target=progress.watch, args=(study, JOBS, pages), daemon=True).start()
    atexit.register(lambda: sys.stderr.write(progress.left(study, JOBS, TARGETS)))  # quiet Snakemake says nothing
else:
    JOBS = graph.jobs(study)


localrules: all, check

rule all:
    input: [graph.job_marker(study, job) for job in JOBS], *TARGETS.values()

rule fit:
    input: lambda w: [graph.job_marker(study, parent) for parent in JOBS[w.job].parents]
    output: touch(graph.job_marker(study, "{job}"))
    threads: max(1, min(study.threads, CORES // config.get("gpus", 1)))
    priority: lambda w: JOBS[w.job].path  # what most waits for comes first
    resources:
        gpu=GPU,
        mem_mb=lambda w: JOBS[w.job].megabytes,
        runtime=lambda w: JOBS[w.job].minutes,
    params: log=lambda w: graph.job_log(study, w.job)
    shell:
        "mkdir -p $(dirname {params.log:q}); as2 fit {GIVEN:q} --job {wildcards.job:q} > {params.log:q} 2>&1"
        " || (grep '^failed: ' {params.log:q} >&2; echo 'see {params.log}' >&2; exit 1)"

for name, notebook in NOTEBOOKS.items():
    rule:
        name: f"notebook_{name}"
        input: [MARKERS[other] for other in OTHERS] if name == FIRST else graph.notebook_parents(study, notebook, JOBS)
        output: MARKERS[name]
        threads: CORES if notebook.timed and not MEASURED else 1
        params: name=name, log=f"{REPORTS}/executed/{name[:2]}.log"
        shell:
            "mkdir -p $(dirname {params.log:q}); {MAKE_NOTHING}=1 as2 notebook {GIVEN:q} {params.name:q}"
            " --marker {output:q} > {params.log:q} 2>&1"
            " || (tail -n 25 {params.log:q} >&2; echo 'failed: {params.name}; see {params.log}' >&2; exit 1)"
            "; echo 'notebook {params.name}'"

rule check:
    input: [MARKERS[name] for name in NOTEBOOKS]
    output: MARKERS["check"]
    shell: "as2 check {GIVEN:q} --marker {output:q}"

onsuccess:  # which Snakemake, told to keep going, also calls an end with jobs left that never became ready
    if progress.left(study, JOBS, TARGETS):
        sys.exit(1)  # the line is said as this process ends
    for page in [f"{REPORTS}/{'index' if name == FIRST else name}.html" for name in PAGES[:1]]:
        print(f"study {study.name}: {page}\nto read it: open {Path(page).resolve().as_uri()} in a browser")
