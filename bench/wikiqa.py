"""What comparisons with other libraries share: WikiQA and MiniLM-L6 with two classes, or why they are absent."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import torch
import transformers
from datasets import Dataset

from as2lib.data.encode import PairEncoder
from as2lib.data.pairs import load_pairs
from as2lib.data.pretrained import open_tokenizer
from as2lib.models import cross_encoder
from as2lib.paths import work_folder
from bench import NotRun

ENCODER = "sentence-transformers/all-MiniLM-L6-v2"
MAX_LENGTH = 128


def pairs(split: str) -> Dataset:
    """WikiQA's pairs of answered questions.  Raises NotRun where they are not here and can't be had."""
    try:
        return load_pairs("wikiqa", split)
    except (OSError, ValueError) as error:
        raise NotRun(str(error)) from None


@contextmanager
def classifier_folder() -> Iterator[Path]:
    """A folder with MiniLM-L6, a new classifier of two classes and its tokenizer, as every library loads it."""
    torch.manual_seed(0)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    try:
        model, tokenizer = cross_encoder.build(ENCODER), open_tokenizer(ENCODER)
    except (OSError, ValueError) as error:
        raise NotRun(f"{ENCODER} is not here: {str(error).splitlines()[0]}") from None
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        PairEncoder(tokenizer, MAX_LENGTH).save(folder)
        yield Path(folder)


def sentence_transformers() -> ModuleType:
    """The package.  Raises NotRun that says how to install it."""
    try:
        import sentence_transformers
    except ImportError:
        install = "pip install --no-deps -r bench/requirements.txt"
        raise NotRun(f"sentence-transformers is not installed: {install}") from None
    return sentence_transformers


def forget_tokens() -> None:
    """So that a second fit tokenizes again; the root is a benchmark's own (see `__main__`)."""
    shutil.rmtree(work_folder() / "encoded", ignore_errors=True)
