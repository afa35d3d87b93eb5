"""What each command takes, as parsers whose errors are one line; runs none."""

import argparse
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn


class Command(argparse.ArgumentParser):
    """One line an error; and options may stand before, between and after what is named by its place."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message}; `{self.prog} --help` says what it takes")

    def parse_known_args(self, args=None, namespace=None):
        options, rest, words = [], [], iter(args)
        for word in words:
            if word == "--":
                rest += [word, *words]
            elif self._parse_optional(word):  # not a number below zero, nor a sentence that begins with a dash
                takes = self._option_string_actions.get(word)
                options += [word, *islice(words, int(takes is not None and takes.nargs is None))]
            else:
                rest.append(word)
        return super().parse_known_args([*options, *rest], namespace)


class Commands(Command):
    """Of which the first word says which."""

    parse_known_args = argparse.ArgumentParser.parse_known_args


def shared(name: str, **settings: Any) -> Command:
    """An argument of several commands, as a parent of their parsers."""
    parser = Command(add_help=False)
    parser.add_argument(name, **settings)
    return parser


PRECISIONS = ("float32", "bf16", "auto")  # auto: bf16 where the processor or GPU has it
STUDY = shared("study", help="a name in params/, or a file")
OF_STUDY = shared("--study", default="sample", help="a name in params/, or a file (default: sample)")
CHANGES = shared("--set", action="append", default=[], metavar="KEY=VALUE", help="replace a parameter")
OWN = shared("pairs", help="a file, a folder of train, dev and test files, or a hub set")
COLUMNS = shared("--columns", metavar="OURS=THEIRS,…", help="where names do not say: question=q,label=gold")
MODEL = shared("model", help="a run of the study, or a model folder")
PRECISION = shared("--precision", default="float32", choices=PRECISIONS)
QUESTIONS = shared("--questions", default="answered", choices=("answered", "mixed", "all"))


def parser(version: str) -> Commands:
    """Every command with what it takes; `name` of what is parsed is that of its function."""
    parser = Commands(prog="as2", description="Efficient answer sentence selection: run and read a study.")
    parser.add_argument("--version", action="version", version=f"as2lib {version}")
    commands = parser.add_subparsers(dest="name", required=True, metavar="COMMAND", parser_class=Command)

    def add(name: str, help: str, *parents: Command) -> Command:
        return commands.add_parser(name, help=help, description=help, parents=parents)

    command = add("init", "a study of your own pairs: writes params/<name>.yaml", OWN, COLUMNS)
    command.add_argument("--quick", action="store_true", help="one that ends in two minutes")
    command.add_argument("--name", dest="called", help="of the study (default: that of the file or folder)")
    command.add_argument("--encoder", metavar="NAME", help='a hub name, a folder, or "nothing" to start from nothing')
    command.add_argument("--force", action="store_true", help="write over a study of that name")

    command = add("train", "one model from your own pairs, without any study", OWN, COLUMNS)
    start = 'a hub name, a folder, or "nothing" (default: MiniLM, where it is)'
    command.add_argument("--model", metavar="NAME", help=start)
    taught = "one: distillation; several: a head each"
    command.add_argument("--teacher", metavar="FOLDER", type=Path, action="append", default=[], help=taught)
    command.add_argument("--out", metavar="FOLDER", type=Path, required=True, help="where the model folder goes")
    allowed = "train, dev and test may have some in common"
    command.add_argument("--allow-shared-questions", action="store_true", help=allowed)
    command.add_argument("--epochs", type=int, help="times that each pair is seen (default: 3)")
    command.add_argument("--learning-rate", type=float, help="the highest (default: 4e-5; from nothing 5e-4)")
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--precision", default="auto", choices=PRECISIONS)

    add("plan", "what is done, what is to do, and about how long it takes", STUDY, CHANGES)

    command = add("fit", "make runs (all that are missing, unless named)", STUDY, CHANGES)
    command.add_argument("runs", nargs="*")
    command.add_argument("--group", help="the runs of one group, in one process")
    command.add_argument("--precision", choices=PRECISIONS, help="as --set precision=…: other runs than the study's")
    command.add_argument("--refresh", action="store_true", help="also make again what other code made")
    command.add_argument("--quiet", action="store_true", help="one line a finished run, no progress bars")

    help = "score pairs; metrics where they have labels"
    command = add("score", help, MODEL, OF_STUDY, CHANGES, QUESTIONS, PRECISION)
    command.add_argument("pairs", nargs="?", help="a known source or a file; default: the run's own split")
    command.add_argument("--split", default="test")
    command.add_argument("--trec", metavar="FILE", help="write a run file that trec_eval reads")
    command.add_argument("--out", metavar="FILE", help="write question_id, position, score as TSV")

    help = "rank the candidates of one question, or of a file's"
    command = add("rank", help, MODEL, OF_STUDY, CHANGES, PRECISION)
    command.add_argument("question", help="one question; or a file of pairs, all of whose questions are ranked")
    command.add_argument("candidates", nargs="*", help="default: the lines of standard input")
    command.add_argument("--alpha", type=float, help="of a cascade: the share of candidates that each exit drops")
    command.add_argument("--top", type=int, metavar="N", help="only the best N of a question")
    command.add_argument("--out", metavar="FILE", help="of a file of pairs: where to (default: standard output)")
    command.add_argument("--format", choices=("csv", "trec"), help="default: trec for *.run and *.trec, else csv")

    command = add("evaluate", "metrics of a TREC run", QUESTIONS)
    command.add_argument("run", type=Path, help="a TREC run, of any tool")
    command.add_argument("judgements", type=Path, help="TREC judgements (qrels), or a file of labelled pairs")

    command = add("export", "write a model as graphs that run without torch", MODEL, OF_STUDY, CHANGES)
    command.add_argument("out", type=Path, help="a folder")
    command.add_argument("--to", default="openvino", choices=("openvino", "onnx"))
    command.add_argument("--int8", action="store_true", help="static int8 (default: float32)")
    calibration = "what int8 is calibrated on: a known source or a file (default: the run's own)"
    command.add_argument("--pairs", help=calibration)
    command.add_argument("--alpha", type=float, default=0.3, help="what each stage of a cascade drops (default: 0.3)")

    command = add("show", "a run: its spec, parents, scores and where it is used", OF_STUDY, CHANGES)
    command.add_argument("run")

    command = add("study", "train what is missing, run the notebooks, render and check", STUDY)
    command.add_argument("--cores", type=int, default=2)
    command.epilog = "More for Snakemake follows after --, such as: -- --profile profiles/slurm"

    add("notebook", "run one notebook and render it as HTML", STUDY).add_argument("notebook")

    command = add("check", "compare with params/expected and write the manifest", STUDY)
    command.add_argument("--store", action="store_true", help="instead read all runs and caches whole for damage")

    command = add("clean", "show, or remove, runs and caches in work/ that no study in params/ needs")
    command.add_argument("studies", nargs="*", help="more to keep: files elsewhere")
    command.add_argument("--stale", action="store_true", required=True, help="what no study needs")
    command.add_argument("--yes", action="store_true", help="remove it, instead of showing it")

    command = add("import-cerberus", "a model released with the CERBERUS paper, made a model folder")
    command.add_argument("file", type=Path, help="a released state dict")
    command.add_argument("out", type=Path, help="a folder")
    command.add_argument("--backbone", default="google/electra-base-discriminator", help="what it was made from")
    command.add_argument("--body", type=int, help="layers that the heads share (default: as the file has)")
    command.add_argument("--heads", type=int, help="default: as the file has")
    command.add_argument("--max-length", type=int, default=128, help="tokens of a pair (default: 128, as released)")

    help = "write runs' scores to reports/<study>/runs (those not there yet, unless named)"
    add("publish", help, STUDY).add_argument("runs", nargs="*", help="default: all that are finished")
    return parser
