"""The command line, `as2`: plan, fit, score, rank, show, and what the Makefile and the Snakefile call."""

import argparse
import gc
import json
import os
import re
import signal
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from as2lib import __version__, arguments
from as2lib.escape import code, terminal
from as2lib.paths import find_root

if TYPE_CHECKING:  # `as2 rank` needs no study
    from as2lib.study import Study


ELSEWHERE = {"init": "as2lib.init:init", "train": "as2lib.train:train", "evaluate": "as2lib.serving:evaluate"}


def main(given: list[str] | None = None) -> int:
    """Run one command; an error a user can mend is one line on stderr and exit code 2."""
    for library in ("TRANSFORMERS", "HF_HUB"):  # what they warn of, a study has seen to or says itself
        os.environ.setdefault(f"{library}_VERBOSITY", "error")
    if given is None and sys.argv[1:2] in (["fit"], ["notebook"]):
        from as2lib.runs import forked

        if (code := forked.asked(sys.argv[1], sys.argv[1:])) is not None:
            return code
    given, options = sys.argv[1:] if given is None else given, None
    end = given.index("--") if given[:1] == ["study"] and "--" in given else len(given)
    try:
        options = arguments.parser(__version__).parse_args(given[:end])
        options.snakemake = given[end + 1 :]
        name = options.name.replace("-", "_")  # each command is the function of its name, here or elsewhere
        code = (resolve_name(ELSEWHERE[name]) if name in ELSEWHERE else globals()[name])(options) or 0
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # who reads has seen enough; Python would complain of it once more at its end
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        said, code = "interrupted; what is finished is kept, and the same command goes on", 128 + signal.SIGINT
    except (ValueError, KeyError, OSError) as error:
        said, code = error.args[0] if isinstance(error, KeyError) and error.args else error, 2
    except ModuleNotFoundError as error:
        said, code = f'{error}; a study needs more: pip install "as2lib[study]"', 2
    print(f"as2{f' {options.name}' if options else ''}: {terminal(' '.join(str(said).split()))}", file=sys.stderr)
    return code


def plan(options: argparse.Namespace) -> None:
    from as2lib.commands import print_plan

    print_plan(_study(options).store)


def fit(options: argparse.Namespace) -> None:
    from as2lib.runs.make import make_all

    store = _study(options, {"precision": options.precision} if options.precision else {}).store
    names = [*options.runs, *(store.group(options.group) if options.group else [])] or list(store.plan)
    progress, model = not options.quiet, bool(options.runs)
    make_all(store, names, progress=progress, say=print_now, model=model, refresh=options.refresh)


def score(options: argparse.Namespace) -> None:
    """Score pairs with a model folder or a run; without pairs, the run's own split as it was scored."""
    from as2lib.commands import pairs_to_score, score_pairs

    for file in filter(None, (options.out, options.trec)):
        if not Path(file).absolute().parent.is_dir():
            raise FileNotFoundError(f"{file}: its folder is not there; make it, or name another file")
    if options.pairs:
        pairs = pairs_to_score(options)  # before a model is looked for, or even made
        score_pairs(options, folder=_model_folder(options), pairs=pairs)
    elif (Path(options.model) / "config.json").exists():
        raise ValueError(f"expected pairs to score with {options.model}: a known source or a file")
    else:
        score_pairs(options, run=_study(options).run(options.model))


def rank(options: argparse.Namespace) -> None:
    gc.disable()  # until the model is loaded: imports make no garbage, and looking for some takes a fifth of their time
    from as2lib import serving

    whole = serving.is_pair_file(options.question) and not options.candidates
    (serving.rank_file if whole else serving.print_ranking)(options, partial(_study, options))


def export(options: argparse.Namespace) -> None:
    """A model as graphs for another runtime; int8 is calibrated on the pairs given, or on those the run learnt from."""
    from as2lib.data.pairs import load_pairs, load_parts
    from as2lib.serve.export import export as write

    pairs = None
    if options.int8 and options.pairs:
        pairs = load_pairs(options.pairs, None if Path(options.pairs).is_file() else "train", questions="all")
    elif options.int8 and (Path(options.model) / "config.json").exists():
        raise ValueError(f"expected --pairs, training pairs to calibrate int8 with, for the folder {options.model}")
    elif options.int8:
        pairs = load_parts(tuple(_study(options).store.planned(options.model).data["train"]), "all")
    out = write(_model_folder(options), options.out, options.to, pairs, options.alpha)
    size = sum(path.stat().st_size for path in out.iterdir() if path.is_file()) / 2**20
    print_now(f"written to {out}, {size:.1f} MiB; rank with it: Ranker.load({str(out)!r})")


def show(options: argparse.Namespace) -> None:
    from as2lib.commands import print_run

    print_run(_study(options).store, options.run)


def study(options: argparse.Namespace) -> int:
    """Walk the graph with Snakemake; one study at a time, a second one waits."""
    from as2lib.commands import incomplete, require_clone, walk
    from as2lib.papers import left_out
    from as2lib.runs.alone import only_one, stopped_by_signals
    from as2lib.runs.gpu import gpus
    from as2lib.runs.make import forget_made, require_inputs
    from as2lib.runs.reach import require_within_reach
    from as2lib.study import STUDY_FILES, Study

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
    require_within_reach(loaded.store, missing)
    require_inputs(loaded.store, missing)
    print_now(f"study {name}: {to_do}{left_out(loaded)}")
    elsewhere = any(option.startswith(("--profile", "--executor")) for option in options.snakemake)
    limits = [] if elsewhere or not gpus() else ["--resources", f"gpu={len(gpus())}"]  # a cluster knows its own
    again = incomplete(loaded)
    limits += [*(["--forcerun", *again] if again else []), "--cores", str(options.cores)]
    with stopped_by_signals(), only_one(f"study-{name}", f"study {name}") as lock:
        forget_made(loaded.store)
        named = ["--config", f"study={given}"]
        code = walk(loaded.store, lock, *named, *limits, *options.snakemake, forks=not elsewhere)
    if code == 0:
        print_now(f"study {name}: reports/{name}/index.html")
    return code


