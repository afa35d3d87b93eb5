"""Every mistake of a user is one line that names the file and what to do, with exit code 2 and nothing written."""

import gzip
import json
import os
import subprocess
import sys
from copy import deepcopy

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
import yaml
from conftest import tiny_params, write_study
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from as2lib import Study
from as2lib.__main__ import main
from as2lib.data import load_pairs, load_unlabelled
from as2lib.data.formats import COLUMNS

TSV, CSV = ("\t".join(COLUMNS) + "\n", ",".join(COLUMNS) + "\n")
ROW = {"question_id": "q1", "question": "Who?", "answer": "Ann", "label": 1}
DEEP = 100_000


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A root with the tiny study that no mistake may change."""
    root = write_study(tmp_path_factory.mktemp("mistakes") / "root")
    (root / "Snakefile").touch()
    return root


@pytest.fixture(autouse=True)
def here(home, tmp_path, monkeypatch):
    monkeypatch.setenv("AS2_ROOT", str(home))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def refused(home, capsys):
    """Runs a command that is to be refused; its one line."""

    def run(*command: str) -> str:
        before = {path: path.stat().st_mtime_ns for path in home.rglob("*")}
        assert main([str(word) for word in command]) == 2
        said = capsys.readouterr()
        assert said.err.count("\n") == 1, said.err
        assert said.err.startswith("as2")
        assert "Traceback" not in said.err
        assert not said.out
        assert {path: path.stat().st_mtime_ns for path in home.rglob("*")} == before
        return said.err

    return run


def changed(root, **changes) -> dict:
    """The tiny study's parameters, called mine, with some keys replaced (`__` for a dot) or, for ..., taken out."""
    content = deepcopy(tiny_params(root)) | {"study": "mine"}
    for key, value in changes.items():
        *parents, last = key.split("__")
        place = content
        for parent in parents:
            place = place.setdefault(parent, {})
        if value is ...:
            del place[last]
        else:
            place[last] = deepcopy(value)
    return content


YAML = [  # what the file holds, a word of what is said of it
    (b"", "got an empty file"),
    (b"# nothing\n", "got an empty file"),
    (b"- a\n- b\n", "got a list"),
    (b"just words", "got a str"),
    (b"3", "got a int"),
    (b"a: [1,\nb: 2", "line 2: expected YAML"),
    (b"study: mine\na:\n\t- b", "line 3: expected YAML"),
    (b"study: mine\nb: c: d", "line 2: expected YAML"),
    (b"study: @mine", "line 1: expected YAML"),
    (b"study: *mine", "undefined alias 'mine'"),
    (b'study: "mine', "line 1: expected YAML"),
    (b"study: mi\0ne", "character #x0; save the file as UTF-8"),
    (b"study: mi\x07ne", "character #x7"),
    ("title: café".encode("latin-1"), "got the character #xe9; save the file as UTF-8"),
    (b"title: \xed\xa0\x80", "expected UTF-8 text"),
    (b"study: !!python/object/apply:os.system [ls]", "could not determine a constructor for the tag"),
    (b"study: !mine 3", "for the tag '!mine'"),
    (b"study: !!int foo", "expected YAML, got"),
    (b"study: !!bool foo", "expected YAML, got"),
    (b"study: !!timestamp foo", "expected YAML, got"),
    (b"study: !!binary zzz", "expected YAML, got"),
    (b"study: 2020-13-45", "month must be in 1..12; put text between quotes"),
    (b"study: " + b"9" * 5000, "expected YAML, got"),
    (b"study: mine\ntitle: a\nstudy: mine", "line 3: expected YAML, got the key 'study' twice"),
    (b"study: mine\ngrid: {alpha: [0], alpha: [1]}", "the key 'alpha' twice"),
    (b"study: mine\n---\nstudy: mine", "another document"),
    (b"? [a]\n: b", "unhashable"),
    (b"study: {<<: 3}", "expected YAML, got"),
    (b"[" * 600, "nested too deeply"),
    (b"{a: " * 5000, "nested too deeply"),
    (b"%YAML 9.9\n---\nstudy: mine", "incompatible YAML document"),
    (b"title: mine", "study: expected mine, the file's name, got None"),
    (b"study: other", "study: expected mine, the file's name, got 'other'"),
    (b"study: [mine]", "study: expected mine, the file's name"),
    (b"study: mine", "title: Field required"),
    (b"study: mine\n1: 2", "1: unknown key"),
    (b'study: mine\ntitle: "\\ud800"', "line 2: expected YAML, got half a character"),
]


