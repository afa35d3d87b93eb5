"""Files of the store that are not as they were written: named by the next command, made again, the same bytes."""

import errno
import json
import shutil
from collections import namedtuple
from pathlib import Path

import numpy
import pytest
import torch
from safetensors.torch import load_file, save_file

from as2lib import Study, intact
from as2lib.__main__ import main
from as2lib.data.encode import PairEncoder, word_tokenizer
from as2lib.data.pairs import load_parts
from as2lib.data.words import WordEncoder
from as2lib.ranker import Ranker
from as2lib.report import provenance
from as2lib.runs import code, make
from as2lib.runs.fit import trainer
from as2lib.runs.store import Store
from tests.test_fit import interrupted
from tests.test_ranker import LISTS, QUESTIONS, WORDS, model

STUDENT, BASELINE, OTHER = "mhs/3h1/seed-0", "lexical/word_overlap", "lexical/overlap_then_rank"
LARGE = "transfer/albert-large/seed-0"


def run_folder(root: Path, name: str) -> Path:
    """Where a run lies in a root's store."""
    specs = root.glob("work/runs/*/spec.json")
    return next(path.parent for path in specs if json.loads(path.read_text())["name"] == name)


def flip(path: Path, at: float = 0.5) -> Path:
    """Change one bit in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[int(at * len(content))] ^= 1
    path.write_bytes(content)
    return path


def cut(path: Path) -> Path:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    return path


def empty(path: Path) -> Path:
    path.write_text("")
    return path


def without_a_line(path: Path) -> Path:
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], "", *lines[2:]]) + "\n")
    return path


def of_another(path: Path) -> None:
    """A file of a run gets what that of another run holds."""
    folder = next(folder for folder in path.parents if (folder / "spec.json").exists())
    other = run_folder(folder.parents[2], OTHER) / path.relative_to(folder)
    path.write_bytes(other.read_bytes())


SCORES, WEIGHTS = "scores/test.parquet", "model/*.safetensors"
TOKENS, LOGITS = "encoded/*.arrow", "logits/*.safetensors"
DAMAGES = [  # (a run, a file of it, what happens to it); all caches of a kind where there is no run
    [(BASELINE, SCORES, flip), (STUDENT, WEIGHTS, flip), (LARGE, WEIGHTS, cut)],
    [(BASELINE, SCORES, cut), (STUDENT, "model/tokenizer.json", Path.unlink)],
    [(BASELINE, SCORES, Path.unlink), (STUDENT, "log.jsonl", without_a_line)],
    [(BASELINE, SCORES, of_another), (None, TOKENS, flip), (None, LOGITS, flip)],
    [(BASELINE, "done.json", empty), (None, TOKENS, cut), (None, LOGITS, empty)],
    [(BASELINE, "done.json", of_another), (STUDENT, "done.json", lambda path: flip(path, 0.1))],
]


def damaged(root: Path, run: str | None, pattern: str, damage) -> Path:
    """Damage files; the one, or their folder, that is to be named."""
    found = sorted((run_folder(root, run) if run else root / "work").glob(pattern))
    for path in found:
        damage(path)
    return found[0] if run else found[0].parent


def results(root: Path) -> dict[str, bytes]:
    """What must come out the same: every run's scores and weights; a log and a card hold measured seconds."""
    files = [*root.glob("work/runs/*/scores/*"), *root.glob("work/runs/*/model/*[!d]")]
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


def fresh_process() -> None:
    """What a new process does not know yet."""
    intact.note.cache_clear()
    load_parts.cache_clear()


@pytest.fixture
def copy(trained_root, tmp_path, monkeypatch):
    """A copy of the trained tiny study; its pair files are read where they were, by their path."""
    shutil.copytree(trained_root, tmp_path / "copy")
    monkeypatch.setenv("AS2_ROOT", str(tmp_path / "copy"))
    fresh_process()
    return tmp_path / "copy"


@pytest.mark.parametrize("damages", DAMAGES)
def test_what_is_damaged_is_named_and_made_again_with_the_same_bytes(copy, capsys, damages):
    before, paths = results(copy), [damaged(copy, *damage) for damage in damages]
    if None in [run for run, *_ in damages]:
        shutil.rmtree(run_folder(copy, STUDENT))  # which is made from the caches
    assert main(["fit", "tiny", STUDENT, BASELINE, LARGE, "--quiet"]) == 0
    said = capsys.readouterr().err
    assert not [path for path in paths if str(path.relative_to(copy)) not in said]
    assert "again" in said
    assert results(copy) == before
    main(["check", "tiny", "--store"])  # also finds caches that were not read, and removes them
    capsys.readouterr()
    assert main(["check", "tiny", "--store"]) == 0
    assert "0 damaged" in capsys.readouterr().out


