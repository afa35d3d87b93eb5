"""Metrics: pure functions of arrays, which know no model and no study."""

from as2lib import lazy

_names = {
    ".agreement": "rank_correlation",  # `agreement` is the module, in which `agreement` is the metric
    ".cost": "cascade_cost forward_flops latency parameters sequential_cost",
    ".ranking": "per_question summary",
    ".significance": "compare equality holm over_questions_and_seeds seeds_needed smallest_difference verdict",
    ".threshold": "gsb pair_pr_auc pair_recall_at_precision question_recall_at_precision",
}
_rooms = "agreement cost probability pruning questions ranking replay significance threshold".split()
__getattr__, __dir__, __all__ = lazy.names(__name__, _names, _rooms)