@pytest.mark.parametrize(("content", "words"), YAML, ids=range(len(YAML)))
def test_a_file_that_is_no_study_is_refused(tmp_path, refused, content, words):
    (tmp_path / "mine.yaml").write_bytes(content)
    said = refused("plan", tmp_path / "mine.yaml")
    assert "mine.yaml" in said
    assert words in said


CONFIG = "backbones__electra__base__config"
FIT = {"steps": 3, "learning_rate": 1e-3, "batch_size": 8}
CASCADE = {"family": "roberta", "exits": [1, 2], "fit": {"transfer": FIT, "adapt": FIT}}
CASCADE |= {"transfer": {"train": "a.tsv", "dev": "b.tsv", "test": "c.tsv"}}
COSINET = {"vectors": {"source": "ppmi"}, "pointwise": FIT, "listwise": FIT, "seeds": [0]}
GOVERN = {"unlabelled": "pool.tsv", "start": "backbone", "teachers": [{"of": "electra-base"}]}
GOVERN |= {"student": {"of": "electra-base"}, "teacher_fit": FIT, "unlabelled_fit": FIT, "labelled_fit": FIT}
ABLATION = {"teacher": {"of": "electra-base"}, "student": {"of": "electra-base", "layers": 1}, "fit": FIT}
INFINITE, NOT_A_NUMBER = float("inf"), float("nan")
WRONG = [  # a key and its value, words of what is said of it
    ("seeds", 3, "seeds: Input should be a valid list"),
    ("seeds", [0, 0], "seeds: expected each value once, got [0, 0]"),
    ("seeds", [-1], "seeds.0: Input should be greater than or equal to 0"),
    ("seeds", ["0"], "seeds.0: Input should be a valid integer"),
    ("seeds", [True], "seeds.0: Input should be a valid integer"),
    ("grid_seeds", [7], "grid_seeds: expected some of seeds"),
    ("grid_seeds", [0, 0], "grid_seeds: expected each value once"),
    ("threads", 1_000_000, "threads: Input should be less than or equal to 512"),
    ("threads", "two", "threads: Input should be a valid integer"),
    ("precision", "float16", "precision: Input should be 'float32', 'bf16' or 'auto'"),
    ("kernels", "maybe", "kernels: Input should be a valid boolean"),
    ("title", 3, "title: Input should be a valid string"),
    ("title", ..., "title: Field required"),
    ("tilte", "mine", "tilte: unknown key; did you mean title?"),
    ("distillation__alfa", 0.5, "distillation.alfa: unknown key; did you mean alpha?"),
    ("distillation__alpha", 7, "distillation.alpha: Input should be less than or equal to 1"),
    ("distillation__alpha", INFINITE, "distillation.alpha: Input should be a finite number"),
    ("distillation__alpha", NOT_A_NUMBER, "distillation.alpha: Input should be a finite number"),
    ("distillation__alpha", True, "distillation.alpha: Input should be a valid number"),
    ("distillation__alpha", "0.5", "distillation.alpha: Input should be a valid number"),
    ("distillation__tau", 0, "distillation.tau: Input should be greater than 0"),
    ("distillation__tau", INFINITE, "distillation.tau: Input should be a finite number"),
    ("grid__alpha", [7], "grid.alpha.0: Input should be less than or equal to 1"),
    ("grid__alpha", 0.5, "grid.alpha: Input should be a valid list"),
    ("grid__alpha", [0.5, 0.5], "grid.alpha: expected each value once"),
    ("grid__batch", [8], "grid.batch: unknown key; did you mean batch_size?"),
    ("fit__adapt__stepps", 3, "fit.adapt.stepps: unknown key; did you mean steps?"),
    ("fit__adapt__steps", True, "fit.adapt.steps: Input should be a valid integer"),
    ("fit__adapt__steps", ..., "fit.adapt: expected either steps or epochs"),
    ("fit__adapt__epochs", 3, "fit.adapt: expected either steps or epochs"),
    ("fit__adapt__batch_tokens", 300, "fit.adapt: expected either batch_size (pairs) or batch_tokens"),
    ("fit__adapt__learning_rate", "fast", "fit.adapt.learning_rate: Input should be a valid number"),
    ("fit__direct", ..., "fit.direct: Field required"),
    ("mhs__body", 2, "mhs.body: expected 1, all layers but one, got 2"),
    ("mhs__bodies", [5], "mhs.bodies: expected 1 to 1"),
    ("mhs__combine", "mean", "mhs.combine: Input should be 'probability' or 'logit'"),
    ("significance__resample", 9, "significance.resample: unknown key; did you mean resamples?"),
    ("latency", {"batch": 2, "repeats": 1, "rows": []}, "latency.repeats"),
    ("latency", {"batch": 0, "repeats": 2, "rows": []}, "latency.batch"),
    ("latency", {"batch": 2, "repeats": 2, "rows": None}, "latency.rows"),
    ("latency", {"batch": 2, "repeats": 2, "rows": [], "tokens": 1000}, "latency.tokens"),
    (f"{CONFIG}__hiden_size", 16, "backbones.electra.base.config.hiden_size: unknown key; did you mean hidden_size?"),
    (f"{CONFIG}__vocab_size", 100, "config.vocab_size: unknown key"),
    (f"{CONFIG}__model_type", "elektra", "config.model_type: Input should be 'electra'"),
    (f"{CONFIG}__model_type", ..., "config.model_type: Field required"),
    (f"{CONFIG}__num_attention_heads", 3, "num_attention_heads: expected a divisor of hidden_size, 16; got 3"),
    (f"{CONFIG}__num_attention_heads", 0, "config.num_attention_heads"),
    (f"{CONFIG}__hidden_size", "16", "config.hidden_size: Input should be a valid integer"),
    (f"{CONFIG}__hidden_size", 10**9, "config.hidden_size"),
    (f"{CONFIG}__num_hidden_layers", -1, "config.num_hidden_layers"),
    (f"{CONFIG}__hidden_act", "rulu", "config.hidden_act"),
    (f"{CONFIG}__hidden_dropout_prob", 1.0, "config.hidden_dropout_prob"),
    (f"{CONFIG}__initializer_range", NOT_A_NUMBER, "config.initializer_range"),
    (f"{CONFIG}__max_position_embeddings", 8, "data.max_length: expected at most 8 tokens, which backbones.electra"),
    ("data__max_length", 41, "data.max_length: expected at most 40 tokens, which backbones.electra.large"),
    ("data__max_length", 40, "data.max_length: expected at most 39 tokens, which backbones.roberta.large"),
    ("data__target__train", [], "data.target.train: List should have at least 1 item"),
    ("data__target__dev", [], "data.target: expected train, dev and test"),
    ("data__target__tset", "a.tsv", "data.target.tset: unknown key; did you mean test?"),
    ("data__target__train", ["a.tsv", "a.tsv"], "data.target.train: expected each value once"),
    ("backbones__albert", ..., "backbones: expected electra, roberta, albert; missing: albert"),
    ("backbones__electra__base__name", "some/encoder", "expected either name (a hub name or a folder) or config"),
    ("backbones__electra__base__layers", 1, "layers: expected with name"),
    ("backbones__electra__base__label", ..., "backbones.electra.base.label: Field required"),
    ("backbones__electra__base__transfer_fit", {"step": 3}, "base.transfer_fit: with fit.transfer: step: unknown key"),
    ("backbones__electra__base__adapt_fit", {"steps": 0}, "base.adapt_fit: with fit.adapt: steps"),
    ("cascade", CASCADE | {"alphas": [2.0]}, "cascade.alphas.0: Input should be less than 1"),
    ("cascade", CASCADE | {"alphas": [-0.1]}, "cascade.alphas.0"),
    ("cascade", CASCADE | {"alphas": []}, "cascade.alphas"),
    ("cascade", CASCADE | {"grid": [1]}, "cascade.grid.0"),
    ("cascade", CASCADE | {"exits": [2, 1]}, "cascade: exits: expected increasing layers from 1, got [2, 1]"),
    ("cascade", CASCADE | {"exits": [1, 9]}, "cascade.exits: expected layers from 1 to 2, got [1, 9]"),
    ("cascade", CASCADE | {"family": "bert"}, "cascade.family"),
    ("cascade", CASCADE | {"transfer": {"train": "a.tsv"}}, "cascade.transfer: expected train, dev and test"),
    ("cosinet", COSINET | {"seeds": [0, 0]}, "cosinet.seeds: expected each value once"),
    ("cosinet", COSINET | {"seeds": [-1]}, "cosinet.seeds.0"),
    ("cosinet", COSINET | {"dropout": 1}, "cosinet.dropout"),
    ("cosinet", COSINET | {"hiden": 3}, "cosinet.hiden: unknown key; did you mean hidden?"),
    ("cosinet", COSINET | {"vectors": {"source": "file"}}, "cosinet.vectors: expected a name for file and encoder"),
    ("cosinet", COSINET | {"listwise": FIT | {"epochs": 2}}, "cosinet.listwise: expected either steps or epochs"),
    ("govern", GOVERN | {"student": {"of": "electra-huge"}}, "govern.student: expected either of"),
    ("govern", GOVERN | {"student": {"of": "electra-base", "layers": 9}}, "at most the 2 layers of electra-base"),
    ("govern", GOVERN | {"student": {"of": "electra-base", "name": "x"}}, "govern.student: expected either of"),
    ("govern", GOVERN | {"start": "transfer", "student": {"name": "some/encoder"}}, "expected backbone where an encod"),
    ("govern", GOVERN | {"unlabelled": []}, "govern.unlabelled"),
    ("govern", GOVERN | {"ablation": ABLATION | {"teachers": []}}, "govern.ablation.teachers"),
    ("govern", GOVERN | {"ablation": ABLATION | {"teachers": [0]}}, "govern.ablation.teachers.0"),
    ("govern", GOVERN | {"ablation": ABLATION | {"teachers": [11]}}, "govern.ablation.teachers.0"),
    ("govern", GOVERN | {"precisions": [2]}, "govern.precisions.0"),
    ("govern", GOVERN | {"precisions": []}, "govern.precisions"),
    ("govern", GOVERN | {"start": "here"}, "govern.start"),
    ("govern", GOVERN | {"teachers": []}, "govern.teachers"),
]
NAMED = {  # a key and values of which its name is said
    "seeds": [[], None, [2**40], [0.5], "0"],
    "threads": [0, -1, True, 1.5],
    "distillation": [None, [1]],
    "grid__tau": [[0], [INFINITE]],
    "grid__learning_rate": [[-1e-3]],
    "grid__batch_size": [[0]],
    "fit__adapt__steps": [0],
    "fit__adapt__learning_rate": [INFINITE, 0],
    "fit__adapt__warmup": [1],
    "fit__adapt__patience": [0],
    "fit__adapt__ratio": [1],
    "mhs__heads": [[0]],
    "mhs__perturb": [-1],
    "ensemble__trials": [0],
    "significance__margin": [0],
    "data__max_length": [4, None],
    "data__target__train": [3, ""],
    "data__allow_shared_questions": ["yes"],
    "backbones__bert": [{}],
}
WRONG += [(key, value, key.replace("__", ".")) for key, values in NAMED.items() for value in values]


