"""Steps of `fit.train` against transformers' plain `Trainer`: WikiQA's training pairs, MiniLM-L6, 32 pairs a step."""

import tempfile
from functools import partial
from pathlib import Path

import transformers
from datasets import Dataset

from as2lib.data.encode import load_encoder
from as2lib.fit import train
from bench import wikiqa
from bench.measuring import DEVICE, PRECISIONS, compared, measure

TARGET = "no slower at equal precision"
STEPS, STEPS_ON_GPU, BATCH, ROUNDS = 4, 200, 32, 3
RATE = 5e-5


def main(steps: int | None = None, rounds: int = ROUNDS) -> dict[str, dict]:
    """Both start from the texts and end with the weights; neither looks at dev nor writes a checkpoint."""
    steps = steps or (STEPS if DEVICE == "cpu" else STEPS_ON_GPU)
    pairs = wikiqa.pairs("train")
    pairs = pairs.select(range(min(steps * BATCH, len(pairs))))
    with wikiqa.classifier_folder() as folder:
        functions = {
            (side, precision): partial(side, folder, pairs, steps, precision)
            for side in (theirs, ours)
            for precision in PRECISIONS
        }
        turns = measure(functions, rounds)
    rows = {}
    for precision in PRECISIONS:
        row = compared(turns[theirs, precision], turns[ours, precision])
        row |= {"precision": precision, "pairs a step": BATCH, "steps": steps}
        rows[precision] = row | {"against": f"transformers {transformers.__version__}, {precision}"}
    return rows


def ours(folder: Path, pairs: Dataset, steps: int, precision: str) -> None:
    wikiqa.forget_tokens()
    encoder = load_encoder(folder)
    train(
        pairs,
        folder,
        encoder=encoder,
        steps=steps,
        batch_size=BATCH,
        learning_rate=RATE,
        evaluate_every=steps,
        precision=precision,
        device=DEVICE,
    )


def theirs(folder: Path, pairs: Dataset, steps: int, precision: str) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder)

    def tokens(rows: dict) -> dict:
        settings = {"truncation": True, "max_length": wikiqa.MAX_LENGTH}
        return {**tokenizer(rows["question"], rows["answer"], **settings), "labels": rows["label"]}

    with tempfile.TemporaryDirectory() as scratch:
        arguments = transformers.TrainingArguments(
            output_dir=scratch,
            max_steps=steps,
            per_device_train_batch_size=BATCH,
            learning_rate=RATE,
            seed=0,
            use_cpu=DEVICE == "cpu",
            bf16=precision == "bf16",
            save_strategy="no",
            logging_strategy="no",
            report_to="none",
            disable_tqdm=True,
            dataloader_pin_memory=DEVICE == "cuda",
        )
        items = Dataset.from_dict(tokens(pairs[:]))
        collator = transformers.DataCollatorWithPadding(tokenizer)
        trainer = transformers.Trainer(model, arguments, collator, train_dataset=items)
        trainer.remove_callback(transformers.PrinterCallback)
        trainer.train()
