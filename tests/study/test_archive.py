import shutil

import pytest

from as2lib import Study
from as2lib.paths import file_sha256
from as2lib.study import archive
from tests.papers.conftest import ROOT


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A clone with two published runs of a study, and what is not at hand."""
    monkeypatch.setenv("AS2_ROOT", str(tmp_path))
    monkeypatch.setattr("as2lib.hub.commit", lambda name, revision: None)
    (tmp_path / "params").mkdir()
    shutil.copy(ROOT / "params" / "selqa.yaml", tmp_path / "params")
    runs = tmp_path / "reports" / "selqa" / "runs"
    shutil.copytree(ROOT / "reports" / "selqa" / "runs", runs)
    return runs


def files(folder):
    return {str(path.relative_to(folder)): file_sha256(path) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("kind", ["folder", "url"])
def test_an_archive_holds_every_published_file_and_gives_it_back_byte_for_byte(clone, tmp_path, kind):
    before = {name: digest for name, digest in files(clone).items() if not name.startswith("times/")}
    path = archive.write(Study.load("selqa"))
    assert file_sha256(archive.write(Study.load("selqa"))) == file_sha256(path)
    shutil.rmtree(clone)
    shutil.unpack_archive(path, tmp_path / "unpacked")
    source = str(tmp_path / "unpacked") if kind == "folder" else path.as_uri()
    archive.fetch(Study.load("selqa"), source)
    assert files(clone) == before


@pytest.mark.parametrize("change", ["content", "path", "run", "index", "study", "file", "no tar"])
def test_other_bytes_are_refused_and_nothing_is_written(clone, tmp_path, change):
    shutil.unpack_archive(archive.write(Study.load("selqa")), tmp_path / "unpacked")
    folder = tmp_path / "unpacked" / "selqa"
    sums = folder / archive.SUMS
    run = next(folder.glob("mhs/3h1/*.parquet"))
    if change == "content":
        run.write_bytes(run.read_bytes()[:-1] + b"x")
    elif change == "study":  # an archive of another one
        card = folder / archive.CARD
        before = file_sha256(card)
        card.write_text(card.read_text().replace("study `selqa`", "study `wikiqa`"))
        sums.write_text(sums.read_text().replace(before, file_sha256(card)))
    elif change == "file":
        lines = [line for line in sums.read_text().splitlines(keepends=True) if not line.endswith(f"{run.name}\n")]
        sums.write_text("".join(lines))
        shutil.rmtree(clone)  # a clone without scores
    elif change == "no tar":
        shutil.rmtree(tmp_path / "unpacked")
        (tmp_path / "unpacked").write_text("no tar")
    elif change == "path":
        sums.write_text(sums.read_text().replace("  pairs/", "  ../pairs/"))
    else:  # whole in itself, and not what this clone has published
        digest, other = file_sha256(run), next(folder.glob("hydra/3h1/*.parquet"))
        run.write_bytes(other.read_bytes())
        for file in (sums, folder / archive.INDEX)[: 1 + (change == "index")]:
            file.write_text(file.read_text().replace(digest, file_sha256(other)))
        index = folder / archive.INDEX
        before = [line for line in sums.read_text().splitlines() if line.endswith("  index.json")]
        sums.write_text(sums.read_text().replace(before[0], f"{file_sha256(index)}  index.json"))
    published = files(clone)
    with pytest.raises(ValueError, match="unpacked"):
        archive.fetch(Study.load("selqa"), str(tmp_path / "unpacked"))
    assert files(clone) == published


def test_sources_and_index_of_a_clone_stay_what_they_are(clone, tmp_path):
    shutil.unpack_archive(archive.write(Study.load("selqa")), tmp_path / "unpacked")
    (clone / "sources.json").write_text("{}")
    run = next(clone.glob("mhs/3h1/*.parquet"))
    run.unlink()
    archive.fetch(Study.load("selqa"), str(tmp_path / "unpacked"))
    assert run.exists()
    assert (clone / "sources.json").read_text() == "{}"


def test_a_copy_of_a_study_keeps_what_is_published_of_equal_content(clone, tmp_path):
    text = (tmp_path / "params" / "selqa.yaml").read_text()
    (tmp_path / "params" / "copy.yaml").write_text(text.replace("study: selqa", "study: copy"))
    store, original = Study.load("copy").store, Study.load("selqa").store
    assert store.needed(list(store.plan)) == original.needed(list(original.plan))
    assert store.find("mhs/3h1/seed-0").scores().equals(original.find("mhs/3h1/seed-0").scores())
