"""Distilling from three teachers' stored logits against running the teachers in the training loop."""

from pathlib import Path

import numpy
import torch
from datasets import Dataset
from transformers import set_seed

from as2lib import Study
from as2lib.data.encode import PairEncoder, word_tokenizer
from as2lib.data.pairs import load_pairs
from as2lib.models import cross_encoder
from as2lib.models.mhs import MHSConfig
from as2lib.papers.cerberus.true_sizes import encoder as true_size
from as2lib.precision import computed_in
from bench.making import fit
from bench.timing import DEVICE, ROUNDS, ratio

TARGET = "≥ 3 for k = 3 teachers; the logits are stored once, by a pass over the pairs, for any number of fits"
STEPS, BATCH, TEACHERS = 40, 32, 3  # of the sample study
TRUE_STEPS, TRUE_BATCH, TRUE_TOKENS = 1, 4, 128


class Teaching:
    """An encoder whose batches come with what teachers that run now say of them."""

    def __init__(self, encoder: PairEncoder, teachers: list[torch.nn.Module], precision: str):
        self.encode, self.inner, self.teachers, self.precision = encoder.encode, encoder, teachers, precision

    def collate(self, items: list[dict]) -> dict[str, torch.Tensor]:
        batch = self.inner.collate(items)
        device = next(self.teachers[0].parameters()).device
        inputs = {name: values.to(device) for name, values in batch.items() if name != "labels"}
        with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=self.precision == "bf16"):
            logits = torch.stack([teacher(**inputs).logits.float() for teacher in self.teachers], dim=1)  # (b, k, c)
        return {**batch, "teacher_logits": logits.cpu().clone()}


def main(rounds: int = ROUNDS) -> dict[str, dict]:
    pairs = load_pairs("sample", "train")
    native = computed_in("auto")
    return {
        "sample study, float32": sample_sizes(pairs, rounds),
        f"true size, {native}": true_sizes(rounds, native),
    }


def sample_sizes(pairs: Dataset, rounds: int) -> dict[str, object]:
    """The student with three heads and the three large teachers of the sample study."""
    study = Study.load(Path(__file__).parents[1] / "params" / "sample.yaml")
    encoder = PairEncoder(word_tokenizer([*pairs["question"], *pairs["answer"]], 48), 48)
    vocabulary = {"vocab_size": len(encoder.tokenizer), "pad_token_id": encoder.tokenizer.pad_token_id}
    torch.manual_seed(0)
    backbones = study.backbones.values()
    teachers = [cross_encoder.build({**backbone.large.config, **vocabulary}) for backbone in backbones]
    base = {**next(iter(backbones)).base.config, **vocabulary}
    student = MHSConfig(cross_encoder.AutoConfig.for_model(**base), base["num_hidden_layers"] - 1, TEACHERS)
    return compare(student, teachers, encoder, pairs, STEPS, BATCH, "float32", rounds)


def true_sizes(rounds: int, precision: str) -> dict[str, object]:
    """B11 3H1 on ELECTRA-base and an ELECTRA-large teacher, asked three times to spare memory; pairs of 128 tokens."""
    long = [{"question": "where " * 40, "answer": "there " * 100, "label": place % 2} for place in range(64)]
    encoder = PairEncoder(word_tokenizer([row["question"] + row["answer"] for row in long], TRUE_TOKENS), TRUE_TOKENS)
    pairs = Dataset.from_list([{"question_id": "q", **row} for row in long])
    with torch.device(DEVICE):
        teacher = cross_encoder.build(true_size("electra", "large"))
    student = MHSConfig(true_size("electra", "base"), 11, TEACHERS)
    return compare(student, [teacher] * TEACHERS, encoder, pairs, TRUE_STEPS, TRUE_BATCH, precision, rounds)


def compare(student, teachers, encoder, pairs, steps: int, batch_size: int, precision: str, rounds: int):
    """A row: the same fit, from stored logits and with the teachers in the loop."""
    teachers = [teacher.eval().to(DEVICE) for teacher in teachers]
    stored = [numpy.zeros((len(pairs), 2), dtype=numpy.float32) for _ in teachers]  # what they hold costs no time
    training = {"steps": steps, "batch_size": batch_size, "learning_rate": 1e-4}
    spec = {"loss": "per_head", "alpha": 0.5, "tau": 3, "training": training}
    set_seed(0)
    model = cross_encoder.build(student)

    teaching = Teaching(encoder, teachers, precision)
    found = ratio(
        lambda: fit(model, teaching, pairs, spec, precision),
        lambda: fit(model, encoder, pairs, spec, precision, logits=stored),
        rounds,
    )
    return {**found, "precision": precision, "steps": steps, "batch": batch_size, "k": len(teachers)}
