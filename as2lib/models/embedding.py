"""A sentence encoder as a ranker: the cosine of a question's and a candidate's embeddings; knows no loss.

b texts · n tokens · d hidden units
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy
import torch
from datasets import Dataset
from torch import Tensor
from torch.nn.functional import normalize
from transformers import AutoModel, PreTrainedModel

from as2lib.data.encode import by_length
from as2lib.data.pretrained import folder_of, open_pretrained, open_tokenizer
from as2lib.models.mean import mean_of_tokens

POOLING = Path("1_Pooling") / "config.json"  # of sentence-transformers: what of the tokens is the embedding
BATCH_TOKENS = 4096


class SentenceEncoder:
    """An encoder whose embedding of a text is the mean of its tokens, or the first one where its folder says so."""

    def __init__(self, name: str | Path, device: str = "cpu"):
        self.model: PreTrainedModel = open_pretrained(AutoModel, name, dtype=torch.float32).eval().to(device)
        self.tokenizer, folder = open_tokenizer(name), folder_of(name)
        pooling = _read(folder / POOLING)
        self.first_token = bool(pooling.get("pooling_mode_cls_token"))
        others = [key for key, value in pooling.items() if key.startswith("pooling_mode_") and value is True]
        if set(others) - {"pooling_mode_cls_token", "pooling_mode_mean_tokens"}:
            raise ValueError(f"{name}: expected the mean of the tokens or the first one, got {', '.join(others)}")
        self.max_length = _read(folder / "sentence_bert_config.json").get("max_seq_length") or 512

    @torch.inference_mode()
    def embed(self, texts: Sequence[str]) -> Tensor:
        """Unit vectors, (b, d) float32, in the order of the texts."""
        encoded = self.tokenizer([*texts], truncation=True, max_length=self.max_length)
        vectors = torch.empty(len(texts), self.model.config.hidden_size)
        for rows in by_length(numpy.array([len(ids) for ids in encoded["input_ids"]]), BATCH_TOKENS):
            part = {name: [values[row] for row in rows] for name, values in encoded.items()}
            batch = self.tokenizer.pad(part, return_tensors="pt").to(self.model.device)
            hidden = self.model(**batch).last_hidden_state  # (b, n, d)
            pooled = hidden[:, 0] if self.first_token else mean_of_tokens(hidden, batch["attention_mask"])
            vectors[rows] = normalize(pooled).float().cpu()
        return vectors

    def cosine(self, pairs: Dataset) -> numpy.ndarray:
        """Of each pair's question and answer, (m,) float64, −1 to 1; each text is read once."""
        question, answer = pairs["question"][:], pairs["answer"][:]
        texts = [*dict.fromkeys([*question, *answer])]
        vectors, row = self.embed(texts), {text: i for i, text in enumerate(texts)}
        left, right = ([row[text] for text in column] for column in (question, answer))
        return (vectors[left].double() * vectors[right].double()).sum(dim=1).numpy()


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
