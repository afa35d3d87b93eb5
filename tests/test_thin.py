"""The budget of lines in CONTRIBUTING.md: what a room has, it may lose, and not exceed."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROW = re.compile(r"^\| ([\w`/.,\- ]+) \| ([\d,]+) \|$", re.MULTILINE)
BUDGET = dict(ROW.findall((ROOT / "CONTRIBUTING.md").read_text().partition("## The budget")[2].partition("\n## ")[0]))


def lines(names: str) -> int:
    places = [ROOT / name for name in re.findall(r"`([^`]+)`", names)]
    files = [file for place in places for file in (place.rglob("*.py") if place.is_dir() else [place])]
    return sum(len(file.read_text().splitlines()) for file in files if file.exists())


@pytest.mark.parametrize("names", BUDGET)
def test_a_room_has_no_more_lines_than_its_budget(names):
    assert lines(names) <= int(BUDGET[names].replace(",", ""))


def test_every_file_of_the_library_stands_in_one_room():
    rooms = [name for names in BUDGET for name in re.findall(r"`([^`]+)`", names) if name.count("/") >= 1]
    inside = [ROOT / room for room in rooms if room not in ("as2lib/", "tests/")]
    for file in (ROOT / "as2lib").rglob("*.py"):
        assert sum(file.is_relative_to(room) for room in inside) == 1, file