@pytest.mark.parametrize(("key", "value", "words"), WRONG, ids=[f"{key}-{i}" for i, (key, *_) in enumerate(WRONG)])
def test_a_wrong_parameter_is_refused(home, tmp_path, refused, key, value, words):
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(changed(home, **{key: value}), sort_keys=False))
    said = refused("plan", tmp_path / "mine.yaml")
    assert said.startswith("as2 plan: mine.yaml: ")
    assert words in said


@pytest.mark.parametrize(
    ("first", "second", "parts"),
    [
        ("dev", "test", {"dev": "x.tsv", "test": "x.tsv"}),
        ("train", "test", {"test": ["y.tsv", "train.tsv"], "train": "train.tsv"}),
        ("train", "dev", {"dev": "./train.tsv", "train": "train.tsv"}),
        ("dev", "test", {"dev": "wikiqa:test", "test": "microsoft/wiki_qa:test"}),
        ("dev", "test", {"dev": "wikiqa:dev", "test": "wikiqa:validation"}),
    ],
)
def test_splits_of_the_same_pairs_are_refused_unless_allowed_by_name(home, tmp_path, refused, first, second, parts):
    content = changed(home, data__allow_shared_questions=False)
    content["data"]["target"] |= parts
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(content))
    said = refused("plan", tmp_path / "mine.yaml")
    assert f"mine.yaml: data.target: {first} and {second} are both " in said
    assert "or allow it: data.allow_shared_questions: true" in said
    Study.load(tmp_path / "mine.yaml", {"data.allow_shared_questions": True})


