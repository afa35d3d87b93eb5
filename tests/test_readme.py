import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_file_that_the_readme_links_to_is_there():
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert not [link for link in links if not link.startswith("http") and not (ROOT / link).exists()]


def test_a_number_is_four_files_from_its_model():
    """Rows of the walk: each function that it names is defined in the file that it links to."""
    walk = README.split("## From a number to the model")[1].split("\n## ")[0]
    named = re.findall(r"`(\w+)` in \[[^]]+\]\(([^)]+)\)", walk)
    assert len(named) == 6
    assert not [(name, file) for name, file in named if f"def {name}(" not in (ROOT / file).read_text(encoding="utf-8")]
    rows = [row for row in walk.splitlines() if row.startswith("|") and "notebooks/" in row]
    assert [len(set(re.findall(r"\]\(([^)]+)\)", row))) for row in rows] == [4, 4, 4]
