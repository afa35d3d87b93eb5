"""The named losses, how many teachers each learns from, and which balance labels and teachers.

Imports no other module of the library, so that a wrong name is refused at once.
"""

from difflib import get_close_matches

NONE, ONE, SEVERAL = "no teacher", "one teacher", "one teacher or more"
TEACHERS = {
    **dict.fromkeys(("ce", "ce_per_head", "bce", "listwise_kl", "ranknet"), NONE),
    "kd": ONE,
    **dict.fromkeys(("kd_sum", "kd_round_robin", "per_head", "margin_mse", "mean_ensemble", "govern"), SEVERAL),
    **dict.fromkeys(("govern_ca", "ca_mkd", "ca_mkd_without_ce", "teacher_a_head", "govern_a_head"), SEVERAL),
}
BALANCED = ("kd", "kd_sum", "kd_round_robin", "per_head")  # those with alpha, the labels' weight, and tau


def check(loss: str, teachers: int) -> None:
    """Raises ValueError where there is no loss of that name, or it can't learn from so many teachers."""
    if loss not in TEACHERS:
        near = "".join(f"; did you mean {name}?" for name in get_close_matches(loss, TEACHERS, n=1))
        raise ValueError(f"loss: expected one of {', '.join(TEACHERS)}, or package.module:function; got {loss!r}{near}")
    if not {NONE: teachers == 0, ONE: teachers == 1, SEVERAL: teachers >= 1}[TEACHERS[loss]]:
        raise ValueError(f"loss {loss}: expected {TEACHERS[loss]}, got {teachers}")
