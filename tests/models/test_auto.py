import subprocess
import sys

from tests.encoders import classifier


def test_importing_the_room_costs_nothing_and_auto_makes_its_models_known(tmp_path):
    from as2lib.models.mhs import MHSForSequenceClassification

    MHSForSequenceClassification.from_backbone(classifier("bert"), 2, 2).save_pretrained(tmp_path)
    code = """
import sys
import as2lib.models
assert not {"torch", "transformers"} & set(sys.modules)
from transformers import AutoModelForSequenceClassification
import as2lib.models.auto
print(type(AutoModelForSequenceClassification.from_pretrained(sys.argv[1])).__name__)
"""
    result = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "MHSForSequenceClassification"
