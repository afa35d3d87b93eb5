"""Makes the models of this library known to transformers: `AutoConfig` and `AutoModelForSequenceClassification`."""

from transformers import AutoConfig, AutoModelForSequenceClassification

from as2lib.models.cascade import CascadeTransformer
from as2lib.models.compare_aggregate import CompareAggregate
from as2lib.models.cosinet import Cosinet
from as2lib.models.mean import MeanForSequenceClassification
from as2lib.models.mhs import MHSForSequenceClassification

for model in (
    CascadeTransformer,
    CompareAggregate,
    Cosinet,
    MeanForSequenceClassification,
    MHSForSequenceClassification,
):
    AutoConfig.register(model.config_class.model_type, model.config_class, exist_ok=True)
    AutoModelForSequenceClassification.register(model.config_class, model, exist_ok=True)
