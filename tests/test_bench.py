"""A claim of speed runs in a small form, and the texts quote what was measured."""

import json
import re
from pathlib import Path

from as2lib.papers import frontier
from bench import cascade

ROOT = Path(__file__).parents[1]
SHAPE = {"model_type": "roberta", "vocab_size": 60, "hidden_size": 16, "num_hidden_layers": 4}
SHAPE |= {"num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 140}


def test_the_claim_that_needs_no_data_runs_in_a_small_form():
    row = cascade.main(candidates=6, rounds=1, shape=SHAPE, exits=(2, 4))["alpha 0.5, ordinary"]
    assert all(isinstance(value, int | float | str) for value in row.values())


def test_the_page_quotes_what_was_measured():
    """A quote is a table row with a cell `module`: row, and behind it the number and its key in that row."""
    claims = json.loads((ROOT / "reports" / "bench.json").read_text(encoding="utf-8"))
    text = (ROOT / "bench" / "README.md").read_text(encoding="utf-8")
    quotes = re.findall(r"\| `(\w+)`: (.+?) \| ([\d.]+) (.+?) \|", text)
    assert quotes
    for module, row, number, key in quotes:
        key = {"×": "ratio", "%": "saved %"}.get(key, key)
        assert round(claims[module]["rows"][row][key], len(number.partition(".")[2])) == float(number), (module, row)
    row = claims["predicting"]["rows"]["float32, 300 pairs"]  # 344.6 million operations each
    assert round(1000 * row["fast"] / row["pairs"] / 344.6, 4) == frontier.MS_A_MILLION
