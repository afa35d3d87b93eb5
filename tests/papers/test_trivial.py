"""Rankers that learn nothing: those that read the order of the candidates stand only where it means something."""

from as2lib.papers.row import best_trivial
from as2lib.study import Study
from as2lib.study.params import Pairs


def test_word_overlap_alone_stands_for_selqa():
    study = Study.load("selqa")
    lexical = [run.spec["scorer"] for run in study.plan.values() if run.kind == "lexical"]
    assert lexical == ["word_overlap"]


def test_one_part_without_an_order_decides_for_its_set():
    parts = {"train": "wikiqa:train", "dev": "wikiqa:dev"}
    assert best_trivial(Pairs(**parts, test=["wikiqa:test"])) == "overlap_then_rank"
    assert best_trivial(Pairs(**parts, test=["wikiqa:test", "selqa:test"])) == "word_overlap"
