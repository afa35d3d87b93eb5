"""A kind of scorer is one class: what it is identified by, built from and costs is asked of it alone."""

from dataclasses import dataclass

import pytest
import torch

from as2lib import Study
from as2lib.papers.row import fit
from as2lib.study.operations import Lengths
from as2lib.study.recipes import Encoder
from as2lib.study.run import Row


@dataclass(frozen=True, kw_only=True)
class Sharpened(Encoder):
    """A cross-encoder whose classifier starts with larger weights."""

    family = "sharpened"
    part = ("sharpened", "by")
    by: float

    def shaped(self, model, seed):
        with torch.no_grad():
            model.classifier.out_proj.weight.mul_(self.by)
        return model


def test_a_new_kind_is_planned_fitted_scored_and_costed_by_its_class_alone(root):
    study = Study.load("tiny")
    rows = [Row("mine/plain", "plain", "mine", fit(study, "student"), (0,))]
    for by in (2.0, 3.0):
        rows.append(Row(f"mine/{by}", f"by {by}", "mine", fit(study, "student", kind=Sharpened, by=by), (0,)))
    study.add(rows)
    plain, two, three = (study.plan[f"{row.run}/seed-0"] for row in rows)
    assert two.spec == plain.spec | {"sharpened": {"by": 2.0}}
    assert len({study.store.identity(run) for run in (plain, two, three)}) == 3
    assert study.run(two.name).scores()["score"].between(0, 1).all()
    words = Lengths(5.0, 9.0)
    assert two.recipe.work(study, two, words) == plain.recipe.work(study, plain, words)


@pytest.mark.parametrize("loss", ["ce", "ranknet", "margin_mse", "listwise_kl", "my.own:loss"])
def test_what_learns_lists_or_margins_only_orders_candidates(loss):
    unit = "question" if loss == "listwise_kl" else None
    recipe = Encoder(loss=loss, unit=unit, training={}, max_length=24, data={})
    assert recipe.orders_only is (loss in ("ranknet", "margin_mse", "listwise_kl"))
