import json
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import numpy
import pandas
import pytest

from as2lib import Study
from as2lib.precision import native_bf16
from as2lib.runs.files import read_logits, write_json, write_logits, write_parquet, write_scores
from as2lib.runs.identity import weights_identity
from as2lib.runs.make import publish
from as2lib.runs.store import Store

ROOT = Path(__file__).parents[1]


def identities(overrides=None):
    store = Store(Study.load("tiny", overrides))
    return {name: store.identity(name) for name in store.plan}


def test_identities_are_the_same_in_another_process(root):
    code = (
        "from as2lib import Study; from as2lib.runs.store import Store; s = Store(Study.load('tiny'));"
        "print(s.identity('mhs/3h1/seed-0'))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == identities()["mhs/3h1/seed-0"]


def test_a_changed_key_changes_only_what_depends_on_it(root):
    before, after = identities(), identities({"distillation.tau": 1})
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {
        name
        for name in before
        if name.startswith(("kd/", "mhs/", "hydra/", "ensemble/distilled", "ensemble/kd")) and "no-teacher" not in name
    }


def test_a_parents_change_reaches_its_children(root):
    before, after = identities(), identities({"backbones.albert.large.transfer_fit": {"steps": 1}})
    changed = {name for name in before if before[name] != after[name]}
    assert {"transfer/albert-large/seed-0", "teacher/albert/seed-0", "kd/electra-from-albert/seed-1"} <= changed
    assert "mhs/3h1/seed-0" in changed
    assert not changed & {"teacher/electra/seed-0", "base/albert/seed-0", "kd/roberta/seed-0"}


def test_a_byte_of_the_data_changes_what_is_trained_on_it(root):
    before = identities()
    path = root / "transfer.tsv"
    path.write_text(path.read_text().replace("red", "rad", 1))
    after = identities()
    assert before["transfer/electra-base/seed-0"] != after["transfer/electra-base/seed-0"]
    assert before["lexical/word_overlap"] == after["lexical/word_overlap"]


@pytest.mark.parametrize("change", [{"threads": 2}, {"precision": "bf16"}])
def test_threads_and_precision_are_part_of_a_fits_identity(root, change):
    before, after = identities(), identities(change)
    assert before["base/electra/seed-0"] != after["base/electra/seed-0"]
    assert before["lexical/word_overlap"] == after["lexical/word_overlap"]


def test_labels_and_margins_are_not_part_of_an_identity(root):
    assert identities() == identities({"title": "another", "significance.margin": 0.1, "seeds": [0, 1]})


def test_auto_precision_is_resolved_to_what_the_machine_has(root):
    assert Store(Study.load("tiny", {"precision": "auto"})).precision() == ("bf16" if native_bf16() else "float32")


def test_what_is_missing_for_a_student_comes_with_its_parents_first(root):
    missing = Store(Study.load("tiny")).missing(["kd/electra-from-roberta/seed-1"])
    assert missing == [
        "transfer/electra-base/seed-0",
        "transfer/roberta-large/seed-0",
        "teacher/roberta/seed-1",
        "kd/electra-from-roberta/seed-1",
    ]


def test_scores_have_every_question_and_no_text(trained):
    scores = trained.study.run("mhs/3h1/seed-0").scores("test")
    assert list(scores) == ["question_id", "position", "label", "score", "head_0", "head_1", "head_2"]
    assert len(scores) == 18 * 4
    assert scores["position"].tolist() == [0, 1, 2, 3] * 18
    assert scores["score"].dtype == "float64"
    numpy.testing.assert_allclose(scores["score"], scores[["head_0", "head_1", "head_2"]].mean(axis=1), atol=1e-6)


def test_an_unknown_split_names_those_there_are(trained):
    with pytest.raises(ValueError, match=r"\['dev', 'test'\]"):
        trained.study.run("mhs/3h1/seed-0").scores("train")


def test_published_scores_stand_in_for_a_run_that_is_not_here(trained_root, tmp_path, monkeypatch):
    copy = tmp_path / "copy"
    shutil.copytree(trained_root, copy)
    monkeypatch.setenv("AS2_ROOT", str(copy))
    study = Study.load(copy / "params" / "tiny.yaml")
    made, log = study.run("mhs/3h1/seed-0").scores("test"), study.run("mhs/3h1/seed-0").log()
    assert publish(Store(study), ["mhs/3h1/seed-0"])
    assert set(Store(study).unpublished()) == {name for name in study.plan if Store(study).find(name)} - {
        "mhs/3h1/seed-0"
    }
    shutil.rmtree(copy / "work")
    assert Store(study).unpublished() == []
    published = Store(study).find("mhs/3h1/seed-0")
    found = published.scores("test")
    pandas.testing.assert_frame_equal(found, made, rtol=2**-24, atol=0)
    pandas.testing.assert_series_equal(found["score"], made["score"], rtol=2**-36, atol=0)
    assert log
    assert published.log() == log
    assert published.facts["machine"]
    assert Store(study).missing(["mhs/3h1/seed-0"]) == []
    with pytest.raises(FileNotFoundError, match="only scores"):
        _ = published.model_folder
    assert "teacher/electra/seed-0" in Store(study).missing(["mhs/3h1/seed-0"], model=True)


def test_a_run_that_is_never_scored_is_made_only_where_its_model_is_needed(root):
    store = Store(Study.load("tiny"))
    assert store.missing(["transfer/electra-base/seed-0"]) == []
    assert store.missing(["transfer/electra-base/seed-0"], model=True) == ["transfer/electra-base/seed-0"]
    assert store.missing(["base/electra/seed-0"])[0] == "transfer/electra-base/seed-0"


@pytest.mark.parametrize("index", sorted(ROOT.glob("reports/*/runs/index.json")), ids=lambda path: path.parts[-3])
def test_the_index_of_published_runs_in_the_repository_has_the_hash_of_each_file(index):
    said = {}
    for name, entry in json.loads(index.read_text()).items():
        said |= {(index.parent / name).with_name(file): digest for file, digest in entry["files"].items()}
    here = [path for path in index.parent.rglob("*") if path.suffix in (".parquet", ".jsonl")]
    assert said == {path: sha256(path.read_bytes()).hexdigest() for path in here}


def test_only_a_study_as_its_file_says_is_published(trained):
    with pytest.raises(ValueError, match="other parameters"):
        publish(Store(Study.load("tiny", {"significance.margin": 0.5})), [])


def test_a_pinned_hub_name_that_is_mapped_has_the_identity_of_its_files(root):
    (root / "weights").mkdir()
    (root / "weights" / "config.json").write_text("{}")
    (root / "params" / "local.yaml").write_text("local: {org/encoder: weights}")
    assert weights_identity("org/encoder@abc") == weights_identity("weights")
    assert list(weights_identity("org/encoder")) == ["config.json"]
    assert weights_identity("org/other@abc") == {"hub": "org/other", "revision": "abc"}


def test_published_scores_of_another_identity_are_not_accepted(trained_root, tmp_path, monkeypatch):
    copy = tmp_path / "copy"
    shutil.copytree(trained_root, copy)
    monkeypatch.setenv("AS2_ROOT", str(copy))
    study = Study.load("tiny")
    publish(Store(study), ["mhs/3h1/seed-0"])
    other = Store(Study.load("tiny", {"distillation.tau": 1}))
    assert other.find("mhs/3h1/seed-0") is None


def test_small_files_keep_ten_digits_of_a_score_and_the_order_of_those_and_seven_of_a_heads(tmp_path):
    scores = numpy.concatenate([numpy.random.default_rng(0).random(5000), [0, 1, 0.5, 3e-300, 1 - 1e-10]])
    whole = pandas.DataFrame({"question_id": [f"Q{n // 7}" for n in range(len(scores))], "score": scores})
    whole = whole.assign(head_0=scores, exit_2=scores)
    path, sizes = tmp_path / "scores.parquet", {}
    for small in (False, True):
        write_parquet(path, whole, small=small)
        sizes[small] = path.stat().st_size
    found = pandas.read_parquet(path)
    numpy.testing.assert_allclose(found["score"], scores, rtol=2**-36, atol=0)
    for part in ("head_0", "exit_2"):
        numpy.testing.assert_allclose(found[part], scores, rtol=2**-24, atol=0)
    assert found["score"].rank().equals(whole["score"].rank())
    write_parquet(tmp_path / "again.parquet", found, small=True)
    assert (tmp_path / "again.parquet").read_bytes() == path.read_bytes()
    assert sizes[True] < 0.75 * sizes[False]


def test_logits_of_another_pair_set_are_refused(tmp_path):
    path = tmp_path / "logits.safetensors"
    write_logits(path, numpy.zeros((3, 2), dtype="float32"), "a" * 64)
    assert read_logits(path, "a" * 64).shape == (3, 2)
    with pytest.raises(ValueError, match="expected logits over the pair set"):
        read_logits(path, "b" * 64)


def test_what_is_written_leaves_no_temporary_file(tmp_path):
    write_json(tmp_path / "a" / "x.json", {"é": 1})
    write_scores(tmp_path / "s.parquet", {"question_id": ["q", "q", "r"], "label": [0, 1, 1]}, [0.1, 0.2, 0.3])
    assert sorted(p.name for p in tmp_path.rglob("*") if p.is_file()) == ["s.parquet", "x.json"]
    assert json.loads((tmp_path / "a" / "x.json").read_text()) == {"é": 1}
    assert pandas.read_parquet(tmp_path / "s.parquet")["position"].tolist() == [0, 1, 0]
