"""`as2 …`: one function a command; a known error is one line."""

import fcntl
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from as2lib.paths import find_root, work_folder
from as2lib.precision import computed_in
from as2lib.study.study import AUTO, STUDY_FILES, Study

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
StudyName = Annotated[str, typer.Argument(help="a study's name, or its file")]
KNOWN = (ValueError, KeyError, FileNotFoundError, ModuleNotFoundError, PermissionError, OSError)


def main() -> None:
    """Run a command; a known error is one line, and its exit code 1."""
    try:
        app()
    except KNOWN as error:
        if os.environ.get("AS2_TRACEBACK"):
            raise
        message = error.args[0] if isinstance(error, KeyError) and error.args else error
        print(f"as2: {message}", file=sys.stderr)
        sys.exit(1)


@app.command()
def plan(study: StudyName) -> None:
    """Which runs a study has, group by group, and which are made."""
    loaded = Study.load(study)
    store, names = loaded.store, list(loaded.plan)
    missing = set(store.missing(names))
    for group, members in store.groups.items():
        to_do = sum(name in missing for name in members)
        print(f"\n{group}   {to_do} of {len(members)} to do" if to_do else f"\n{group}   done")
        for name in members:
            stored = store.find(name)
            state = "to do" if name in missing else "no scores" if stored is None else "done"
            state = "published" if stored and stored.published else state
            origin = ", ".join(parent.name for parent in loaded.plan[name].parent_runs()) or "–"
            print(f"  {state:<9}  {name:<32} from {origin}")
    print(f"\n{loaded.name}: {len(names)} runs, {len(names) - len(missing)} done, {len(missing)} to do")


@app.command()
def fit(
    study: StudyName,
    runs: Annotated[list[str] | None, typer.Argument(help="of runs; default: all that the study needs")] = None,
    group: Annotated[str | None, typer.Option(help="all runs of a group")] = None,
) -> None:
    """Make runs: fits and what is derived from them, with what they are made from."""
    from as2lib.study.make import make_all, make_group

    loaded = Study.load(study)

    def say(line: str) -> None:
        print(line, flush=True)

    if group is not None:
        make_group(loaded, group, say)
    if runs or group is None:
        make_all(loaded, list(runs or loaded.plan), model=bool(runs), say=say)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def study(
    context: typer.Context,
    study: StudyName,
    cores: Annotated[int, typer.Option(help="fits and notebooks side by side")] = 2,
    profile: Annotated[str | None, typer.Option(help='"slurm", or the folder of a Snakemake profile')] = None,
) -> None:
    """Make a whole study: runs, notebooks, pages, check.  Further options are Snakemake's."""
    from as2lib.study.make import gpus

    loaded, root = Study.load(study), find_root()
    if not (root / "Snakefile").exists():
        raise FileNotFoundError(
            f"{root}: expected the repository's Snakefile and notebooks, got none: pages are made in a clone (cd "
            f"there, or AS2_ROOT=CLONE); `as2 fit {loaded.name}` makes the runs alone, anywhere"
        )
    _hold_lock(loaded.name)
    literal = os.environ.get(AUTO) or computed_in("auto")
    options = ["--config", f"study={_absolute(study)}", f"precision={literal}", "--cores", str(cores)]
    if profile:
        options += [
            "--profile",
            str(root / "profiles" / profile if (root / "profiles" / profile).is_dir() else profile),
        ]
    elif gpus():
        options += ["--resources", f"gpu={len(gpus())}"]
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    os.chdir(root)
    os.execve(sys.executable, [sys.executable, "-m", "snakemake", *options, *context.args], environment)


def _absolute(study: str) -> str:
    """A study's file by its full path, since Snakemake works in the root; a name as it is."""
    return str(Path(study).resolve()) if Path(study).suffix in STUDY_FILES else study


def _hold_lock(name: str) -> None:
    """Take a study's lock, for this process and what it becomes; the system releases it when that ends."""
    folder = work_folder() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / f"study-{name}.lock", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"study {name} is being made by another process; waiting for it", file=sys.stderr, flush=True)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.set_inheritable(descriptor, True)


@app.command()
def notebook(
    study: StudyName,
    name: Annotated[str, typer.Argument(help='such as "03_distillation"')],
    marker: Annotated[str | None, typer.Option(hidden=True, help="what the study's graph knows it by")] = None,
) -> None:
    """Run a notebook of a study, and make its page."""
    from as2lib.papers import notebooks
    from as2lib.report import pages
    from as2lib.study import graph

    loaded, root = Study.load(study), find_root()
    names = [notebook.name for notebook in notebooks(loaded)]
    if name not in names:
        raise ValueError(f"expected one of {', '.join(names)}; got {name!r}")
    folder = root / "reports" / loaded.variant
    parameters = {"study": _absolute(study), "overrides": {}}
    executed = pages.execute(
        root / "notebooks" / f"{name}.ipynb", folder / "executed" / f"{name[:2]}.ipynb", parameters
    )
    pages.render(executed, folder / f"{pages.page_name(name)}.html", names)
    if marker:
        graph.mark(marker, graph.outputs(loaded, name))


@app.command()
def publish(study: StudyName, runs: Annotated[list[str] | None, typer.Argument()] = None) -> None:
    """Add the scores of runs to reports/<study>/runs/."""
    from as2lib.study.make import publish

    written = publish(Study.load(study), runs or None)
    print(f"{len(written)} runs published")


@app.command()
def check(
    study: StudyName,
    store: Annotated[bool, typer.Option("--store", help="compare the hashes of stored files")] = False,
    marker: Annotated[str | None, typer.Option(hidden=True)] = None,
) -> None:
    """Whether a study gave the numbers it is expected to give, and its findings hold."""
    from as2lib.study import findings, graph

    loaded = Study.load(study)
    if store:
        lines = loaded.store.check()
    else:
        from as2lib.report import check

        lines = [f"moved: {line}" for line in check.moved(loaded)] + findings.broken(loaded)
    for line in lines:
        print(line, file=sys.stderr)
    if not (store or lines):
        check.write_manifest(loaded)
    if marker and not lines:
        graph.mark(marker, [])
    raise typer.Exit(int(bool(lines)))


if __name__ == "__main__":
    main()
