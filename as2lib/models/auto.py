"""Makes the models of this library known to transformers: `AutoConfig` and `AutoModelForSequenceClassification`."""

from as2lib.models import cascade, compare_aggregate, cosinet, mean, mhs  # each registers its model

__all__ = ["cascade", "compare_aggregate", "cosinet", "mean", "mhs"]
