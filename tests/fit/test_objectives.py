from types import SimpleNamespace

import pytest
import torch
from torch.nn.utils.rnn import pad_sequence

from as2lib.fit.objectives import LOSSES, named, objective
from as2lib.losses import distillation, govern, listwise, multi_teacher, pairwise

GENERATOR = torch.Generator().manual_seed(0)
LOGITS, TEACHERS = torch.randn(6, 2, generator=GENERATOR), torch.randn(6, 3, 2, generator=GENERATOR)
HEADS = torch.randn(6, 3, 2, generator=GENERATOR)
LABELS, CANDIDATES = torch.tensor([0, 1, 1, 0, 0, 1]), torch.tensor([2, 4])

Z, Z_TEACHERS = (logits[..., 1] - logits[..., 0] for logits in (LOGITS, TEACHERS))  # log odds, (6,) and (6, 3)
P, P_HEADS, P_TEACHERS = (logits.softmax(-1)[..., 1] for logits in (LOGITS, HEADS, TEACHERS))
COLUMNS = Z, LABELS, torch.ones(6, dtype=torch.bool), Z_TEACHERS.mean(dim=1)
*LISTS, TAUGHT = (pad_sequence(column.split([2, 4]), batch_first=True) for column in COLUMNS)
OTHERS = [[1, 2], [0, 2], [0, 1]]  # teachers but a head's own
EXPECTED = {  # in step 4, the turn of the second teacher
    "ce": distillation.cross_entropy(LOGITS, LABELS).total,
    "ce_per_head": distillation.cross_entropy_per_head(HEADS, LABELS).total,
    "bce": listwise.bce(Z, LABELS).total,
    "listwise_kl": listwise.listwise_kl(*LISTS).total,
    "ranknet": pairwise.ranknet(*LISTS).total,
    "kd": distillation.kd(LOGITS, TEACHERS[:, 0], LABELS, 0.7, 2.0).total,
    "kd_sum": multi_teacher.kd_sum(LOGITS, TEACHERS, LABELS, 0.7, 2.0).total,
    "kd_round_robin": distillation.kd(LOGITS, TEACHERS[:, 1], LABELS, 0.7, 2.0).total,
    "per_head": distillation.per_head(HEADS, TEACHERS, LABELS, 0.7, 2.0).total,
    "margin_mse": pairwise.margin_mse(LISTS[0], TAUGHT, *LISTS[1:]).total,
    "mean_ensemble": govern.mean_ensemble(P, P_TEACHERS).total,
    "govern": govern.govern(P, P_TEACHERS).total,
    "govern_ca": govern.govern_ca(P, P_TEACHERS, LABELS).total,
    "ca_mkd": govern.ca_mkd(P, P_TEACHERS, LABELS).soft + torch.nn.functional.binary_cross_entropy(P, LABELS.float()),
    "ca_mkd_without_ce": govern.ca_mkd(P, P_TEACHERS, LABELS).soft,
    "teacher_a_head": (P_HEADS - P_TEACHERS).square().mean(dim=0).sum(),
    "govern_a_head": sum(govern.govern(P_HEADS[:, i], P_TEACHERS[:, OTHERS[i]]).total for i in range(3)),
}
TARGETS = {"labels": LABELS, "candidates": CANDIDATES, "teacher_logits": TEACHERS}


def total(loss, output=None):
    output = output or SimpleNamespace(logits=LOGITS, head_logits=HEADS)
    return objective(loss, alpha=0.7, tau=2.0)(output, TARGETS, 4).total.item()


@pytest.mark.parametrize("loss", LOSSES)
def test_a_loss_reads_of_a_batch_what_its_name_says(loss):
    assert total(loss) == pytest.approx(EXPECTED[loss].item(), rel=1e-5)


def test_one_label_learns_what_two_do():
    one = SimpleNamespace(logits=LOGITS[:, 1:] - LOGITS[:, :1])
    for loss in ("ce", "bce", "listwise_kl", "ranknet", "margin_mse", "kd"):
        assert total(loss, one) == pytest.approx(total(loss), rel=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_infinite_teacher_logits_give_finite_losses_and_gradients_and_teachers_get_none(loss):
    teachers = TEACHERS.clone()
    teachers[0, 0, 1] = teachers[3, 0, 0] = -torch.inf
    teachers.requires_grad_()
    logits, heads = LOGITS.clone().requires_grad_(), HEADS.clone().requires_grad_()
    output = SimpleNamespace(logits=logits, head_logits=heads)
    result = objective(loss)(output, {**TARGETS, "teacher_logits": teachers}, 0)
    result.total.backward()
    assert torch.isfinite(result.total)
    for values in (logits, heads):
        assert values.grad is None or torch.isfinite(values.grad).all()
    assert teachers.grad is None


def test_ones_own_loss_is_called_with_its_settings_and_may_return_a_scalar():
    def own(output, targets, scale):
        return scale * output.logits.square().mean()

    result = objective(own, settings={"scale": 3.0})(SimpleNamespace(logits=LOGITS), TARGETS, 0)
    assert result.total.item() == pytest.approx(3 * LOGITS.square().mean().item())
    assert named(own).unit == "pair"
