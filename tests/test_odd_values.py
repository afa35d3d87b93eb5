"""Whatever stands in an option, an argument or a key of a study: a result, or one line that says what is expected."""

import shutil
from itertools import cycle
from pathlib import Path

import pytest
import typer
from pydantic import ValidationError

from as2lib import cli
from as2lib.cli import line_of
from as2lib.papers import Study

TEXTS = ["-1", "0", "1e999", "nan", "~x", "..", "/dev/null/x", "什" * 90, "{}", "[1]", "null", "a\nb", "a/b"]
VALUES = [-1, 0, 1.5, float("nan"), "", "x", None, True, [], [1], ["a", "a"], [[1]], [None], [{}], {}, {"a": 1}, {1: 2}]
VALUES += [10**30, "\ud83d", {"": {}}]
COMMANDS = {  # the shortest that works, where it is more than the name of a study
    "fit": ["sample", "no/such-run"],
    "page": ["sample", "no"],
    "init": ["my.tsv", "--encoder", "nothing", "--quick"],
    "train": ["my.tsv", "--out", "no.tsv/x"],
    "rank": ["bm25", "where is the red ?", "red"],
    "score": ["bm25", "my.tsv"],
    "compare": ["my.run", "my.run", "my.qrels"],
    "export": ["model", "exported", "--int8"],
}
NOT_TRIED = {"study"}  # which hands what it is given to Snakemake


def changed(command, parameter, arguments, value):
    """The arguments of a command with another value for one of its parameters."""
    if parameter.param_type_name == "option":
        return [*arguments, parameter.opts[0], value]
    place = [other.name for other in command.params if other.param_type_name == "argument"].index(parameter.name)
    return [*arguments[:place], value, *arguments[place + 1 :]]


@pytest.mark.parametrize("name", sorted(set(typer.main.get_command(cli.app).commands) - NOT_TRIED))
def test_no_option_or_argument_ends_in_a_traceback(folder, capsys, name):
    Path("my.run").write_text("q1 Q0 a 1 2.0 x\nq2 Q0 a 1 1.0 x\n")
    Path("my.qrels").write_text("q1 0 a 1\nq1 0 b 0\nq2 0 a 1\n")
    command = typer.main.get_command(cli.app).commands[name]
    values = cycle(TEXTS)
    for parameter in command.params:
        for _ in range(0 if getattr(parameter, "is_flag", False) else 5):
            arguments = [name, *changed(command, parameter, COMMANDS.get(name, ["sample"]), next(values))]
            code, error = cli.main(arguments), capsys.readouterr().err
            assert code in (0, 2) or (name, code) == ("check", 1), (arguments, error)  # 1: the study is not as expected
            assert code != 2 or error.splitlines()[-1].startswith(f"as2 {name}: "), (arguments, error)
            for path in folder.iterdir():
                if not path.name.startswith("my."):
                    shutil.rmtree(path) if path.is_dir() else path.unlink()


def keys_of(content, prefix=""):
    for key, value in content.items():
        yield prefix + key
        if isinstance(value, dict):
            yield from keys_of(value, f"{prefix}{key}.")


def test_no_key_of_a_study_ends_in_a_traceback(folder):
    study = Study.load("sample")
    values, tracebacks = cycle(VALUES), []
    for key in [*Study.model_fields, *keys_of(study.model_dump(exclude_unset=True))] * 2:
        value = next(values)
        try:
            assert Study.load(study, {key: value}).plan
        except Exception as error:
            tracebacks += [] if line_of(error) or isinstance(error, ValidationError) else [(key, value, repr(error))]
    assert tracebacks == []
