"""Losses of one student, without heads, that learns from several teachers; knows tensors and no model."""

from torch import Tensor

from as2lib.losses.distillation import Distillation, per_head

# b pairs in a batch · k teachers · c = 2 classes


def kd_sum(student_logits: Tensor, teacher_logits: Tensor, labels: Tensor, alpha: float, tau: float) -> Distillation:
    """The sum of the distillation losses from every teacher; the hard loss counts once a teacher.

    total = sum over i of alpha * hard + (1 - alpha) * tau² * soft_i,  hard and soft_i as in `distillation.kd`

    student_logits: (b, c) floats, unnormalised.  teacher_logits: (b, k, c).  labels: (b,) integer class ids.
    Returns `total`, and `hard` and `soft` summed over teachers, each a scalar, mean over the batch.
    Source: KD_Sum of CERBERUS, section 5.2 and Table 3.  A teacher a batch: `round_robin`; a head each: `per_head`.
    """
    repeated = student_logits.unsqueeze(1).expand(-1, teacher_logits.shape[1], -1)  # (b, k, c)
    total, hard, soft = per_head(repeated, teacher_logits, labels, alpha, tau)
    return Distillation(total, hard.sum(), soft.sum())


def round_robin(step: int, teacher_logits: Tensor) -> Tensor:
    """The logits of the teacher whose turn it is: teacher `step` modulo k.

    step: counted from 0, one a batch.  teacher_logits: (b, k, c).  Returns (b, c), what `distillation.kd` takes.
    Source: KD_RR of CERBERUS, section 5.2 and Table 3.
    """
    return teacher_logits[:, step % teacher_logits.shape[1]]
