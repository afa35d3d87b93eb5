import re

from tests.licences import ROOT, licence, locked


def test_every_locked_package_has_its_licence_listed_as_its_metadata_say():
    listed = re.findall(r"^\| ([\w.-]+) \| (\S+) \| (.+) \|$", (ROOT / "docs/licences.md").read_text(), re.MULTILINE)
    assert {name: version for name, version, _ in listed if name != "package"} == locked()
    for name, _, said in listed[1:] if listed[0][0] == "package" else listed:
        assert said == (licence(name) or said), name


def test_every_pin_has_the_hashes_of_its_files_and_names_no_place_to_fetch_them_from():
    for file in ("requirements.lock", "requirements.cuda.lock"):
        text = (ROOT / file).read_text(encoding="utf-8")
        pins = [block for block in re.split(r"\n(?=\w)", text) if "==" in block.split("\n")[0]]
        assert len(pins) == len(locked(file)) > 10
        assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", block) for block in pins)
        assert not re.search(r"https?:|--(extra-)?index-url|--find-links|--trusted-host", text)