def test_splits_that_share_questions_are_refused_before_anything_is_made(home, tmp_path, refused):
    content = changed(home, data__allow_shared_questions=False)
    for split in ("train", "dev", "test"):
        rows = [f"{split}{i}\t{'Who?' if i == 0 and split != 'train' else split + str(i)}\tx\t1\n" for i in range(3)]
        (tmp_path / f"{split}.tsv").write_text(TSV + "".join(rows))
        content["data"]["target"][split] = str(tmp_path / f"{split}.tsv")
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(content))
    (home / "work").mkdir(exist_ok=True)
    (home / "work" / "sha256.json").write_text("{}")  # the memo of what files hold may be written
    study = Study.load(tmp_path / "mine.yaml")
    study.store.missing(list(study.plan))
    for command in (["fit", tmp_path / "mine.yaml", "--quiet"], ["study", tmp_path / "mine.yaml"]):
        said = refused(*command)
        assert "dev.tsv) and test (" in said
        assert "share 1 question, such as 'Who?'; give each split questions of its own" in said


def columns(**changes) -> pa.Table:
    return pa.table({name: [value] for name, value in ROW.items()} | changes)


def line(**changes) -> str:
    return json.dumps(ROW | changes) + "\n"


LONE = '{"question_id": "q1", "question": "Who?", "answer": "\\ud800", "label": 1}'
PAIRS = [  # a file's name, what it holds, words of what is said of it; test_pairs has the rules of a row
    ("a.tsv", "\n\n", "a.tsv"),
    ("a.tsv", "hello\nyou\n", "expected the columns"),
    ("a.tsv", TSV + "q1\tWho?\tAnn\t2\n", "row 1 (line 2): label must be 0 or 1, got '2'"),
    ("a.tsv", TSV + 'q\tA?\t"I" came\t0\n', "without quoting, where quotes are text, name the columns QuestionID"),
    ("a.tsv", TSV.encode("utf-16"), "save the file as UTF-8"),
    ("a.tsv", CSV + "q1,Who?,Ann,1\n", "expected the columns"),
    ("a.tsv", "question_id\tquestion\tanswr\tlabel\nq\tA?\tx\t1\n", "(missing answer; extra answr)"),
    ("a.csv", CSV + 'q1,Who?,"Ann,1\n', "row 1 (line 2): expected fields quoted"),
    ("a.csv", b"\x00\x01\x02\xff" * 9, "a.csv"),
    ("a.jsonl", "[" * DEEP, "expected a JSON object, got one nested too deeply"),
    ("a.jsonl", '{"a":' * DEEP, "expected a JSON object, got one nested too deeply"),
    ("a.jsonl", "9" * 5000, "expected a JSON object, got Exceeds the limit"),
    ("a.jsonl", "null", "expected an object with the columns"),
    ("a.jsonl", LONE, "row 1 (line 1): answer must be text, got half a character"),
    ("a.jsonl", line()[:-2] + ', "label": 0}', "expected a JSON object, got a key twice"),
    ("a.jsonl", line(label=NOT_A_NUMBER), "label must be 0 or 1, got 'nan'"),
    ("a.jsonl", line(label=[1]), "label must be 0 or 1, got '[1]'"),
    ("a.jsonl", line(label=True), "label must be 0 or 1, got 'True'"),
    ("a.jsonl", line(answer=["Ann"]), "answer must be text, got ['Ann']"),
    ("a.jsonl", line() + line(note=1), "expected the columns of the first row, got a difference in note"),
    ("a.parquet", b"PAR1" + b"\0" * 40 + b"PAR1", "expected a Parquet file"),
    ("a.parquet", columns(answer=[["Ann"]]), "answer must be text, got a column of type list<"),
    ("a.parquet", columns(answer=[{"text": "Ann"}]), "answer must be text, got a column of type struct<"),
    ("a.parquet", columns(answer=[3]), "answer must be text, got a column of type int64"),
    ("a.parquet", columns(answer=[True]), "answer must be text, got a column of type bool"),
    ("a.parquet", columns(answer=[b"\xff"]), "row 1: answer must be UTF-8 text"),
    ("a.parquet", columns(question_id=[[1]]), "question_id must be text, got a column of type list<"),
    ("a.parquet", columns(question_id=pa.array([1], pa.timestamp("s"))), "question_id must be text, got a column"),
    ("a.parquet", columns(label=[[1]]), "label must be 0 or 1, got a column of type list<"),
    ("a.parquet", columns(label=[{"of": 1}]), "label must be 0 or 1, got a column of type struct<"),
    ("a.parquet", columns(label=[b"\xff"]), "label must be 0 or 1, got a column of type binary"),
    ("a.parquet", columns(label=[True]), "row 1: label must be 0 or 1, got "),
    ("a", "x", "expected a file that ends in"),
]


