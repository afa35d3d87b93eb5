"""A YAML file that anybody wrote is read, or refused in one line that names it."""

import pytest

from as2lib.keys import read_yaml
from as2lib.paths import local_folder
from as2lib.study import Study, findings

REFUSED = {
    "a tag": "a: !!python/object/apply:os.getcwd []",
    "nothing": "",
}
READERS = {
    "params/tiny.yaml": lambda path: Study.load("tiny"),
    "params/local.yaml": lambda path: local_folder("org/name"),
    "params/findings/sample.yaml": lambda path: findings.findings_file(Study.load("sample")),
}


@pytest.mark.parametrize(
    ("file", "kind"), [*(("params/tiny.yaml", kind) for kind in REFUSED), *((file, "a tag") for file in READERS)]
)
def test_a_file_that_is_too_much_or_no_keys_is_refused(file, kind, own_root):
    path = own_root / file
    path.parent.mkdir(parents=True)
    path.write_text(REFUSED[kind])
    with pytest.raises(ValueError, match=rf"^[^\n ]*{path.name}: expected [^\n]*$"):
        READERS[file](path)


def test_an_alias_and_a_merge_stand_for_what_they_name(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("a: &a {x: 1e-3}\nb: *a\nc:\n  <<: *a\n  y: 2")
    assert read_yaml(path) == {"a": {"x": 1e-3}, "b": {"x": 1e-3}, "c": {"x": 1e-3, "y": 2}}


@pytest.mark.parametrize("name", ["no", "null"])
def test_a_studys_name_that_yaml_reads_otherwise_stands_in_quotes(name, own_root):
    path = own_root / f"{name}.yaml"
    path.write_text(f"study:\n  name: {name}")
    with pytest.raises(ValueError, match=rf"^{name}.yaml: name: expected {name}, [^\n]*quotes$"):
        Study.load(path)