def test_the_plan_says_damaged_and_what_a_whole_store_holds_is_read_bit_by_bit(copy, capsys):
    path = flip(run_folder(copy, STUDENT) / "model/model.safetensors")
    assert main(["plan", "tiny"]) == 0
    assert f"  damaged    {STUDENT}" in capsys.readouterr().out
    tokens = flip(next((copy / "work/encoded").glob("*.arrow")))
    assert main(["check", "tiny", "--store"]) == 1
    said = capsys.readouterr().out
    assert str(path.relative_to(copy)) in said
    assert str(tokens.relative_to(copy)) in said
    assert "2 damaged" in said


def test_the_graph_makes_the_group_of_a_damaged_run_again(copy):
    store = Store(Study.load("tiny"))
    marker = store.marker(store.planned(BASELINE).group)
    marker.parent.mkdir(parents=True)
    marker.touch()
    flip(run_folder(copy, BASELINE) / "scores/test.parquet")
    make.forget_made(store)
    assert not marker.exists()


def test_a_flip_that_keeps_size_and_times_is_found_by_the_check_alone(copy, monkeypatch, capsys):
    path = run_folder(copy, BASELINE) / "scores/test.parquet"
    stamped = namedtuple("Stamped", "st_size st_mtime_ns st_ctime_ns")
    status = intact.os.stat
    monkeypatch.setattr(
        intact.os,
        "stat",
        lambda file, **_: stamped(path.stat().st_size, 1, 1) if file == str(path) else status(file, **_),
    )
    assert Store(Study.load("tiny")).find(BASELINE)
    flip(path)
    assert Store(Study.load("tiny")).find(BASELINE)
    assert main(["check", "tiny", "--store"]) == 1
    assert Store(Study.load("tiny")).find(BASELINE) is None


def test_scores_that_change_after_the_run_was_found_are_refused(copy):
    found = Store(Study.load("tiny")).find(BASELINE)
    flip(found.folder / "scores/test.parquet")
    with pytest.raises(intact.Damaged, match=r"scores/test\.parquet: expected the file that the run left"):
        found.scores("test")


@pytest.mark.parametrize("content", ["", "[1]", '{"mhs/3h1/seed-0": 3}', "{"])
def test_a_garbage_index_is_named_and_blocks_nothing(copy, capsys, content):
    make.publish(Store(Study.load("tiny")), [STUDENT])
    index = copy / "reports/tiny/runs/index.json"
    whole = index.read_bytes()
    index.write_text(content)
    assert main(["plan", "tiny"]) == 0
    assert "reports/tiny/runs/index.json: expected" in capsys.readouterr().err
    assert main(["publish", "tiny", STUDENT]) == 0
    assert index.read_bytes() == whole


def test_published_scores_that_changed_are_not_taken(copy, capsys):
    make.publish(Store(Study.load("tiny")), [STUDENT])
    shutil.rmtree(run_folder(copy, STUDENT))
    assert Store(Study.load("tiny")).find(STUDENT).published
    flip(copy / f"reports/tiny/runs/{STUDENT}.parquet")
    assert Store(Study.load("tiny")).find(STUDENT) is None
    assert f"{STUDENT}.parquet: expected" in capsys.readouterr().err


def test_a_run_of_earlier_code_without_hashes_stays(copy):
    done = run_folder(copy, BASELINE) / "done.json"
    done.write_text('{"parameters": 0}')
    store = Store(Study.load("tiny"))
    assert store.find(BASELINE).facts == {"parameters": 0}
    assert not store.by_other_code(store.find(BASELINE))
    assert BASELINE not in store.missing(list(store.plan))


def half_made(store: Store, name: str, monkeypatch) -> Path:
    """A fit that died at its sixth step, behind the checkpoints of the second and the fourth."""
    (store.folder(name) / "done.json").unlink()
    interrupted(store, name, monkeypatch, at=6)
    return store.folder(name).with_name(f"{store.folder(name).name}.partial")


