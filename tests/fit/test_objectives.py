from types import SimpleNamespace

import pytest
import torch

from as2lib.fit.objectives import LOSSES, named, objective
from as2lib.losses.distillation import kd
from as2lib.losses.govern import govern

GENERATOR = torch.Generator().manual_seed(0)
LOGITS, TEACHERS = torch.randn(6, 2, generator=GENERATOR), torch.randn(6, 3, 2, generator=GENERATOR)
HEADS = torch.randn(6, 3, 2, generator=GENERATOR)
LABELS, CANDIDATES = torch.tensor([0, 1, 1, 0, 0, 1]), torch.tensor([2, 4])


def targets(teachers=3):
    return {"labels": LABELS, "candidates": CANDIDATES, "teacher_logits": TEACHERS[:, :teachers]}


def total(loss, output=None, step=0, teachers=3, **settings):
    output = output or SimpleNamespace(logits=LOGITS, head_logits=HEADS)
    return objective(loss, **settings)(output, targets(teachers), step).total.item()


def test_list_and_pair_losses_read_each_question_by_itself():
    """Worked by hand: log odds z of two questions, of two and of four candidates."""
    z = LOGITS[:, 1] - LOGITS[:, 0]
    shares = [torch.log_softmax(z[:2], 0), torch.log_softmax(z[2:], 0)]
    listwise = (-shares[0][1] + (-shares[1][[0, 3]].mean() - torch.log(torch.tensor(2.0)))) / 2
    assert total("listwise_kl") == pytest.approx(listwise.item(), rel=1e-5)
    margins = torch.stack([z[1] - z[0], z[2] - z[3], z[2] - z[4], z[5] - z[3], z[5] - z[4]])
    assert total("ranknet") == pytest.approx(torch.nn.functional.softplus(-margins).mean().item(), rel=1e-5)
    t = (TEACHERS[:, :, 1] - TEACHERS[:, :, 0]).mean(dim=1)
    taught = torch.stack([t[1] - t[0], t[2] - t[3], t[2] - t[4], t[5] - t[3], t[5] - t[4]])
    assert total("margin_mse") == pytest.approx((margins - taught).square().mean().item(), rel=1e-5)


def test_votes_are_of_probabilities_and_a_head_votes_without_its_own_teacher():
    student, heads, teachers = (values.softmax(-1)[..., 1] for values in (LOGITS, HEADS, TEACHERS))
    assert total("mean_ensemble") == pytest.approx((student - teachers.mean(1)).square().mean().item(), rel=1e-5)
    own = [(heads[:, i] - teachers[:, i]).square().mean().item() for i in range(3)]
    assert total("teacher_a_head") == pytest.approx(sum(own), rel=1e-5)
    others = [govern(heads[:, i], teachers[:, [j for j in range(3) if j != i]]).total.item() for i in range(3)]
    assert total("govern_a_head") == pytest.approx(sum(others), rel=1e-5)
    entropy = torch.nn.functional.cross_entropy(LOGITS, LABELS).item()
    assert total("ca_mkd") == pytest.approx(entropy + total("ca_mkd_without_ce"), rel=1e-5)


def test_one_label_learns_what_two_do():
    one = SimpleNamespace(logits=LOGITS[:, 1:] - LOGITS[:, :1])
    for loss in ("ce", "bce", "listwise_kl", "ranknet", "margin_mse"):
        assert total(loss, one) == pytest.approx(total(loss), rel=1e-5)
    assert total("kd", one, teachers=1) == pytest.approx(total("kd", teachers=1), rel=1e-5)


@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_infinite_teacher_logits_give_finite_losses_and_gradients_and_teachers_get_none(loss):
    teachers = TEACHERS.clone()
    teachers[0, 0, 1] = teachers[3, 0, 0] = -torch.inf
    teachers.requires_grad_()
    logits, heads = LOGITS.clone().requires_grad_(), HEADS.clone().requires_grad_()
    kept = teachers[:, :1] if loss == "kd" else teachers
    found = objective(loss)(SimpleNamespace(logits=logits, head_logits=heads), {**targets(), "teacher_logits": kept}, 0)
    found.total.backward()
    assert torch.isfinite(found.total)
    for values in (logits, heads):
        assert values.grad is None or torch.isfinite(values.grad).all()
    assert teachers.grad is None


def test_distillation_with_all_weight_on_labels_is_cross_entropy_and_round_robin_follows_the_step():
    expected = torch.nn.functional.cross_entropy(LOGITS, LABELS).item()
    assert total("ce") == pytest.approx(expected)
    assert total("kd", teachers=1, alpha=1.0) == pytest.approx(expected)
    assert total("kd_round_robin", alpha=1.0) == pytest.approx(expected)
    assert total("kd_sum", alpha=1.0) == pytest.approx(3 * expected)
    for step in range(5):
        in_turn = kd(LOGITS, TEACHERS[:, step % 3], LABELS, 0.5, 3).total.item()
        assert total("kd_round_robin", step=step) == pytest.approx(in_turn)


def test_ones_own_loss_is_called_with_its_settings_and_may_return_a_scalar():
    def own(output, targets, scale):
        return scale * output.logits.square().mean()

    found = objective(own, settings={"scale": 3.0})(SimpleNamespace(logits=LOGITS), targets(), 0)
    assert found.total.item() == pytest.approx(3 * LOGITS.square().mean().item())
    assert named(own).unit == "pair"
