"""A sentence encoder as a ranker: the cosine of a question's and a candidate's embeddings; knows no loss."""

from pathlib import Path

import numpy
import pandas
from datasets import Dataset
from transformers import PreTrainedModel

from as2lib.data.pretrained import folder_of, read_config
from as2lib.data.sets import note


class SentenceEncoder:
    """What sentence-transformers, of the extra [study], makes of a folder or a hub name, in float32."""

    def __init__(self, name: str | Path, device: str = "cpu"):
        from sentence_transformers import SentenceTransformer

        folder = folder_of(name)
        read_config(folder)  # which runs no code of others
        self.encoder = SentenceTransformer(str(folder), device=device, model_kwargs={"dtype": "float32"})
        self.model: PreTrainedModel = self.encoder[0].auto_model

    def cosine(self, pairs: Dataset) -> numpy.ndarray:
        """Of each pair's question and answer, (m,) float64, −1 to 1; each text is read once."""
        rows, texts = pandas.factorize(numpy.array([*pairs["question"][:], *pairs["answer"][:]], dtype=object))
        texts, limit = texts.tolist(), self.encoder.max_seq_length
        lengths = map(len, self.encoder.tokenizer(texts)["input_ids"])
        if limit and (cut := sum(length > limit for length in lengths)):
            note(f"{cut:,} of {len(texts):,} texts are longer than {limit} tokens, and are cut there")
        vectors = self.encoder.encode(texts, normalize_embeddings=True, show_progress_bar=False).astype("float64")
        question, answer = rows.reshape(2, -1)
        return (vectors[question] * vectors[answer]).sum(axis=1)
