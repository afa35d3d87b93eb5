"""What a user deploys: a model folder that ranks the candidates of a question."""

from pathlib import Path
from typing import NamedTuple

import numpy

from as2lib import serve


class Ranked(NamedTuple):
    """A candidate, its P(correct), and its place in the list that was given (from 0)."""

    candidate: str
    score: float
    position: int


class Ranker:
    """Ranks candidate sentences with any model of the study: `Ranker.load(folder).rank(question, candidates)`."""

    def __init__(self, model, encoder, precision: str = "float32"):
        self.model, self.encoder, self.precision = model, encoder, precision

    @classmethod
    def load(
        cls,
        folder: str | Path,
        max_length: int | None = None,
        precision: str = "float32",
        backend: str | None = None,
    ) -> "Ranker":
        """A ranker from a model folder (`save_pretrained` with its tokenizer), or from what `as2 export` wrote of one.

        max_length: tokens of question and candidate together; default: what the tokenizer was saved with.
        backend: "torch", "openvino" or "onnx"; default: an exported model's own, else the first of `serve.BACKENDS`
        that is installed and whose export lies in the folder under that name, else torch.  A model not yet exported
        is, in float32, where its backend is asked for.
        """
        if exported := serve.find(Path(folder), backend, max_length):
            from as2lib.serve.runtime import Served

            served = Served(exported, precision)
            return cls(served, None, served.precision)
        from as2lib import models
        from as2lib.data.encode import load_encoder

        return cls(models.load(folder).eval(), load_encoder(folder, max_length), precision)

    def rank(self, question: str, candidates: list[str]) -> list[Ranked]:
        """The candidates, best first; equal scores keep the order that was given.

        Raises ValueError where the question is empty, or there is no candidate, or one is empty.
        """
        if not question.strip() or not candidates or not all(text.strip() for text in candidates):
            raise ValueError(f"expected a question and one or more candidates, none empty; got {len(candidates)}")
        if self.encoder is None:  # an exported model, which brings its own
            ranking = self.model.rank(
                [(question, text) for text in candidates], numpy.zeros(len(candidates), dtype=int)
            )
            return [Ranked(candidates[i], float(ranking.scores[i]), int(i)) for i in ranking.order]
        from datasets import Dataset

        from as2lib.score import score

        columns = {"question_id": ["0"] * len(candidates), "question": [question] * len(candidates)}
        found = score(self.model, Dataset.from_dict(columns | {"answer": candidates}), self.encoder, self.precision)
        order = sorted(range(len(candidates)), key=lambda i: -found.score[i])
        return [Ranked(candidates[i], float(found.score[i]), i) for i in order]
