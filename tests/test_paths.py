import pytest

from as2lib.paths import find_root, local_folder, model_origin, whole_file, work_folder


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
    monkeypatch.setenv("AS2_ROOT", str(tmp_path))
    assert find_root() == tmp_path


def test_an_encoder_is_a_folder_a_mapped_name_or_a_hub_name_at_a_revision(project):
    mine = project / "models" / "mine"
    mine.mkdir(parents=True)
    (project / "params" / "local.yaml").write_text("local: {org/encoder: models/mine, org/gone: nowhere}")
    for name in ("models/mine", mine, "org/encoder"):
        assert model_origin(name) == (mine, "main")
    assert model_origin("org/other@abc") == ("org/other", "abc")
    with pytest.raises(FileNotFoundError):
        model_origin("org/gone")
    for content in ("a: b", "local: {a: 1}", "local: {"):
        (project / "params" / "local.yaml").write_text(content)
        with pytest.raises(ValueError, match=r"^/\S+/params/local\.yaml: expected [^\n]*$"):
            local_folder("org/encoder")


def test_a_file_appears_whole_or_not_at_all_in_a_home_too(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ZeroDivisionError), whole_file("~/new/file") as temporary:
        temporary.write_text(f"half{1 / 0}")
    assert list((tmp_path / "new").iterdir()) == []
    with whole_file("~/new/file") as temporary:
        temporary.touch()
    assert (tmp_path / "new" / "file").exists()
