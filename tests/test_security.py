"""What others wrote is data: no model or file of theirs runs as code, no text of theirs commands a page or a tool."""

import ast
import io
import json
import re
from base64 import b64encode
from contextlib import nullcontext
from hashlib import sha256
from pathlib import Path

import nbformat
import pytest

from as2lib import Ranker, Study
from tests.first_hour.hub_like import public_model
from tests.study.conftest import teachers, tiny_params

PACKAGE = Path(__file__).parents[1] / "as2lib"


def test_no_file_is_unpickled_and_no_code_of_a_model_is_trusted():
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        modules = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
        modules |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not modules & {"pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}, path
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            name, keywords = ast.unparse(call.func), {key.arg: ast.unparse(key.value) for key in call.keywords}
            assert name not in ("eval", "exec", "pandas.read_pickle"), path
            assert keywords.get("trust_remote_code", "False") == "False", path
            if name.endswith(".from_pretrained"):  # where transformers would ask on standard input
                assert (path.name, keywords.get("trust_remote_code")) == ("pretrained.py", "False")
            if name == "torch.load":
                assert keywords.get("weights_only") == "True", path
            if name in ("numpy.load", "np.load"):
                assert keywords.get("allow_pickle", "False") == "False", path


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


def test_a_page_may_run_its_own_script_alone_and_asks_no_other_place(tmp_path):
    from as2lib.report.pages import render

    cells = [nbformat.v4.new_markdown_cell("# A page\n\n<script>alert(1)</script>")]
    executed = tmp_path / "executed.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), executed)
    page = render(executed, tmp_path / "01_data.html", ["01_data"], "a study", "", {}).read_text(encoding="utf-8")
    policy = re.search(r'<meta content="([^"]+)" http-equiv="Content-Security-Policy"', page)[1]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    hashes = {f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in scripts}
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] in hashes
    assert len(rules["script-src"].split()) == 1
    assert rules["img-src"] == "data:"
    assert page.index("Content-Security-Policy") < page.index("<style>")


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
