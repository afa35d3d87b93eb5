"""Losses: pure functions of tensors, which know no model and no data."""

from as2lib import lazy

_names = {
    ".distillation": "cross_entropy cross_entropy_per_head kd per_head",
    ".govern": "mean_ensemble govern_ca ca_mkd",  # `govern` is the module, in which `govern` is the loss
    ".listwise": "bce listwise_kl",
    ".multi_teacher": "kd_sum round_robin",
    ".pairwise": "margin_mse ranknet",
}
_rooms = "distillation govern listwise multi_teacher pairwise".split()
__getattr__, __dir__, __all__ = lazy.names(__name__, _names, _rooms)
