import errno
import sys
from contextlib import suppress
from pathlib import Path
from unittest.mock import Mock

import pytest
from filelock import Timeout

from as2lib.paths import PACKAGE, find_root, local_folder, lock, model_origin, whole_file, work_folder
from as2lib.study import Study, findings


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.delenv("AS2_ROOT", raising=False)
    folder = tmp_path / "project"
    (folder / "params").mkdir(parents=True)
    (folder / "params" / "sample.yaml").touch()
    (folder / "notebooks" / "deep").mkdir(parents=True)
    monkeypatch.chdir(folder / "notebooks" / "deep")
    return folder


def test_the_root_is_the_nearest_folder_upwards_with_params(project, monkeypatch, tmp_path):
    assert find_root() == project
    assert work_folder() == project / "work"
    monkeypatch.chdir(tmp_path)
    assert find_root() == tmp_path
    monkeypatch.chdir(project)
    monkeypatch.setitem(sys.modules, "ipykernel", sys)  # in a notebook
    assert find_root() == project
    monkeypatch.chdir(tmp_path)
    assert find_root() == PACKAGE.parent
    monkeypatch.setenv("AS2_ROOT", str(tmp_path))
    assert find_root() == tmp_path


def test_an_encoder_is_a_folder_here_or_below_the_root_a_mapped_name_or_a_hub_name_at_a_revision(project):
    mine, here = project / "models" / "mine", Path("models/here").resolve()
    mine.mkdir(parents=True), here.mkdir(parents=True), (project / "models" / "here").mkdir()
    (project / "params" / "local.yaml").write_text("local: {org/encoder: models/mine, org/gone: nowhere}")
    for name in ("models/mine", mine, "org/encoder"):
        assert model_origin(name) == (mine, "main")
    assert [*map(model_origin, ("org/other@abc", "models/here"))] == [("org/other", "abc"), (here, "main")]
    with pytest.raises(FileNotFoundError):
        model_origin("org/gone")


READERS = {
    "local.yaml": lambda: local_folder("org/encoder"),
    "tiny.yaml": lambda: Study.load("tiny"),
    "no.yaml": lambda: Study.load("no"),
    "findings/sample.yaml": lambda: findings.findings_file(Study.load("sample")),
}


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("local.yaml", "a: b"),
        ("local.yaml", "local: {a: 1}"),
        ("local.yaml", "local: {"),
        ("tiny.yaml", "study: !!python/object/apply:os.getcwd []"),
        ("tiny.yaml", ""),
        ("no.yaml", "study:\n  name: no"),  # which YAML reads otherwise: it stands in quotes
        ("findings/sample.yaml", "[1]"),
    ],
)
def test_a_file_of_other_keys_is_refused_in_a_line_that_names_it(own_root, file, content):
    path = own_root / "params" / file
    path.parent.mkdir(parents=True)
    path.write_text(content)
    with pytest.raises(ValueError, match=rf"^[^\n ]*{file.split('/')[-1]}: [^\n]*expected [^\n]*$"):
        READERS[file]()


def test_a_file_and_a_folder_appear_whole_or_not_at_all(tmp_path):
    for write in (Path.touch, Path.mkdir):
        place = tmp_path / write.__name__ / "new"
        with suppress(ZeroDivisionError), whole_file(place) as temporary:
            write(temporary)
            raise ZeroDivisionError
        assert not place.exists()
        with whole_file(place) as temporary:
            write(temporary)
        assert [*place.parent.iterdir()] == [place]


def test_a_lock_is_held_once_and_a_disk_without_locks_is_refused_and_not_waited_for(own_root, monkeypatch):
    with lock("run"), pytest.raises(Timeout):
        lock("run", wait=False)
    lock("run", wait=False).release()
    monkeypatch.setattr("fcntl.flock", Mock(side_effect=OSError(errno.ENOLCK, "no locks")))
    with pytest.raises(OSError, match="no locks"):
        lock("run", "a run")
