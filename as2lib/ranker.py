"""What a user deploys: any model here ranks candidates, in memory; knows no study and no run.

m pairs · n candidates of a question
"""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

import numpy
import pyarrow
import torch
from datasets import Dataset
from safetensors.torch import load_model
from torch import nn

from as2lib import models, plugins, score
from as2lib.data.columns import text_of
from as2lib.data.encode import PairEncoder, load_encoder, paired
from as2lib.data.pairs import parts_of_questions
from as2lib.data.pretrained import EXPORTED, folder_of, open_pretrained
from as2lib.data.words import WordEncoder
from as2lib.export import Exported, export
from as2lib.metrics.probability import sigmoid
from as2lib.metrics.pruning import Ratios
from as2lib.metrics.questions import Questions
from as2lib.models import COSINE, COUNTING, lexical
from as2lib.models.cross_encoder import for_ranking
from as2lib.models.embedding import SentenceEncoder
from as2lib.paths import lock, work_folder
from as2lib.precision import computed_in, computing_on

# Under what names a candidate's text and its id may stand, where it is a row.
TEXTS = ("text", "answer", "candidate", "sentence", "passage", "passage_text", "document", "contents")
IDS = ("id", "candidate_id", "docid", "pid", "passage_id")
LogOdds: TypeAlias = tuple[numpy.ndarray, dict[str, numpy.ndarray]]  # of pairs, and P(correct) by their parts
STATES_HELD = 1024  # pairs of a cascade whose hidden states are held at once
# A forked process has none of its parent's threads, for which torch would wait.
os.register_at_fork(after_in_child=partial(torch.set_num_threads, 1))


