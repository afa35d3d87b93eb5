"""A study over an encoder of the hub that nobody listed: planned without its files, fitted where the cache has them."""

import re
from pathlib import Path

from as2lib import Study
from as2lib.cli import main
from tests.first_hour.hub_like import public_model

NAME, CACHED = "nobody/listed-this", "nobody/listed-that"  # the commit of a name is asked for once in a process
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_a_study_is_planned_before_any_file_of_its_encoder_is_here_and_fitted_from_the_hubs_cache(
    folder, capsys, monkeypatch
):
    from huggingface_hub import constants

    public_model(folder / "encoder", labels=None)
    assert main(["init", "my.tsv", "--quick", "--encoder", "encoder"]) == 0
    path = Path("params/my.yaml")
    path.write_text(path.read_text().replace("name: encoder\n", f"name: {NAME}\n"))
    assert main(["plan", "my"]) == 0
    assert "base/pointwise/seed-0" in capsys.readouterr().out
    assert main(["fit", "my", "base/pointwise/seed-0"]) == 2
    assert NAME in capsys.readouterr().err.splitlines()[-1]

    path.write_text(path.read_text().replace(NAME, CACHED))
    cached = folder / "hub" / f"models--{CACHED.replace('/', '--')}"
    (cached / "snapshots").mkdir(parents=True)
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text(COMMIT)
    Path("encoder").rename(cached / "snapshots" / COMMIT)
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        monkeypatch.setattr(constants, name, str(folder / "hub"), raising=False)
    monkeypatch.setattr("transformers.utils.hub.TRANSFORMERS_CACHE", str(folder / "hub"), raising=False)
    assert main(["fit", "my", "base/pointwise/seed-0"]) == 0
    assert main(["plan", "my"]) == 0
    assert re.search(r"done +base/pointwise/seed-0", capsys.readouterr().out)
    identity = Study.load("my").store.ingredients("base/pointwise/seed-0")["weights"]
    assert identity == {"hub": CACHED, "commit": COMMIT}
