"""Formulas of operations, against what models without weights compute."""

import json
import math
import subprocess
import sys
from itertools import product

import pytest
import torch

from as2lib import Study
from as2lib.metrics.cost import Lengths, forward_flops, operations, parameters
from as2lib.models import cross_encoder
from as2lib.models.cascade import CascadeTransformer
from as2lib.models.compare_aggregate import CompareAggregate
from as2lib.models.cosinet import Cosinet
from as2lib.models.mean import MeanForSequenceClassification
from as2lib.models.mhs import MHSForSequenceClassification
from as2lib.papers import across, frontier
from as2lib.papers.cerberus import true_sizes
from as2lib.papers.cosinet import rows as cosinet
from as2lib.paths import find_root

LENGTHS = Lengths(7, 10)
TOKENS = 7 + 10 + 3
SIZES = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 4, "num_attention_heads": 2}
ENCODERS = [{"model_type": family} for family in ("bert", "mpnet", "roberta")]
ENCODERS += [{"model_type": "electra", "embedding_size": width} for width in (16, 12)]
ALBERT = [{"model_type": "albert", "embedding_size": width} for width in (16, 8)]
SPECS = [{}, {"layers": 3}, {"reads": "mean"}, {"cascade": {"exits": [2, 4]}}]
SPECS += [{"mhs": {"body": 3, "heads": 3}}, {"reads": "mean", "mhs": {"body": 1, "heads": 2}}]
CASES = [*product(ENCODERS, SPECS), *product(ALBERT, SPECS[:2])]  # of ALBERT there is no student


@pytest.mark.parametrize(("encoder", "spec"), CASES)
def test_a_pair_costs_what_a_model_of_its_sizes_computes(encoder, spec):
    fields = {**SIZES, **encoder}
    model = cross_encoder.build(fields | {"num_hidden_layers": spec.get("layers", 4)})
    if "reads" in spec:
        model = MeanForSequenceClassification.from_classifier(model)
    if "mhs" in spec:
        model = MHSForSequenceClassification.from_backbone(model, **spec["mhs"])
    if "cascade" in spec:
        model = CascadeTransformer.from_backbone(model, **spec["cascade"])
    counted = forward_flops(model, {"input_ids": torch.zeros(1, TOKENS, dtype=torch.long)})
    work = operations({"backbone": {"config": fields}, **spec}, {}, LENGTHS)
    exact = not {"reads", "cascade"} & {*spec}  # their classifiers differ a little
    assert work == (pytest.approx(counted, rel=1e-9 if exact else 0.01), 0)


def test_what_a_family_without_a_formula_costs_nobody_knows():
    spec = {"backbone": {"config": {"model_type": "modernbert", **SIZES}}}
    assert math.isnan(operations(spec, {}, LENGTHS).candidate)


@pytest.mark.parametrize("rank", [{}, {"rank_rnn": "rnn"}, {"rank_rnn": "lstm", "bidirectional": True}])
@pytest.mark.parametrize("shape", [{"type": "cosinet", "kernel": 3}, {"type": "compare_aggregate", "windows": (1, 2)}])
def test_the_formula_of_a_model_over_words_is_what_it_computes(shape, rank):
    question, candidate, dimensions = 4, 10, 7
    fields = {"hidden": 6, **{name: value for name, value in shape.items() if name != "type"}, **rank}
    model = {"cosinet": Cosinet, "compare_aggregate": CompareAggregate}[shape["type"]]
    model = model(torch.zeros(question + 2 * candidate, dimensions), **fields)

    def count(candidates):  # of texts whose words all differ
        batch = {
            "question_words": torch.arange(question),
            "question_lengths": torch.tensor([question]),
            "candidate_words": torch.arange(question, question + candidates * candidate),
            "candidate_lengths": torch.full((candidates,), candidate),
            "candidates": torch.tensor([candidates]),
        }
        return forward_flops(model, batch)

    spec = {"words": {**shape, **fields, "vectors": {"dimensions": dimensions}}}
    assert operations(spec, {}, Lengths(question, candidate)) == (count(2) - count(1), 2 * count(1) - count(2))


