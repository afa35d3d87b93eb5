"""The command line, `as2`: finds a command's function, and says in one line what its user can mend."""

import argparse
import gc
import os
import signal
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from as2lib import __version__, arguments
from as2lib.escape import code, terminal

# The modules of the commands that are not here, each a function of its name: `as2 rank` needs no study.
ELSEWHERE = {"init": "init", "train": "train", "evaluate": "serving", "score": "scoring"}
ELSEWHERE |= dict.fromkeys("plan fit show study notebook check clean publish".split(), "commands")


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
        name = options.name.replace("-", "_")
        module = import_module(f"as2lib.{ELSEWHERE[name]}") if name in ELSEWHERE else sys.modules[__name__]
        code = getattr(module, name)(options) or 0
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


def rank(options: argparse.Namespace) -> None:
    gc.disable()  # until the model is loaded: imports make no garbage, and looking for some takes a fifth of their time
    from as2lib import serving

    def load_study():
        from as2lib.commands import study_of

        return study_of(options)

    whole = serving.is_pair_file(options.question) and not options.candidates
    (serving.rank_file if whole else serving.print_ranking)(options, load_study)


def export(options: argparse.Namespace) -> None:
    """A model as graphs for another runtime; int8 is calibrated on the pairs given, or on those the run learnt from."""
    from as2lib.commands import model_folder, study_of
    from as2lib.data.pairs import load_pairs, load_parts
    from as2lib.serve.export import export as write

    pairs = None
    if options.int8 and options.pairs:
        pairs = load_pairs(options.pairs, None if Path(options.pairs).is_file() else "train", questions="all")
    elif options.int8 and (Path(options.model) / "config.json").exists():
        raise ValueError(f"expected --pairs, training pairs to calibrate int8 with, for the folder {options.model}")
    elif options.int8:
        pairs = load_parts(tuple(study_of(options).store.planned(options.model).data["train"]), "all")
    out = write(model_folder(options), options.out, options.to, pairs, options.alpha)
    size = sum(path.stat().st_size for path in out.iterdir() if path.is_file()) / 2**20
    print(f"written to {out}, {size:.1f} MiB; rank with it: Ranker.load({str(out)!r})")


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
    print(f"body {shape['body']}, {shape['heads']} heads: written to {options.out}")


if __name__ == "__main__":
    sys.exit(main())