def test_a_damaged_checkpoint_is_named_and_the_fit_goes_on_from_an_older_one(copy, monkeypatch, capsys):
    store, name = Store(Study.load("tiny")), "teacher/electra/seed-0"
    before, log = results(copy), [entry["step"] for entry in store.find(name).log()]
    partial = half_made(store, name, monkeypatch)
    checkpoints = partial / "checkpoints"
    assert sorted(path.name for path in checkpoints.iterdir()) == ["checkpoint-2", "checkpoint-4"]
    shutil.copytree(checkpoints, copy / "whole")
    files = {"optimizer.pt": cut, "model.safetensors": flip, "log.jsonl": without_a_line, "sha256.json": empty}
    for file, damage in (files | {"trainer_state.json": empty}).items():
        damage(checkpoints / "checkpoint-4" / file)
        assert trainer.newest_checkpoint(checkpoints) == checkpoints / "checkpoint-2"
        assert f"checkpoints/checkpoint-4/{file}" in capsys.readouterr().err
        shutil.copytree(copy / "whole", checkpoints, dirs_exist_ok=True)
    empty(checkpoints / "checkpoint-4/trainer_state.json")
    (partial / "log.jsonl").write_text("\n{")
    make.make(store, name)
    assert results(copy) == before
    assert [entry["step"] for entry in store.find(name).log()] == log