@pytest.mark.parametrize(("name", "content", "words"), PAIRS, ids=[f"{name}-{i}" for i, (name, *_) in enumerate(PAIRS)])
def test_a_wrong_file_of_pairs_is_refused(tmp_path, refused, name, content, words):
    path = tmp_path / name
    if isinstance(content, pa.Table):
        parquet.write_table(content, path)
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    said = refused("score", "mhs/3h1/seed-0", path, "--study", "tiny")
    assert said.startswith("as2 score: ")
    assert name in said
    assert words in said


LOCAL = [  # what params/local.yaml holds, words of what is said of it
    (b"local: [a]", "expected one key"),
    (b"locl: {}", "expected one key"),
    (b"local: {wikiqa: 3}", "expected one key"),
    (b"local: {3: here}", "expected one key"),
    (b"- local", "got a list"),
    (b"local: {wikiqa: a, wikiqa: b}", "the key 'wikiqa' twice"),
    (b"local: {wikiqa: a", "expected YAML"),
    (b"local: \xff", "save the file as UTF-8"),
    (b"local: !x y", "for the tag '!x'"),
    (b"local: {wikiqa: /not/there}", "maps wikiqa to /not/there, which is not there"),
]


@pytest.mark.parametrize(("content", "words"), LOCAL, ids=range(len(LOCAL)))
def test_a_broken_local_yaml_is_refused(tmp_path, monkeypatch, refused, content, words):
    (tmp_path / "params").mkdir()
    (tmp_path / "params" / "local.yaml").write_bytes(content)
    monkeypatch.setenv("AS2_ROOT", str(tmp_path))
    said = refused("score", "a", "wikiqa")
    assert "local.yaml" in said
    assert words in said