@pytest.mark.parametrize(
    ("name", "overrides"), [("wikiqa", {}), ("selqa", {}), ("wikiqa", {"data.target.test": ["wikiqa:test=answered"]})]
)
def test_what_a_published_study_costs_and_which_answers_it_shares_are_known_without_texts(name, overrides, monkeypatch):
    def no_texts(*parts):
        raise FileNotFoundError(f"{parts} are not at hand")

    for module in ("as2lib.papers.frontier", "as2lib.papers.pair_sets"):
        monkeypatch.setattr(f"{module}.load_parts", no_texts)
    study = Study.load(name, overrides)
    assert frontier.lengths(study).candidate > frontier.lengths(study).question > 5
    assert len(across.shared_answers(study)) == {"wikiqa": 13, "selqa": 0}[name]


def test_sizes_csv_has_the_parameters_of_the_models():
    rows = [f"{role}/{family}" for role in ("base", "teacher") for family in true_sizes.VOCABULARY]
    rows += [f"mhs/3h{depth}" for depth in (1, 2, 4, 6)]
    sizes = {row: sum(map(parameters, true_sizes.build_members(row, "meta"))) for row in rows}
    for name, model in {"cosinet": Cosinet, "ca": CompareAggregate}.items():
        for shape, (_, _, rank_rnn, bidirectional) in cosinet.SHAPES.items():
            fields = {"rank_rnn": rank_rnn, "bidirectional": bidirectional}
            sizes[f"{name}/{shape}"] = parameters(model(torch.zeros(1, 300).numpy(), **fields))
    assert true_sizes.sizes() == sizes


def test_what_pages_import_and_what_their_costs_take_is_done_without_torch():
    of_models = ("03", "05", "09", "10")
    pages = [path for path in (find_root() / "notebooks").glob("[0-9]*.ipynb") if path.name[:2] not in of_models]
    cells = [cell for path in sorted(pages) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]
    lines = [line for cell in cells if cell["cell_type"] == "code" for line in "".join(cell["source"]).splitlines()]
    program = [
        "import sys",
        *dict.fromkeys(line for line in lines if line.startswith(("import ", "from "))),
        "study = Study.load('wikiqa')",
        "assert frontier.operations_of(study, ['mhs/3h1', 'base/pointwise'])['mhs/3h1'] > 0",
        "assert fidelity.numbers(study).size > 0",
        "assert 'torch' not in sys.modules",
    ]
    subprocess.run([sys.executable, "-c", "\n".join(program)], check=True)


def test_three_heads_of_one_layer_cost_next_to_nothing_and_an_ensemble_its_members(invented):
    table = true_sizes.counted(invented, "table5", 128)
    assert 1 < table.loc["mhs/3h1", "operations ×"] < 1.01
    assert table.loc["mhs/3h1", "of every token ×"] == pytest.approx(14 / 12, abs=0.001)
    assert table.loc["ensemble/students", "operations ×"] == pytest.approx(3)
    families = ("albert", "roberta", "electra")
    assert true_sizes.parameters("ensemble/bases") == sum(true_sizes.parameters(f"base/{f}") for f in families)


def test_the_rows_that_were_timed_are_shown_and_a_busy_turn_does_not_count():
    """Seconds of each row's turns, in batches of two pairs."""
    where = {"batch": 2, "tokens": 128, "device": "cpu", "threads": 1}
    seconds = {"base/electra": [1.0, 1.0, 3.0], "mhs/3h1": [1.4, 1.5, 4.5]}
    times = {row: {"seconds": turns, **where} for row, turns in seconds.items()}
    table = true_sizes.times_table(times)
    assert [*table.index] == [*seconds]
    assert table.loc["mhs/3h1", ["ms a pair", "time ×"]].tolist() == [725, pytest.approx(1.45)]
    assert table["operations ×"].notna().all()