def only_orders(name: str | Path) -> bool:
    """Whether a name is that of a ranker without P(correct): one that counts words, or a cosine."""
    return name in COUNTING or str(name).startswith(COSINE)


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate and its score, which falls from the first of a ranking to the last.

    score: P(correct); else a count, or a cosine.  Candidates that a cascade dropped score below the others.
    log_odds: of the score, where that is a sigmoid: it still falls where probabilities round to 1.  None of a count.
    position: its place in the list that was given, from 0.
    parts: P(correct) of each head (`head_0`) or exit (`exit_4`: behind four layers) that read the candidate.
    id, row: as they were given, where the candidate was a row with fields.
    """

    candidate: str
    score: float
    log_odds: float | None
    position: int
    parts: Mapping[str, float]
    id: Any = None
    row: Mapping[str, Any] | None = None


class Ranker:
    """Ranks candidate sentences with any model: `Ranker.load(folder).rank(question, candidates)`.

    model, encoder: a model with what encodes its pairs; it is the ranker's from here on, in evaluation mode.
    device: "cpu", "cuda", "cuda:1", …; None: the GPU where there is one.
    precision: "float32", "bf16", or "auto": bf16 where the device computes it natively.
    drop: of a cascade: the share of candidates that each exit but the last drops; None: all exits score all.
    Equal candidates of a question have one score.  `is_probability` says whether scores are P(correct).
    Any number of threads may call a ranker at once, and processes that are forked later, each with one thread.
    The first call in which pairs are cut, at `encoder.max_length` tokens, says how many.
    Raises ValueError for a precision that is not known, a device that is not there, and drop without a cascade.
    """

    def __init__(
        self,
        model: nn.Module,
        encoder: PairEncoder | WordEncoder,
        device: str | None = None,
        precision: str = "float32",
        drop: Ratios | None = None,
    ):
        config = getattr(model, "config", None)
        self.device = computing_on(device)
        self._autocast = computed_in(precision, self.device)
        score.autocast(self.device, self._autocast)  # what can't be is refused now
        self.precision = getattr(model, "precision", self._autocast)  # of an exported model: what it was exported in
        self._exits = list(getattr(config, "exits", ()))
        self.is_probability = getattr(config, "probabilities", True)
        if drop is not None and not self._exits:
            raise ValueError(f"drop: expected a cascade to drop candidates, got {type(model).__name__}")
        for_ranking(model).eval().to(self.device)
        self.model, self.encoder, self.drop = model, paired(model, encoder), drop

    @classmethod
    def load(
        cls,
        name: str | Path,
        device: str | None = None,
        precision: str = "float32",
        backend: str | None = None,
        drop: Ratios | None = None,
        max_length: int | None = None,
        model: Callable[[], nn.Module] | str | None = None,
    ) -> "Ranker":
        """A ranker by its name: a folder of a model or an export, which is looked for first; a name on the hub; `bm25`,
        `word_overlap`, `reciprocal_rank` or `overlap_then_rank`; or `cosine:NAME`, of a sentence encoder.

        backend: "torch", or "onnx", for which a model is exported now and kept; None: "onnx" for an exported folder,
        "torch" for any other.
        max_length: tokens of question and candidate together; default: what the tokenizer was saved with, at most what
        the model has positions for.
        model: of a folder that holds a module of one's own: its class, or "package:Class".  It is called without
        arguments and gets the folder's weights; one with a `from_pretrained` is opened by that.
        Raises FileNotFoundError where there is no such model, ValueError as the class, and for more than two labels.
        """
        if only_orders(name) and not Path(name).is_dir():
            if any(option is not None for option in (backend, drop, max_length, model)):
                raise ValueError(f"{name}: expected a model's folder with backend, drop, max_length and model")
            return OrderingRanker(str(name), device)
        folder = folder_of(name)
        is_onnx = backend == "onnx" or (folder / EXPORTED).exists()
        computing = device in (None, "cpu") and precision in ("float32", "auto")
        if backend not in (None, "onnx" if is_onnx else "torch") or (is_onnx and not computing):
            raise ValueError(f"{name}: expected torch, or onnx on cpu in float32; got {backend}, {device}, {precision}")
        if is_onnx:
            if not (folder / EXPORTED).exists():
                files = sorted((path.name, path.stat().st_mtime_ns) for path in folder.iterdir())
                folder = work_folder() / "exports" / sha256(repr((folder, files)).encode()).hexdigest()[:24]
                with lock(folder.name, "the export"):
                    if not folder.exists():
                        export(name, folder)
            return cls(Exported(folder), load_encoder(folder, max_length), "cpu", drop=drop)
        model = plugins.load(model) if isinstance(model, str) else model
        if model is None:
            opened = models.load(name)  # by its name, which errors call it by, not by a folder of the hub's cache
        elif hasattr(model, "from_pretrained"):
            opened = open_pretrained(model, folder).float()
        else:
            load_model(opened := model(), str(folder / "model.safetensors"))
        return cls(opened, load_encoder(name, max_length), device, precision, drop)

    def rank(
        self,
        question: str | Iterable[str],
        candidates: Iterable[Any],
        top: int | None = None,
        *,
        batch_size: int | None = None,
        progress: bool = False,
    ) -> Any:
        """The candidates, best first, a list of `Ranked`; equal scores keep the order that was given.

        question: one, with its candidates; or several, with candidates for each, and the result is a list for each.
        candidates: any iterable of texts (a list, a Series, an array, a generator, an Arrow column) or of dicts, which
        come back with the ranking: the text is under one of `TEXTS`, an id under one of `IDS`.
        top: how many are returned; default: all.
        batch_size: pairs in a batch; default: as many as fit a number of tokens.  progress: whether a bar is shown.
        Raises ValueError, naming the candidate, for what is no text, for one text or a mapping in place of candidates,
        where lists do not fit, and for a model whose score is no number.
        """
        if isinstance(question, str):
            return self.rank([question], [candidates], top, batch_size=batch_size, progress=progress)[0]
        questions = [text_of(text, f"question {place}") for place, text in enumerate(_listed(question), 1)]
        lists = [_listed(rows) for rows in _listed(candidates)]
        if len(questions) != len(lists):
            raise ValueError(f"expected candidates for each of {len(questions)} questions, got {len(lists)}")
        number = numpy.repeat(numpy.arange(len(lists)), [*map(len, lists)])  # of each pair's question
        rows = [_candidate(row, f"candidate {place}") for rows in lists for place, row in enumerate(rows, 1)]
        answers = [text for text, _, _ in rows]
        odds, parts = self._of_texts([questions[i] for i in number], answers, number, batch_size, progress)
        rankings = []
        for start, size in zip(numpy.searchsorted(number, range(len(lists))).tolist(), map(len, lists), strict=True):
            order = start + numpy.argsort(-odds[start : start + size], kind="stable")
            scores = numpy.minimum.accumulate(self.probability(odds[order]))  # a sigmoid errs in its last digit
            ranking = []
            for i, p in zip(order[:top].tolist(), scores.tolist(), strict=False):
                text, name, row = rows[i]
                z = None if self.model is None else float(odds[i])
                probabilities = {name: float(values[i]) for name, values in parts.items() if values[i] == values[i]}
                ranking.append(Ranked(text, p, z, i - start, probabilities, name, row))
            rankings.append(ranking)
        return rankings

    def predict(
        self, pairs: Iterable[tuple[str, str]], *, batch_size: int | None = None, progress: bool = False
    ) -> numpy.ndarray:
        """The score of each pair (question, candidate), in order: (m,) float64.

        Consecutive pairs of one question are its list, for models that read lists.
        Raises ValueError, naming the pair, for what is no pair of texts: a mapping or a table has none.
        """
        rows = list(enumerate(_listed(pairs), 1))
        for place, pair in rows:
            if isinstance(pair, str | Mapping) or len(pair) != 2:
                raise ValueError(f"pair {place}: expected a question and a candidate, got {pair!r:.60}")
        questions, answers = ([text_of(pair[i], f"pair {place}") for place, pair in rows] for i in (0, 1))
        begins = [i == 0 or questions[i] != questions[i - 1] for i in range(len(questions))]
        return self.probability(self._of_texts(questions, answers, numpy.cumsum(begins), batch_size, progress)[0])

    def _of_texts(self, questions: list[str], answers: list[str], number: numpy.ndarray, *options: Any) -> LogOdds:
        """`log_odds` of pairs in memory.  number: (m,) of each one's question."""
        table = pyarrow.table({"question_id": number, "question": questions, "answer": answers})
        # Without a fingerprint, Dataset pickles the table to make one.
        return self.log_odds(Dataset(table, fingerprint="candidates"), *options) if answers else (numpy.empty(0), {})

    def log_odds(self, pairs: Dataset, batch_size: int | None = None, progress: bool = False) -> LogOdds:
        """Log odds of m pairs, (m,), and P(correct) of their parts by name, (m,) each, NaN where one was not read."""
        if self.drop is None:
            scores = score.score(self.model, pairs, self.encoder, self._autocast, batch_size, progress)
            return score.log_odds(scores.logits), score.parts_of(scores, self._exits)
        parts = [self._dropping(part, batch_size) for part in parts_of_questions(pairs, STATES_HELD)]
        odds, stages, scores = map(numpy.concatenate, zip(*parts, strict=True))
        exits = enumerate(self._exits)
        return odds, {f"exit_{layers}": numpy.where(stages == stage, scores, numpy.nan) for stage, layers in exits}

    def probability(self, odds: numpy.ndarray) -> numpy.ndarray:
        """The score of log odds, (m,): their sigmoid; of what has no classifier themselves."""
        return odds if self.model is None else sigmoid(odds)

    def _dropping(self, part: Mapping[str, list[Any]], batch_size: int | None) -> list[numpy.ndarray]:
        """Of some questions' candidates: log odds, the exit that read each last, and what it said, (n,) each."""
        device, number = torch.device(self.device), Questions.together(part["question_id"]).code
        first, same = score.distinct(zip(number, part["answer"], strict=True))  # equal ones count once
        items = self.encoder.items(*([part[name][i] for i in first] for name in ("question", "answer")), number[first])
        batch = {name: values.to(device) for name, values in self.encoder.collate(items).items()}
        tokens = batch_size * batch["attention_mask"].shape[1] if batch_size else score.BATCH_TOKENS[device.type]
        with torch.inference_mode(), score.autocast(device.type, self._autocast):
            rankings = self.model.rank(batch, self.drop, number[first], tokens)
        columns = ("log_odds", "stages", "stage_scores")
        return [torch.cat([getattr(ranking, name) for ranking in rankings]).numpy()[same] for name in columns]


