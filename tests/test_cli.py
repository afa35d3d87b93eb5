"""The command line as a whole: errors of one line, files left as they were, names and terminals."""

import io
import json
import os
import re
import shlex
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from as2lib.cli import main
from as2lib.paths import PACKAGE
from tests.first_hour.hub_like import public_model

QUESTION, CANDIDATES = "where is the red ?", ["the hill is here", "the red is here"]


@pytest.fixture(autouse=True)
def model(request):
    if "folder" in request.fixturenames:
        public_model(request.getfixturevalue("folder") / "model", labels=2)


def files(folder: Path, but: tuple[str, ...] = ("work",)) -> dict[str, str]:
    """Every file of a folder by the hash of what it holds."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.relative_to(folder).parts[0] not in but]
    return {str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest() for path in paths}


def refused(capsys, *arguments: str) -> str:
    """The one line that a refused command says."""
    assert main([str(argument) for argument in arguments]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith(f"as2 {arguments[0]}:")]
    assert len(lines) == 1
    return lines[0]


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("train my.tsv --out x --epochs -3", "epochs"),
        ("train my.tsv --out x --learning-rate nan", "learning-rate"),
        ("train my.tsv --out x --seed 4294967296", "seed"),
        ("train my.tsv --out x --max-length 99999999999", "max-length"),
        ("train my.tsv --model model --out x --loss rank-net", "ranknet"),
        ("train my.tsv --model model --out x --loss ce --teacher model", "teacher"),
        ("train my.tsv --out x --model", "model"),
        ("train my.tsv --out x", "MiniLM"),  # which is not on this machine
        ("train no.tsv --out x --model model", "no.tsv"),
        ("init my.tsv", "MiniLM"),
        ("rank model question candidate --precision fp16", "precision"),
        ("score model my.tsv --measures Nothing@3", "Nothing@3"),
        ("score model my.tsv --batch-size 0", "batch-size"),
        ("rank model question candidate --alpha 0.3", "alpha"),
        ("rank nobody/such-a-model question candidate", "nobody/such-a-model"),
        ("compare no.run no.run no.qrels", "no.qrels"),
        ("plan 007", "007"),
        ("plan sample --set nope=1", "nope"),
        ("plan null.yaml", "study"),
        ("fit sample no/such/run", "no/such/run"),
        ("no-such-command", "no-such-command"),
        ("init my.tsv --name ''", "--name"),
        ("train my.tsv --out x --model=", "--model"),
        ("study sample --cores 99999999999", "cores"),
    ],
)
def test_a_mistake_is_one_line_that_names_it_and_writes_nothing(folder, capsys, command, named):
    Path("null.yaml").write_text("study: null\n")
    before = files(folder, but=())
    assert named in refused(capsys, *shlex.split(command))
    assert files(folder) == before


def test_a_wrong_option_is_refused_before_torch_is_imported(folder):
    options = ["--loss rank-net", "--teacher model --loss ce", "--seed -1", "--model no/such"]
    code = "import sys; from as2lib.cli import main\n"
    code += "print(*[main(command.split()) for command in sys.argv[1:]], 'torch' in sys.modules)"
    commands = [f"train my.tsv --out x {option}" for option in options]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    ended = subprocess.run(
        [sys.executable, "-c", code, *commands], capture_output=True, text=True, cwd=folder, env=environment, check=True
    )
    assert ended.stdout.splitlines()[-1] == "2 2 2 2 False"


def test_an_error_says_what_was_expected_what_came_and_where(folder, capsys):
    """The form of every error of data and of options, on one line."""
    rows = ["question\tanswer\tlabel", "who ?\tAnn\t1", "who ?\tBob\tmaybe"]
    Path("labels.tsv").write_text("\n".join(rows) + "\n")
    for command, where in (
        ("score lexical/bm25 labels.tsv", "labels.tsv, row 2: label: "),
        ("score lexical/bm25 my.tsv --measures X", "measures: "),
        ("score lexical/bm25 my.tsv --out x.txt", "x.txt: "),
        ("rank lexical/bm25 my.tsv question", "my.tsv: "),
        ("train my.tsv --model model --out x --loss rank-net", "loss: "),
        ("train my.tsv --out my.tsv", "--out my.tsv: "),
    ):
        line = refused(capsys, *command.split())
        assert re.fullmatch(rf"as2 \w+: {re.escape(where)}expected .+[,;] got .+", line), line


def test_an_error_in_a_users_own_loss_shows_their_traceback(folder, capsys, monkeypatch):
    (folder / "users_losses.py").write_text("def loss(output, targets):\n    raise ValueError('not expected')\n")
    monkeypatch.syspath_prepend(str(folder))
    options = ["--model", "model", "--epochs", "1", "--loss", "users_losses:loss"]
    assert main(["train", "my.tsv", *options, "--out", "mine"]) == 1
    error = capsys.readouterr().err
    assert "Traceback" in error
    assert f'File "{folder}/users_losses.py", line 2, in loss' in error
    assert not Path("mine").exists()


@pytest.fixture
def bad(folder):
    """Pairs of which a late row is none."""
    lines = (folder / "my.tsv").read_text().splitlines()
    lines[90] = "q90\t \tan answer\t1"
    (folder / "bad.tsv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        ("score", "model", "bad.tsv", "--out", "kept.tsv"),
        ("score", "lexical/word_overlap", "my.tsv", "--out", "kept.tsv", "--measures", "X"),
        ("rank", "lexical/word_overlap", "bad.tsv", "--out", "kept.tsv"),
        ("compare", "bad.tsv", "bad.tsv", "my.tsv", "--out", "kept.tsv"),
        ("score", "lexical/bm25", "my.tsv", "--trec", "my.tsv"),
        ("score", "lexical/bm25", "my.tsv", "--out", "kept.txt"),
        ("rank", "lexical/bm25", "my.tsv", "--out", "./my.tsv"),
        ("train", "my.tsv", "--out", "kept.tsv"),
        ("train", "my.tsv", "--out", "model"),
        ("train", "bad.tsv", "--model", "model", "--out", "new"),
        ("export", "model", "model", "--to", "onnx"),
    ],
)
def test_a_refused_command_leaves_what_is_there(bad, capsys, arguments):
    Path("kept.tsv").write_text("what was here before\n")
    before = files(bad)
    refused(capsys, *arguments)
    assert files(bad) == before


def test_an_error_names_the_users_own_row(bad, capsys):
    for command in (["score", "model"], ["rank", "model"], ["train", "--model", "model", "--out", "x"]):
        assert "bad.tsv, row 90" in refused(capsys, *command, "bad.tsv")


def test_a_folder_is_meant_before_a_ranker_of_its_name(folder, capsys):
    Path("model").rename("word_overlap")
    assert main(["rank", "word_overlap", QUESTION, *CANDIDATES]) == 0
    scores = [float(line.split()[1]) for line in capsys.readouterr().out.splitlines()]
    assert all(0 < score < 1 for score in scores)  # probabilities, where words are counted in ones


def test_a_terminal_of_another_encoding_ends_no_command(folder, monkeypatch):
    rows = [{"question": "where is łódź ?", "candidates": ["łódź is here", "it is — ✓"]}]
    rows += [{"question": "half a character \ud83d", "candidates": ["the other \ude00", "half a character"]}]
    (folder / "questions.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    output = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(output, encoding="latin-1"))
    assert main(["rank", "model", "questions.jsonl"]) == 0
    lines = output.getvalue().decode("latin-1").splitlines()
    assert len(lines) == 5
    assert any("?ód? is here" in line for line in lines)


def test_a_candidate_cannot_command_the_terminal(folder, capsys):
    assert main(["rank", "lexical/word_overlap", QUESTION, "red \x1b[2J\x1b]0;title\x07 \u202e"]) == 0
    assert capsys.readouterr().out.rstrip("\n").isprintable()
