# One study, as `as2 study` starts it: workers make its runs, then the pages that others may be made beside; then, alone, what
# measures time, and the overview.  What is missing is told by content and by locks (as2lib/study/fit_missing.py,
# pages.py), by no file's time: Snakemake starts all this, here or on a cluster.
from as2lib import Study

STUDY = str(config.get("study", "sample"))  # a name, or a file: Snakemake reads a study's name "nan" as a number
WORKERS = int(config.get("workers", 1))
study = Study.load(STUDY)
ENDED = f"work/workers/{study.variant}"


localrules: all

rule all:
    input: f"{ENDED}/report"

rule worker:
    output: touch(f"{ENDED}/{{number}}")
    threads: study.threads
    resources: gpu=int(study.gpu)
    shell: "TQDM_DISABLE=1 AS2_WORKER={wildcards.number} as2 fit {STUDY:q} && as2 page {STUDY:q} --beside"

rule report:
    input: expand(rules.worker.output, number=range(WORKERS))
    output: touch(f"{ENDED}/report")
    threads: study.threads
    shell: "as2 page {STUDY:q}"
