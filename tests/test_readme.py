import json
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


def test_the_counts_of_faults_are_those_that_were_counted():
    """Quoted as "after 30 kills of fits, 10 of 10 next fits", in the README and where security is promised."""
    counted = json.loads((ROOT / "reports" / "faults.json").read_text())["fits"]
    said = f"fter {counted['kills']} kills of fits, {counted['same bytes']} of {counted['ends']} next fits"
    for name in ("README.md", "SECURITY.md"):
        assert said in " ".join((ROOT / name).read_text(encoding="utf-8").split())
