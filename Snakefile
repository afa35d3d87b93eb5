# The graph of one study: groups of fits → notebooks and their pages → check.  `as2 study` becomes this, its lock held.
# What a marker in work/graph/ stands for is compared by content (as2lib/study/graph.py): no file's time decides.
import os
from pathlib import Path

from as2lib.study.catalogue import notebooks
from as2lib.study import graph
from as2lib.study.gpus import gpus
from as2lib.study.make import MAKE_NOTHING
from as2lib.study.study import AUTO, Study

if "precision" in config:
    os.environ[AUTO] = config["precision"]  # what `precision: auto` means, on every machine of this study
GIVEN = str(config.get("study", "sample"))  # a name, or a file: Snakemake reads a study's name "nan" as a number
study = Study.load(GIVEN)
REPORTS = f"reports/{study.variant}"
NOTEBOOKS = {notebook.name: notebook for notebook in notebooks(study)}
FIRST, *OTHERS = NOTEBOOKS  # 00_overview reads what the others recorded
MARKERS = {name: graph.notebook_marker(study, notebook) for name, notebook in NOTEBOOKS.items()}
AUTHORED = [f"params/{kind}/{study.name}.{suffix}" for kind, suffix in (("expected", "json"), ("findings", "yaml"))]
MARKERS[FIRST] = graph.joint_marker(study, FIRST, list(MARKERS.values()), AUTHORED)
CHECK = graph.joint_marker(study, "check", list(MARKERS.values()), AUTHORED)
MEASURED = Path(REPORTS, "runs/times").exists()  # times are kept, and measured again only where they are removed

if workflow.is_main_process:
    graph.refresh(study, [*MARKERS.values(), CHECK])


localrules: all, check

rule all:
    input: CHECK

rule fit:
    input: lambda wildcards: graph.group_parents(study, wildcards.group)
    output: touch(f"work/graph/{study.variant}/fit/{{group}}.{{identity}}")
    wildcard_constraints: identity="[0-9a-f]{16}"
    threads: study.threads
    resources: gpu=int(bool(gpus()))  # one fit a GPU: `as2 study` says how many there are
    shell: "as2 fit {GIVEN:q} --group {wildcards.group:q}"

for name, notebook in NOTEBOOKS.items():
    rule:
        name: f"notebook_{name}"
        input: [MARKERS[other] for other in OTHERS] if name == FIRST else graph.notebook_parents(study, notebook)
        output: MARKERS[name]
        threads: lambda w, timed=notebook.timed and not MEASURED: workflow.cores if timed else 1
        params: name=name, log=f"{REPORTS}/executed/{name[:2]}.log"
        shell:
            "mkdir -p $(dirname {params.log:q}); {MAKE_NOTHING}=1 as2 notebook {GIVEN:q} {params.name:q}"
            " --marker {output:q} > {params.log:q} 2>&1"
            " || (tail -n 25 {params.log:q} >&2; echo 'failed: {params.name}; see {params.log}' >&2; exit 1)"
            "; echo 'notebook {params.name}'"

rule check:
    input: MARKERS.values()
    output: CHECK
    shell: "as2 check {GIVEN:q} --marker {output:q}"

onsuccess:
    print(f"study {study.name}: {REPORTS}/index.html")