def test_a_checkpoint_whose_best_weights_are_damaged_is_not_gone_on_from(tmp_path):
    for step, best in ((2, 2), (4, 2), (6, None)):
        folder = tmp_path / f"checkpoint-{step}"
        folder.mkdir()
        state = {"best_model_checkpoint": best and str(tmp_path / f"checkpoint-{best}")}
        (folder / "trainer_state.json").write_text(json.dumps(state))
        if step < 6:  # the last one was not written to its end
            hashes = {"trainer_state.json": intact.file_sha256(folder / "trainer_state.json")}
            (folder / trainer.SEAL).write_text(json.dumps(hashes))
    assert trainer.newest_checkpoint(tmp_path) == tmp_path / "checkpoint-4"
    flip(tmp_path / "checkpoint-2/trainer_state.json")
    assert trainer.newest_checkpoint(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_a_fit_asks_for_the_space_it_needs_first(copy, monkeypatch, capsys):
    shutil.rmtree(run_folder(copy, STUDENT))
    usage = namedtuple("Usage", "free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(1000))
    assert main(["fit", "tiny", STUDENT, "--quiet"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"no space left for {STUDENT}: it needs about" in said
    assert "as2 clean --stale" in said


@pytest.mark.parametrize(
    "error",
    [OSError(errno.ENOSPC, "No space left on device"), RuntimeError("PytorchStreamWriter failed writing file data/2")],
)
def test_a_disk_that_fills_is_one_line_and_blocks_nothing(copy, monkeypatch, capsys, error):
    shutil.rmtree(run_folder(copy, BASELINE))

    def fills(*_):
        raise error

    with monkeypatch.context() as patch:
        patch.setitem(make.MAKERS, "lexical", fills)
        assert main(["fit", "tiny", BASELINE, "--quiet"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"no space left for {BASELINE}" in said
    assert main(["fit", "tiny", BASELINE, "--quiet"]) == 0


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A copy of the library whose modules may be edited: what runs are said to be made by."""
    shutil.copytree(code.LIBRARY, tmp_path / "as2lib", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(code, "LIBRARY", tmp_path / "as2lib")
    forget_sources()
    yield tmp_path / "as2lib"
    forget_sources()


def forget_sources() -> None:
    code._fingerprint.cache_clear()
    code.imports.cache_clear()


def edit(path: Path, old: str, new: str) -> None:
    content = path.read_text()
    assert old in content
    path.write_text(content.replace(old, new, 1))
    forget_sources()


def test_comments_docstrings_and_other_losses_make_no_other_code(copy, sources):
    edit(sources / "losses/distillation.py", "import torch\n", "import torch\n\n# a comment\n")
    edit(sources / "losses/distillation.py", '"""', '"""Said otherwise: ')
    edit(sources / "losses/govern.py", "    return ", "    return 0 * ")
    edit(sources / "models/cosinet.py", "    return ", "    return 0 * ")
    assert Store(Study.load("tiny")).outdated() == []


def test_a_loss_edited_to_nonsense_is_shown_with_all_that_was_made_of_it_and_made_again_when_asked(
    copy, sources, capsys
):
    edit(sources / "models/lexical.py", "    return ", "    return 0 * ")
    assert Store(Study.load("tiny")).outdated() == [BASELINE, OTHER]
    edit(sources / "losses/distillation.py", "    return ", "    return 0 * ")
    store = Store(Study.load("tiny"))
    assert {STUDENT, "teacher/albert/seed-0", "ensemble/teachers/seed-0"} <= set(store.outdated())
    before = results(copy)
    assert main(["plan", "tiny"]) == 0
    said = capsys.readouterr().out
    assert said.count("made by other code") == len(store.outdated()) + 1
    assert f"{len(store.outdated())} runs made by other code: `as2 fit tiny --refresh` makes them again" in said
    assert (
        f"**{len(store.outdated())} of {len(store.plan)} runs were made by other code" in provenance(store.study).data
    )
    assert main(["fit", "tiny", BASELINE, "--quiet"]) == 0  # not asked for
    assert BASELINE in Store(Study.load("tiny")).outdated()
    assert main(["fit", "tiny", BASELINE, "teacher/electra/seed-0", "--refresh", "--quiet"]) == 0
    left = Store(Study.load("tiny")).outdated()
    assert not {BASELINE, "teacher/electra/seed-0", "transfer/electra-large/seed-0"} & set(left)
    assert {OTHER, STUDENT} <= set(left)  # the student learnt from the teacher that was there before
    assert results(copy) == before


def test_an_interrupted_fit_of_other_code_is_not_continued(copy, sources, monkeypatch, capsys):
    store, name = Store(Study.load("tiny")), "teacher/electra/seed-0"
    partial = half_made(store, name, monkeypatch)
    edit(sources / "losses/distillation.py", "    return ", "    return 0 * ")
    make._forget_unless(partial, Store(Study.load("tiny")).code(name))
    assert not partial.exists()
    assert "other code" in capsys.readouterr().err


def test_the_logits_of_a_teacher_that_was_made_again_otherwise_are_computed_again(copy):
    from as2lib.runs.fit import teacher_logits

    store, name = Store(Study.load("tiny")), "teacher/electra/seed-0"
    pairs = load_parts(tuple(store.planned(STUDENT).data["train"]))
    before = teacher_logits(store.with_parents(name), pairs, "float32")
    folder = store.folder(name)
    weights = load_file(folder / "model/model.safetensors")
    weights = {key: 2 * value for key, value in weights.items()}
    save_file(weights, folder / "model/model.safetensors", metadata={"format": "pt"})
    done = json.loads((folder / "done.json").read_text())
    facts = {key: value for key, value in done.items() if key not in ("identity", "code", "files", "sha256")}
    make.write_done(folder, facts, done["identity"], done["code"])
    assert not numpy.array_equal(teacher_logits(store.with_parents(name), pairs, "float32"), before)


def test_what_no_study_needs_is_shown_then_removed(copy, capsys):
    before = results(copy)
    stale = copy / "work/runs" / ("0" * 24)
    shutil.copytree(run_folder(copy, STUDENT), stale)
    logits = copy / "work/logits" / f"{'0' * 24}-{'1' * 24}.safetensors"
    logits.write_text("x")
    assert main(["clean", "--stale"]) == 0
    said = capsys.readouterr().out
    assert "work/runs/000000000000000000000000   of no study's run" in said
    assert "2 things that no study needs" in said
    assert stale.exists()
    assert main(["clean", "--stale", "--yes"]) == 0
    assert not stale.exists()
    assert not logits.exists()
    assert results(copy) == before
    assert main(["clean"]) == 2


def test_caches_have_a_bound_and_the_file_read_longest_ago_goes_first(root, monkeypatch):
    folder = root / "work/encoded"
    folder.mkdir(parents=True)
    for day, name in enumerate("cab"):
        (folder / name).write_bytes(bytes(100))
        intact.os.utime(folder / name, (day, day))
    monkeypatch.setattr(intact, "BOUND", 250)
    intact._written.clear()
    intact.keep_within_bound(folder / "b")
    assert sorted(path.name for path in folder.iterdir()) == ["a", "b"]


def saved(kind: str, folder: Path) -> Path:
    """A small model of each kind with what encodes its pairs."""
    made, encoder, _ = model(kind)
    made.save_pretrained(folder)
    encoder.save(folder)
    return folder


def reweighted(folder: Path, change) -> str:
    """Change the weights, given by name; returns the name of the tensor that is to be named."""
    weights = load_file(folder / "model.safetensors")
    name = change(weights)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return name


def configured(folder: Path, said: str, **fields) -> str:
    content = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(content | fields))
    return said


def without_one(weights) -> str:
    name = sorted(name for name in weights if "weight" in name)[1]
    del weights[name]
    return f"{name}: expected a tensor of shape"


def with_nan(weights) -> str:
    name = sorted(weights)[0]
    weights[name].view(-1)[0] = torch.nan
    return f"{name}: expected finite numbers, got nan or inf"


def with_another(weights) -> str:
    weights["zz.layer.9.weight"] = torch.zeros(2)
    return "zz.layer.9.weight: got a tensor beyond those"


def of_another_shape(weights) -> str:
    name = sorted(weights)[0]
    weights[name] = torch.zeros(*weights[name].shape, 2)
    return f"{name}: expected shape"


def encoder_gone(folder: Path) -> str:
    name = "vocabulary.json" if (folder / "vocabulary.json").exists() else "tokenizer.json"
    (folder / name).unlink()
    return f"expected {name}"


def of_another_family(folder: Path) -> str:
    family = json.loads((folder / "config.json").read_text())["model_type"]
    return configured(folder, ": expected", model_type="bert" if family == "electra" else "electra")


MISFITS = [
    ("a tensor missing", lambda folder: reweighted(folder, without_one)),
    ("a tensor more", lambda folder: reweighted(folder, with_another)),
    ("a tensor of another shape", lambda folder: reweighted(folder, of_another_shape)),
    ("not a number", lambda folder: reweighted(folder, with_nan)),
    (
        "three labels",
        lambda folder: configured(folder, "2 labels, got one of 3", id2label={i: f"{i}" for i in range(3)}),
    ),
    ("another architecture", of_another_family),
    ("weights cut short", lambda folder: cut(folder / "model.safetensors") and "can't be loaded"),
    (
        "weights missing",
        lambda folder: (folder / "model.safetensors").unlink() or "expected a model's model.safetensors",
    ),
    ("no tokenizer or vocabulary", encoder_gone),
]


@pytest.mark.parametrize("kind", ["electra", "mhs", "cascade", "cosinet", "compare_aggregate"])
def test_a_model_that_does_not_fit_its_configuration_is_refused_by_name(kind, root, tmp_path, capsys):
    whole = saved(kind, tmp_path / "whole")
    assert len(Ranker.load(whole).rank(QUESTIONS[0], LISTS[0])) == 4
    for name, damage in MISFITS:
        folder = tmp_path / name
        shutil.copytree(whole, folder)
        expected = damage(folder)
        with pytest.raises(ValueError, match=r"expected|can't be loaded|beyond") as refused:
            Ranker.load(folder)
        assert expected in str(refused.value), name
        assert "\n" not in str(refused.value)
        assert str(folder) in str(refused.value)
        assert main(["rank", str(folder), QUESTIONS[0], *LISTS[0]]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.count("\n") == 1, said.err


def test_more_or_fewer_layers_than_the_configuration_says_are_refused(root, tmp_path):
    cases = [("electra", {"num_hidden_layers": 3}), ("electra", {"num_hidden_layers": 5})]
    cases += [("mhs", {"heads": 3}), ("mhs", {"body": 2}), ("cascade", {"exits": [4]}), ("cosinet", {"rank_rnn": None})]
    for kind, fields in cases:
        folder = saved(kind, tmp_path / f"{kind} {fields}")
        configured(folder, "", **fields)
        with pytest.raises(ValueError, match="which the configuration asks for"):
            Ranker.load(folder)


def test_a_vocabulary_larger_than_the_models_is_refused(root, tmp_path):
    folder = saved("mhs", tmp_path / "mhs")
    PairEncoder(word_tokenizer([" ".join(map(str, range(60)))], 32), 32).save(folder)
    with pytest.raises(ValueError, match="expected a vocabulary of"):
        Ranker.load(folder)
    words = saved("cosinet", tmp_path / "cosinet")
    WordEncoder(["other"]).save(words)
    with pytest.raises(ValueError, match=f"expected a vocabulary of {len(WORDS)}, as its model has, got one of 1"):
        Ranker.load(words)
