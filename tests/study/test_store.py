import os
import shutil
import subprocess
import sys

import numpy
import pytest
from safetensors.numpy import load_file, save_file

from as2lib import Study, hub
from as2lib.paths import PACKAGE
from as2lib.study import store
from as2lib.study.run import Row
from as2lib.study.store import encoder_identity, require_known_tensors, tensors_fingerprint
from tests.first_hour.hub_like import COMMIT, cached, public_model
from tests.study.conftest import STEP


def on_encoder(study, name) -> str:
    """The identity of a fit that starts from an encoder of a name."""
    data = {"train": tuple(study.data.target.train)}
    spec = {"loss": "ce", "backbone": {"name": name}, "training": STEP, "max_length": 24}
    study.add([Row("mine", "mine", "own", "fit", spec, data, seeds=(0,))])
    return study.store.identity("mine/seed-0")


def encoder_folder(folder, value=0.0):
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    weights = {"a": numpy.full((2, 3), value, dtype=numpy.float32), "b": numpy.ones(2, dtype=numpy.float16)}
    save_file(weights, folder / "model.safetensors")
    return folder


def test_an_identity_hashes_what_is_asked_and_not_where_files_lie(root, tmp_path, monkeypatch):
    before = Study.load("tiny").store.identity("student/electra/seed-0")
    moved = tmp_path / "moved"
    shutil.copytree(root, moved)
    text = (moved / "params" / "tiny.yaml").read_text().replace(str(root), str(moved))
    (moved / "params" / "tiny.yaml").write_text(text)
    monkeypatch.setenv("AS2_ROOT", str(moved))
    assert Study.load("tiny").store.identity("student/electra/seed-0") == before
    (moved / "train.tsv").write_text((moved / "train.tsv").read_text().replace("river", "lake"))
    assert Study.load("tiny").store.identity("student/electra/seed-0") != before


def test_a_known_encoder_is_its_tensors_from_the_hub_from_a_folder_and_without_its_files(root, tmp_path, monkeypatch):
    folder = encoder_folder(tmp_path / "encoder")
    monkeypatch.setitem(store.KNOWN_TENSORS, "org/encoder", tensors_fingerprint(folder / "model.safetensors"))
    without = on_encoder(Study.load("tiny"), "org/encoder")
    (root / "params" / "local.yaml").write_text(f"local: {{org/encoder: {folder}}}\n")
    weights = dict(reversed(load_file(folder / "model.safetensors").items()))
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})  # another file of the same tensors
    assert on_encoder(Study.load("tiny"), "org/encoder") == without
    require_known_tensors("org/encoder")
    save_file({**weights, "a": weights["a"].T.copy()}, folder / "model.safetensors")
    with pytest.raises(ValueError, match=r"org/encoder: expected the weights of fingerprint \w+, got \w+"):
        require_known_tensors("org/encoder")


def test_any_other_encoder_is_its_commit_as_the_hubs_cache_has_it_or_its_tensors_wherever_it_lies(
    root, tmp_path, monkeypatch
):
    cached(encoder_folder(tmp_path / "encoder"), "org/other", monkeypatch)
    hub.commit.cache_clear()
    for name in ("org/other", f"org/other@{COMMIT}"):
        assert encoder_identity(name) == {"hub": "org/other", "commit": COMMIT}
    one, two = encoder_folder(tmp_path / "one"), encoder_folder(tmp_path / "deeper" / "two")
    assert encoder_identity(str(one)) == encoder_identity(str(two))
    assert encoder_identity(str(one)) != encoder_identity(str(encoder_folder(tmp_path / "other", 1.0)))


def test_what_is_planned_needs_no_large_package_and_ranking_leaves_no_file(folder):
    public_model(folder / "model", labels=2)
    code = """
import os, sys
import as2lib.study.pages, as2lib.study.fit_missing
from as2lib.cli import main

main(["plan", "sample"])
as2lib.Study.load("sample").notebooks
heavy = {"torch", "scipy", "transformers", "datasets", "pandas", "numpy", "httpx2"}
print(sorted(heavy & set(sys.modules)))
before = os.listdir()
as2lib.Ranker.load("model").rank("where is the red ?", ["the red is here", "a hill"])
assert os.listdir() == before
print(sorted({"spacy", "sklearn"} & set(sys.modules)))
"""
    environment = {**os.environ, "AS2_ROOT": str(PACKAGE.parent), "PYTHONPATH": str(PACKAGE.parent)}
    command = [sys.executable, "-c", code]
    shown = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, check=True)
    assert [line for line in shown.stdout.splitlines() if line == "[]"] == ["[]", "[]"]
