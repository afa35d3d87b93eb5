"""`as2 …`: the commands of `as2lib.commands`, and how each ends."""

import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer

from as2lib import __version__
from as2lib.commands import comparing, initiating, scoring, studying, training
from as2lib.paths import PACKAGE

HELP = "Efficient answer sentence selection: run and read a study; train, rank and score with models of your own."
app = typer.Typer(help=HELP, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
COMMANDS = [training.train, scoring.rank, scoring.score, comparing.compare, scoring.export, initiating.init]
COMMANDS += [studying.study, studying.plan, studying.fit, studying.page, studying.check, studying.publish]
for command in COMMANDS:  # what `study` does not know is Snakemake's
    others = command is studying.study
    app.command(context_settings={"allow_extra_args": others, "ignore_unknown_options": others})(command)
RESUMED = ("as2 fit", "as2 study", "as2 train")  # commands that keep what they have made when they are interrupted


@app.callback(invoke_without_command=True)
def as2(context: typer.Context, version: Annotated[bool, typer.Option("--version")] = False) -> None:
    context.call_on_close(sys.stdout.flush)  # where typer sees a broken pipe
    if version:
        print(f"as2lib {__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code; what its user can mend is one line on stderr, and 2."""
    for library in ("TRANSFORMERS", "HF_HUB"):  # what they warn of, a command has seen to or says itself
        os.environ.setdefault(f"{library}_VERBOSITY", "error")
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # a shell closed it
            setattr(sys, name, open(os.devnull, "r+"))  # noqa: SIM115
    if not sys.stderr.isatty():
        os.environ.setdefault("TQDM_DISABLE", "1")  # a log holds lines
    arguments = sys.argv[1:] if arguments is None else arguments
    name = " ".join(["as2", *(word for word in arguments[:1] if not word.startswith("-"))])
    try:
        code = app(args=arguments, prog_name="as2", standalone_mode=False)
    except SystemExit as end:  # typer's own, where who reads standard output has seen enough
        return int(end.code or 0)
    except Exception as error:
        if (line := line_of(error, name)) is None:
            raise
        print(f"{name}: {line}", file=sys.stderr)
        return 2
    if code == 128 + signal.SIGINT:
        way_on = "; what is finished is kept, and the same command goes on" if name in RESUMED else ""
        print(f"{name}: interrupted{way_on}", file=sys.stderr)
    return code if isinstance(code, int) else 0


def line_of(error: Exception, name: str = "as2") -> str | None:
    """The line of an error about what a user gave or installed: of an option, a file, a module, or a ValueError or
    KeyError that this package raised; None for any other, whose traceback says the cause.
    """
    if hasattr(error, "format_message"):  # an option or an argument that typer refuses
        return f"{' '.join(error.format_message().split())}; `{name} --help` says what it takes"
    raised_here = Path(traceback.extract_tb(error.__traceback__)[-1].filename).resolve().is_relative_to(PACKAGE)
    if isinstance(error, OSError | ModuleNotFoundError) or (raised_here and isinstance(error, ValueError | KeyError)):
        return " ".join(str(error.args[0] if isinstance(error, KeyError) else error).split())
    return None