def notebook(options: argparse.Namespace) -> None:
    """Run and render in one process: each would import for two seconds."""
    from as2lib.papers import notebooks
    from as2lib.report.pages import execute, page_name, render
    from as2lib.study import STUDY_FILES

    name, root, study = options.notebook, find_root(), _study(options)
    names = [notebook.name for notebook in notebooks(study)]
    if name not in names:
        raise ValueError(f"expected one of {', '.join(names)}; got {name!r}")

    folder, file = root / "reports" / study.variant, Path(options.study)
    elsewhere = file.suffix in STUDY_FILES and file.resolve() != root / "params" / f"{study.study}.yaml"
    given = str(file.resolve()) if elsewhere else study.study  # a page names no folder of this machine without need
    executed = execute(root / "notebooks" / f"{name}.ipynb", folder / "executed" / f"{name[:2]}.ipynb", given)
    render(executed, folder / f"{page_name(name)}.html", names)


def check(options: argparse.Namespace) -> int:
    """1 where numbers moved, or with --store where a file is damaged; else what ends a study is written."""
    from as2lib.report import readme
    from as2lib.report.check import expected, moved, write_manifest

    loaded = _study(options)
    if options.store:
        from as2lib.runs.upkeep import check_store

        return int(check_store(loaded.store, print_now) > 0)
    lines, count = moved(loaded), sum(map(len, expected(loaded).values()))
    for line in lines:
        print(f"moved: {line}", file=sys.stderr)
    if not lines:
        write_manifest(loaded)
        readme.write(loaded)
        print_now(f"checked {count} expected numbers" if count else "no expected numbers for this study")
    return int(bool(lines))


def clean(options: argparse.Namespace) -> None:
    """Show what no study needs; with --yes remove it."""
    from as2lib.runs.upkeep import remove, stale
    from as2lib.study import Study

    files = sorted(path for path in (find_root() / "params").glob("*.yaml") if path.stem != "local")
    found = stale([Study.load(path).store for path in [*files, *options.studies]])
    for path, (why, size) in found.items():
        print(f"{size / 1e6:>10,.1f} MB  {path.relative_to(find_root())}   {why}")
    print(f"{len(found)} things that no study needs, {sum(size for _, size in found.values()) / 1e6:,.1f} MB", end="")
    print((": removed" if options.yes else "; --yes removes them") if found else "")
    if options.yes:
        remove(found)


def publish(options: argparse.Namespace) -> None:
    from as2lib.runs.make import publish as publish_runs

    store = _study(options).store
    for name in options.runs:
        store.planned(name)
    written = publish_runs(store, options.runs or store.unpublished())
    print(f"{len(written)} runs written to {store.published_folder.relative_to(find_root())}")


def import_cerberus(options: argparse.Namespace) -> None:
    """A state dict published with the CERBERUS paper, made an ordinary model folder."""
    if not options.file.is_file():
        raise FileNotFoundError(f"{options.file}: no such file; expected a state dict released with the CERBERUS paper")
    from as2lib.data.encode import PairEncoder
    from as2lib.models import cerberus, cross_encoder
    from as2lib.models.mhs import MHSForSequenceClassification
    from as2lib.runs.card import describe, model_card

    cerberus.read(options.file)  # before the hub is asked for anything
    config = cross_encoder.configuration(options.backbone)
    encoder = PairEncoder(cross_encoder.tokenizer(options.backbone), options.max_length)
    student = MHSForSequenceClassification.from_cerberus(options.file, config, options.body, options.heads)
    shape = {name: getattr(student.config, name) for name in ("body", "heads", "combine")}
    options.out.mkdir(parents=True, exist_ok=True)
    student.save_pretrained(options.out)
    encoder.save(options.out)
    facts = {
        "encoder": code(options.backbone),
        "read from": code(options.file.name),
        "tokens of a pair": options.max_length,
    }
    card = model_card(f"CERBERUS {options.file.stem}", describe(shape), facts, options.backbone)
    (options.out / "README.md").write_text(card, encoding="utf-8")
    print_now(f"body {shape['body']}, {shape['heads']} heads: written to {options.out}")


def print_now(line: str) -> None:
    print(line, flush=True)


def _study(options: argparse.Namespace, changes: dict[str, Any] | None = None) -> "Study":
    from as2lib.study import Study

    given = getattr(options, "set", [])
    if wrong := [one for one in given if not re.match(r"[^=.][^=]*=", one)]:
        raise ValueError(f"--set: expected KEY=VALUE, such as threads=2 or fit.adapt.steps=10; got {wrong[0]!r}")
    pairs = (one.partition("=") for one in given)
    study = Study.load(options.study, {key: _value(value) for key, _, value in pairs} | (changes or {}))
    for key, (before, now) in study.overridden().items():
        print(terminal(f"not as params/{study.study}.yaml says: {key} {now} (there: {before})"), file=sys.stderr)
    return study


def _model_folder(options: argparse.Namespace) -> Path:
    """A model folder as given, or that of a run of the study."""
    folder = Path(options.model)
    return folder if (folder / "config.json").exists() else _study(options).run(options.model, model=True).model_folder


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


if __name__ == "__main__":
    sys.exit(main())
