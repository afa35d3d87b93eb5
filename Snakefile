# The graph of one study: fits → notebooks and their pages → check.  `as2 study` calls it with the lock held.
import sys
from pathlib import Path

from as2lib import Study
from as2lib.papers import notebooks
from as2lib.report.dependencies import modules
from as2lib.runs.estimate import estimate, needs_gpu
from as2lib.runs.gpu import gpus
from as2lib.runs.make import graph_state
from as2lib.study import STUDY_FILES

GIVEN = str(config.get("study", "sample"))  # a name, or a file: Snakemake reads a study's name "nan" as a number
study = Study.load(GIVEN)
STUDY = study.study
PARAMS = GIVEN if Path(GIVEN).suffix in STUDY_FILES else f"params/{STUDY}.yaml"
REPORTS = f"reports/{STUDY}"
store = study.store
NOTEBOOKS = {notebook.name[:2]: notebook for notebook in notebooks(study)}
PAGES = {number: "index" if number == "00" else notebook.name for number, notebook in NOTEBOOKS.items()}
EXPECTED = [path for path in [f"params/expected/{STUDY}.json"] if Path(path).exists()]
LOCAL = [path for path in ["params/local.yaml"] if Path(path).exists()]
MEASURED = Path(f"{REPORTS}/runs/times").exists()  # times are kept, and measured again only where they are removed
STATE = graph_state(store) if workflow.is_main_process else store.graph_file  # jobs of a cluster change nothing
CODE = str(STATE.relative_to(Path.cwd()))  # what other code made, which every page says
READ = [str(path) for kind in ("published/*.csv", "template/*") for path in sorted(Path("as2lib").rglob(kind))]
SHOW_LOG = "|| (tail -n 25 {log:q} >&2; exit 1)"


def fitted(names):
    """The markers of the groups that hold these runs."""
    groups = dict.fromkeys(store.planned(name).group for name in names)
    return [str(store.marker(group).relative_to(Path.cwd())) for group in groups]


def group_parents(wildcards):
    members = store.group(wildcards.group)
    return fitted(parent for name in members for parent in store.planned(name).parent_names if parent not in members)


localrules: all, check

rule all:
    input:
        expand(f"{REPORTS}/{{page}}.html", page=PAGES.values()),
        f"{REPORTS}/manifest.json",

rule fit:
    input: group_parents
    output: touch(f"work/fitted/{STUDY}/{{group}}.{{identity}}")
    log: f"work/logs/{STUDY}/{{group}}.{{identity}}.log"
    threads: study.threads
    resources: gpu=int(needs_gpu(store) or len(gpus()) > 1)  # one fit a GPU: `as2 study` says how many there are
    priority: lambda w: round(sum(estimate(store, name) for name in store.group(w.group)))  # the longest first
    shell: "as2 fit {GIVEN:q} --group {wildcards.group:q} --quiet 2> {log:q} " + SHOW_LOG

for number, notebook in NOTEBOOKS.items():
    rule:
        name: f"notebook_{number}"
        input:
            PARAMS, LOCAL, READ,
            f"notebooks/{notebook.name}.ipynb",
            map(str, modules(Path(f"notebooks/{notebook.name}.ipynb"))),
            fitted(notebook.runs), notebook.files, CODE,
            [f"{REPORTS}/metrics/{other}.json" for other in NOTEBOOKS if other != "00"] + EXPECTED if number == "00" else [],
        output: f"{REPORTS}/metrics/{number}.json", f"{REPORTS}/{PAGES[number]}.html"
        log: f"{REPORTS}/executed/{number}.ipynb"
        params: errors=f"{REPORTS}/executed/{number}.log", notebook=notebook.name
        threads: lambda w, timed=notebook.timed and not MEASURED: workflow.cores if timed else 1
        shell:
            "as2 notebook {GIVEN:q} {params.notebook:q} > {params.errors:q} 2>&1"
            " || (tail -n 25 {params.errors:q} >&2; echo 'failed: {params.notebook}; see {log}' >&2; exit 1)"
            "; echo 'notebook {params.notebook}'"

rule check:
    input: EXPECTED, expand(f"{REPORTS}/metrics/{{number}}.json", number=NOTEBOOKS)
    output: f"{REPORTS}/manifest.json"
    shell: "as2 check {GIVEN:q}"