class OrderingRanker(Ranker):
    """Ranks by a function of a pair table, which needs no classifier.  name: one of `COUNTING`, or `cosine:NAME`."""

    model = encoder = drop = None
    precision, is_probability = "float32", False

    def __init__(self, name: str, device: str | None = None):
        self.device = "cpu" if name in COUNTING else computing_on(device)
        self._order = getattr(lexical, name, None) or SentenceEncoder(name[len(COSINE) :], self.device).cosine

    def log_odds(self, pairs: Dataset, *_: Any) -> LogOdds:
        return self._order(pairs), {}


def _candidate(value: Any, where: str) -> tuple[str, Any, Mapping[str, Any] | None]:
    """The text of a candidate, a text or a row with one; its id, and the row, where it is one."""
    row = value if isinstance(value, Mapping) else {"text": value}
    text, name = (next((row[key] for key in keys if row.get(key) is not None), None) for keys in (TEXTS, IDS))
    if text is None:
        raise ValueError(f"{where}: expected a text, or a row with one under {', '.join(TEXTS)}; got {value!r:.60}")
    return text_of(text, where), name, row if row is value else None


def _listed(values: Any) -> list[Any]:
    """An iterable as a list, made once.  Raises ValueError for one text, and for a mapping."""
    if isinstance(values, str | bytes | Mapping):
        raise ValueError(f"expected a list, got {type(values).__name__} {values!r:.60}")
    if hasattr(values, "to_pylist"):  # Arrow
        return values.to_pylist()
    is_table = hasattr(values, "columns") and hasattr(values, "to_dict")  # of pandas
    return values.to_dict("records") if is_table else list(values)
