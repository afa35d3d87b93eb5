"""How models were fitted, of every study that comes along."""

import pytest

from as2lib import Study
from as2lib.report import fits


@pytest.mark.parametrize("name", ["sample", "wikiqa", "selqa", "wikiqa_base", "paper"])
def test_every_fit_of_a_study_stands_in_one_row_of_its_settings(name):
    study = Study.load(name)
    systems = [system for system in study.systems.values() if system.runs(study)]
    settings = fits.settings(study, systems)
    assert settings[["loss", "steps", "batch", "rate"]].notna().all(axis=None)
    assert not settings.duplicated().any()
    labels = {label for fit in settings.index for label in fit.split("; ")}
    assert labels >= {system.label for system in systems if system.kind == "fit"}


def test_a_head_reads_what_the_encoder_that_it_starts_from_reads():
    study = Study.load("wikiqa")
    settings = fits.settings(study, [study.systems["mhs/3h1"], study.systems["cosinet/point"]])
    reads = settings["classifier reads"].to_dict()
    assert reads["MHS"] == reads["MHS, step before"] == fits.MEAN
    assert settings["classifier reads"].isna()["Cosinet"]