ORIGINALS = [  # of SQuAD: a file's name, what it holds, words of what is said of it
    ("train.json", b"", "train.json: expected a JSON object"),
    ("train.json", b"{}", "train.json: expected a record of SQuAD, got none with 'data'"),
    ("train.json", b"[]", "train.json: expected a record of SQuAD"),
    ("train.json", b"\xff", "train.json: expected a whole file of UTF-8 text"),
    ("train.json", b"[" * DEEP, "train.json: expected a JSON object, got one nested too deeply"),
    ("train.json", b'{"data": [{"paragraphs": [{"context": "a", "qas": [3]}]}]}', "expected a record of SQuAD"),
    ("train.jsonl", b'{"id": "a"}\n{', "train.jsonl, line 1: expected a record of SQuAD, got none with 'context'"),
    ("train.jsonl", b"{", "train.jsonl, line 1: expected a JSON object"),
    ("train.json.gz", b"no", "train.json.gz: expected a whole file"),
    ("train.json.gz", gzip.compress(b'{"data": []}' * 99)[:-9], "train.json.gz: expected a whole file"),
    ("train.parquet", b"no", "train.parquet: expected a whole file"),
    ("other.json", b"{}", "expected the original files of rajpurkar/squad_v2 (train), got none"),
]


@pytest.mark.parametrize(("name", "content", "words"), ORIGINALS, ids=range(len(ORIGINALS)))
def test_a_broken_original_of_a_built_set_is_refused(tmp_path, monkeypatch, refused, name, content, words):
    for folder in ("params", "squad"):
        (tmp_path / folder).mkdir()
    (tmp_path / "squad" / name).write_bytes(content)
    (tmp_path / "params" / "local.yaml").write_text("local: {squad-sent: squad}")
    monkeypatch.setenv("AS2_ROOT", str(tmp_path))
    assert words in refused("score", "a", "squad-sent", "--split", "dev")


