"""What others wrote is data: no model or file of theirs runs as code, no name of theirs commands a page or a tool."""

import io
import json
import re
from contextlib import nullcontext
from pathlib import Path

import pytest

from as2lib import Ranker, Study
from tests.first_hour.hub_like import public_model
from tests.study.conftest import teachers, tiny_params

PACKAGE = Path(__file__).parents[1] / "as2lib"


def test_no_file_is_unpickled_and_no_code_of_a_model_is_trusted():
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"(import|from) (pickle|cloudpickle|dill|joblib|marshal|shelve)\b", text), path
        assert not re.search(r"(?<![.\w])(eval|exec)\(|read_pickle\(|(trust_remote_code|allow_pickle)=True", text), path
        assert all("weights_only=True" in call for call in re.findall(r"torch\.load\(.*", text)), path
        calls = re.findall(r"\.from_pretrained\(.*", text)  # where transformers would ask on standard input
        assert all("trust_remote_code=False" in call for call in calls), path


BROUGHT = {  # by which auto class a folder brings Python of its own: what its configurations say
    "AutoConfig": {"config.json": {"model_type": "mine"}},
    "AutoModelForSequenceClassification": {"config.json": {"model_type": "xglm"}},  # a family without a classifier
    "AutoTokenizer": {"tokenizer_config.json": {"tokenizer_class": "Mine"}},
}


@pytest.mark.parametrize("auto", BROUGHT)
def test_python_in_a_models_folder_is_refused_unasked(auto, folder, monkeypatch, capfd):
    model = public_model(folder / "model", labels=2)
    (model / "mine.py").write_text(f"open({str(folder / 'mark')!r}, 'w')\nclass Mine: pass\n")
    classes = ["mine.Mine", "mine.Mine"] if auto == "AutoTokenizer" else "mine.Mine"
    for file, changes in BROUGHT[auto].items():
        content = json.loads((model / file).read_text()) | changes | {"auto_map": {auto: classes}}
        (model / file).write_text(json.dumps(content))
    monkeypatch.setattr("sys.stdin", answers := io.StringIO("y\n" * 20))
    refused = nullcontext() if auto == "AutoTokenizer" else pytest.raises(ValueError, match="contains custom code")
    with refused:  # in place of a tokenizer of one's own transformers takes its own
        Ranker.load(model)
    assert not (folder / "mark").exists()
    assert answers.tell() == 0
    assert "[y/N]" not in "".join(capfd.readouterr())


NAMED = {  # by kind of name: the keys of a study's file that have it
    "name": lambda name: {"name": name},
    "own": lambda name: {"own": {name: {"loss": "ce"}}},
    "across": lambda name: {"across": [name]},
    "teacher": lambda name: {"teachers": {name: teachers(2)["electra"]}},
}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(("name", name) for name in ("a;ls", "a/../../b", "-a", "1", "a\n", "..", "<b>", "é" * 80)),
        *((kind, "../a") for kind in NAMED),
    ],
)
def test_a_name_that_a_shell_a_path_or_a_page_would_read_otherwise_is_none(kind, name, tmp_path):
    with pytest.raises(ValueError, match=rf"^the parameters of [^:]*: {kind}[^\n]*$"):
        Study.load(tiny_params(tmp_path) | NAMED[kind](name))
