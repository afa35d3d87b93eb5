"""The command line as a whole: errors of one line, files left as they were, names and terminals."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from as2lib.cli import main
from tests.first_hour.hub_like import public_model


@pytest.fixture(autouse=True)
def model(request):
    if "folder" in request.fixturenames:
        public_model(request.getfixturevalue("folder") / "model", labels=2)
        public_model(request.getfixturevalue("folder") / "encoder", labels=None)


def files(folder: Path) -> dict[Path, bytes]:
    paths = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in paths.items() if name.parts[0] != "work"}


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("rank bm25 my.tsv --out x.run.gz", "x.run.gz"),
        ("score bm25 my.tsv --out kept.txt", "kept.txt"),
        ("score base/electra/seed-0 --drop 0.3", "PAIRS"),
        ("score model", "PAIRS"),
        ("score bm25 my.tsv --trec my.tsv", "my.tsv"),
        ("score model bad.tsv --out kept.tsv", "bad.tsv, row 90"),
        ("compare bad.tsv bad.tsv my.tsv --out kept.tsv", "my.tsv"),
        ("score bm25 my.tsv --trec z.tsv --out ./z.tsv", "z.tsv"),
        ("score bm25 model --trec z.run --out model/z.csv", "than those that are read"),
        ("score bm25 my.tsv --out model", "model"),
        ("compare one.run one.run one.qrels", "one.qrels: expected two judged questions"),
        ("rank bm25 question -5", "-5"),
        ("rank org/gone question candidate", "params/local.yaml: maps org/gone"),
        ("plan braces.yaml", "braces.yaml"),
        ("train bad.tsv --model model --out new", "bad.tsv, row 90"),
        ("train my.tsv --out model", "model"),
        ("export model model", "model"),
        ("train my.tsv --out x --learning-rate 0", "learning-rate"),
        ("train my.tsv --model model --out x --steps 3 --epochs 1", "steps"),
        ("train my.tsv --out x --model model --teacher encoder", "encoder"),  # which has no classifier
        ("train my.tsv --model model --out x --loss rank-net", "ranknet"),
        ("train my.tsv --model model --out x --loss ce --teacher model", "teacher"),
        ("train my.tsv --out x", "MiniLM"),  # which is not on this machine
        ("train no.tsv --out x --model model", "no.tsv"),
        (f"init my.tsv --encoder {'什' * 90}", "no folder of that name"),
        ("train my.tsv --model model --out x --teacher bm25", "bm25"),
        ("train my.tsv --model model --out x --alpha 0.3", "alpha"),  # which ce does not read
        ("rank model question candidate --drop 0.3", "drop"),
        ("rank bm25 question candidate --max-length 8", "max_length"),
        ("score bm25 my.tsv --trec model", "expected a file"),
        *((f"score model my.tsv --measures {name}", name) for name in ("Nothing@3", "P@0")),
        ("plan sample --set nope=1", "nope"),
        ("plan sample --set fit.adapt.epochs=1", "sample.yaml: fit.adapt: expected either"),
        ("train my.tsv --model model --out x --loss gone.losses:mse", "gone"),
        ("fit sample no/such/run", "no/such/run"),
    ],
)
def test_a_mistake_is_one_line_that_names_it_and_leaves_what_is_there(folder, capsys, command, named):
    Path("braces.yaml").write_text("study: braces\n{{ title }}: 1\n")
    Path("params").mkdir()
    Path("params/local.yaml").write_text("local: {org/gone: nowhere}\n")
    Path("one.run").write_text("q1 Q0 a 1 2.0 x\n")
    Path("one.qrels").write_text("q1 0 a 1\nq1 0 b 0\n")
    for name in ("kept.tsv", "kept.txt"):
        Path(name).write_text("what was here before\n")
    lines = Path("my.tsv").read_text().splitlines()
    lines[90] = "q90\t \tan answer\t1"
    Path("bad.tsv").write_text("\n".join(lines) + "\n")
    before = files(folder)
    assert main(shlex.split(command)) == 2
    [line] = [line for line in capsys.readouterr().err.splitlines() if line.startswith(f"as2 {command.split()[0]}:")]
    assert named in line
    assert files(folder) == before


def test_an_error_in_a_users_own_loss_shows_their_traceback(folder, monkeypatch):
    (folder / "users_losses.py").write_text("def loss(output, targets):\n    raise ValueError('not expected')\n")
    monkeypatch.syspath_prepend(str(folder))
    options = ["--model", "model", "--epochs", "1", "--loss", "users_losses:loss"]
    with pytest.raises(ValueError, match="not expected"):
        main(["train", "my.tsv", *options, "--out", "mine"])
    assert not Path("mine").exists()


def test_a_pipe_that_is_closed_ends_a_command_without_a_word(folder):
    (folder / "many.tsv").write_text("question\tanswer\n" + "who ?\tAnn\n" * 5_000)
    command = f"{sys.executable} -m as2lib score bm25 many.tsv | head -1"
    ended = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert ended.stdout.count("\n") == 1
    assert "Traceback" not in ended.stderr


def test_a_shell_may_close_every_stream_of_a_command(folder):
    command = f"{sys.executable} -m as2lib score bm25 my.tsv --out scores.tsv <&- >&- 2>&-"
    assert subprocess.run(command, shell=True).returncode == 0
    assert (folder / "scores.tsv").exists()