COMMANDS = [  # a command, words of what is said of it
    ("fit tiny --precison bf16", "unrecognized arguments: --precison"),
    ("fit", "the following arguments are required: study"),
    ("fti tiny", "invalid choice: 'fti'"),
    ("", "required: COMMAND"),
    ("plan tiny --set threads", "--set: expected KEY=VALUE, such as threads=2"),
    ("plan tiny --set =3", "--set: expected KEY=VALUE"),
    ("plan tiny --set thread=3", "tiny.yaml: thread: unknown key; did you mean threads?"),
    ("plan tiny --set threads.x=3", "tiny.yaml: threads: Input should be a valid integer"),
    ('plan tiny --set title="\\ud800"', "--set: expected UTF-8 text"),
    ("plan tiny --set seeds=[0,0]", "tiny.yaml: seeds: expected each value once"),
    ("plan tiy", "no study 'tiy': tiy.yaml is not there; did you mean tiny?"),
    ("plan nothing", "known: tiny"),
    ("plan gone.yaml", "gone.yaml is not there"),
    ("plan params", "params.yaml is not there"),
    ("show mhs/3h1 --study tiny", "no run 'mhs/3h1'; its seeds are mhs/3h1/seed-0, mhs/3h1/seed-1"),
    ("show mhs --study tiny", "no run 'mhs'; below it are mhs/3h1/seed-0"),
    ("show mhs/3h1/sed-0 --study tiny", "did you mean mhs/3h1/seed-0"),
    ("fit tiny mhs/3h1", "its seeds are mhs/3h1/seed-0"),
    ("fit tiny --group mhs", "no group 'mhs'"),
    ("study tiny --cores x", "argument --cores: invalid int value: 'x'"),
    ("notebook tiny 99_none", "expected one of 00_overview"),
    ("import-cerberus gone.pt out", "gone.pt: no such file"),
    ("import-cerberus . out", ".: no such file"),
    ("score mhs/3h1/seed-0 gone.tsv --study tiny", "gone.tsv: no such file"),
    ("score mhs/3h1/seed-0 wikqa --study tiny", 'unknown source "wikqa"'),
    ("score mhs/3h1/seed-0 sample --split dve --study tiny", 'sample has no split "dve"'),
    ("score mhs/3h1/seed-0 sample@x --study tiny", "expected a whole number, the generator's seed"),
    ("score mhs/3h1/seed-0 --questions some --study tiny", "argument --questions: invalid choice: 'some'"),
    ("score mhs/3h1/seed-0 --study tiny --out gone/out.tsv", "gone/out.tsv: its folder is not there"),
    ("score mhs/3h1/seed-0 --study tiny --trec gone/out.run", "gone/out.run: its folder is not there"),
]


@pytest.mark.parametrize(("command", "words"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_a_wrong_command_is_refused(refused, command, words):
    assert words in refused(*command.split())


def test_a_closed_pipe_ends_quietly(home):
    command = f"{sys.executable} -m as2lib plan tiny | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=os.environ)
    assert done.stderr == ""


def test_an_interrupted_command_is_one_line(home):
    code = "import os, signal, sys\nfrom as2lib import __main__, commands\n"
    code += "def plan(_):\n    os.kill(os.getpid(), signal.SIGINT)\n"
    code += "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # what started the tests may ignore it
    command = [sys.executable, "-c", f"{code}commands.plan = plan; sys.exit(__main__.main(['plan', 'tiny']))"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 130
    assert done.stderr == "as2 plan: interrupted; what is finished is kept, and the same command goes on\n"


QUICK = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
PIECES = [*COLUMNS, "\t", ",", "\n", "\r\n", '"', '""', "q1", "Who?", "0", "1", "{", "}", "[", ":", '"label":']
PIECES += ["\ufeff", "\0"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)
TYPES = [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.int64(), pa.float64(), pa.bool_(), pa.null()]
TYPES += [pa.date32(), pa.timestamp("us"), pa.decimal128(5, 2), pa.list_(pa.string()), pa.struct({"a": pa.string()})]
TYPES += [pa.map_(pa.string(), pa.int8()), *(pa.dictionary(pa.int8(), kind) for kind in (pa.string(), pa.int64()))]


def assert_ours(words, load):
    """What is loaded is loaded, or refused in one line with these words."""
    try:
        load()
    except (ValueError, OSError) as error:
        said = str(error)
        if words not in said or "\n" in said:
            raise AssertionError(f"not ours: {said!r}") from error


def assert_loads_or_refuses(path):
    for load in (lambda: load_pairs(path, questions="all"), lambda: load_unlabelled(path)):
        assert_ours(path.name, load)


@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl", "parquet"])
@QUICK
@given(content=st.binary(max_size=60) | st.lists(st.sampled_from(PIECES)).map(lambda pieces: "".join(pieces).encode()))
def test_any_bytes_are_pairs_or_are_refused_by_name(tmp_path, kind, content):
    begin = {"tsv": TSV, "csv": CSV, "jsonl": "", "parquet": ""}[kind].encode()
    for content_ in (content, begin + content):
        (tmp_path / f"a.{kind}").write_bytes(content_)
        assert_loads_or_refuses(tmp_path / f"a.{kind}")


@QUICK
@given(rows=st.lists(st.fixed_dictionaries({name: VALUES | st.just(value) for name, value in ROW.items()}), min_size=1))
def test_any_json_objects_are_pairs_or_are_refused_by_name(tmp_path, rows):
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert_loads_or_refuses(tmp_path / "a.jsonl")


@QUICK
@given(kinds=st.fixed_dictionaries({name: st.sampled_from([None, *TYPES]) for name in ROW}), nulls=st.booleans())
def test_parquet_columns_of_any_type_are_pairs_or_are_refused_by_name(tmp_path, kinds, nulls):
    arrays = {}
    for name, kind in kinds.items():
        own = pa.array([None if nulls else ROW[name]])
        try:
            arrays[name] = own if kind is None else own.cast(kind)
        except pa.ArrowException:
            arrays[name] = pa.nulls(1, kind)
    try:
        parquet.write_table(pa.table(arrays), tmp_path / "a.parquet")
    except pa.ArrowException:
        return  # a type that Parquet does not store
    assert_loads_or_refuses(tmp_path / "a.parquet")


def keys(content, above=()):
    for key, value in content.items():
        yield (*above, key)
        if isinstance(value, dict):
            yield from keys(value, (*above, key))


@settings(QUICK, max_examples=100)
@given(data=st.data())
def test_any_value_under_any_key_is_a_plan_or_is_refused_by_name(home, tmp_path, data):
    sections = {"cascade": CASCADE, "cosinet": COSINET}
    key = data.draw(st.sampled_from(["__".join(key) for key in keys(changed(home, **sections))][1:]))
    content = changed(home, **sections | {key: data.draw(VALUES)})
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(content))
    assert_ours("mine.yaml: ", lambda: Study.load(tmp_path / "mine.yaml").plan)


@QUICK
@given(content=st.binary(max_size=60) | st.text("ab: {}[]-&*!|>'\"#\n\t?,<%@0.", max_size=40).map(str.encode))
def test_any_bytes_are_a_study_or_are_refused_by_name(tmp_path, content):
    (tmp_path / "mine.yaml").write_bytes(b"study: mine\n" + content)
    with pytest.raises(ValueError, match=r"^mine\.yaml[^\n]*\Z"):
        Study.load(tmp_path / "mine.yaml")
