"""What a user deploys: any model here ranks candidates, in memory; writes nothing to disk, knows no study and no run.

m pairs · n candidates of a question
"""

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, overload

import numpy

from as2lib.data.columns import candidate_of, text_of
from as2lib.data.pretrained import EXPORTED, folder_of
from as2lib.metrics.probability import sigmoid
from as2lib.metrics.pruning import Ratios, drop_ratios, falling
from as2lib.metrics.questions import Questions
from as2lib.precision import computed_in, computing_on

if TYPE_CHECKING:  # a ranker that counts words needs neither torch nor transformers
    from torch import nn

    from as2lib.data.encode import PairEncoder
    from as2lib.data.words import WordEncoder

LEXICAL = ("word_overlap", "reciprocal_rank", "overlap_then_rank", "bm25")
TOKENS_HELD = 16_384  # pairs of which a call holds the tokens at once
STATES_HELD = 1024  # pairs of a cascade whose hidden states are held at once
Candidate: TypeAlias = str | Mapping[str, Any]


def is_lexical(name: str | Path) -> bool:
    """Whether a name is that of a ranker that counts words; who asks looks for a folder of that name first."""
    return str(name).removeprefix("lexical/") in LEXICAL


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate and its score, which falls from the first of a ranking to the last.

    score: P(correct); of a lexical ranker what it counts.  Candidates that a cascade dropped score below the others.
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


class Scored(NamedTuple):
    order: numpy.ndarray  # (n,) positions, best first
    scores: numpy.ndarray  # (n,), falling along `order`
    log_odds: numpy.ndarray | None  # (n,) of the scores, where these are sigmoids
    parts: dict[str, numpy.ndarray]  # name → (n,), NaN where a candidate was not read


class Ranker:
    """Ranks candidate sentences with any model: `Ranker.load(folder).rank(question, candidates)`.

    model, encoder: a model with what encodes its pairs; it is the ranker's from here on, in evaluation mode.
    device: "cpu", "cuda", "cuda:1", …; None: the GPU where there is one.
    precision: "float32", "bf16", or "auto": bf16 where the device computes it natively.
    alpha: of a cascade: the share of candidates that each exit but the last drops; None: all exits score all.
    Equal candidates of a question have one score.  `is_probability` says whether scores are P(correct).
    Any number of threads may call a ranker at once, but no process that was forked after it has ranked.
    Raises ValueError for a precision that is not known, a device that is not there, and alpha without a cascade.
    """

    def __init__(
        self,
        model: "nn.Module",
        encoder: "PairEncoder | WordEncoder",
        device: str | None = None,
        precision: str = "float32",
        alpha: Ratios | None = None,
    ):
        from as2lib.data.encode import paired
        from as2lib.models.cross_encoder import for_ranking
        from as2lib.score import check_precision

        config = getattr(model, "config", None)
        self.device = computing_on(device)
        self._autocast = computed_in(precision, self.device)
        check_precision(self._autocast, self.device)
        self.precision = getattr(model, "precision", self._autocast)  # of an exported model: what it was exported in
        self._exits = list(getattr(config, "exits", ()))
        self.is_probability = getattr(config, "probabilities", True)
        if alpha is not None:
            if not self._exits:
                raise ValueError(f"alpha: expected a cascade to drop candidates, got {type(model).__name__}")
            drop_ratios(alpha, len(self._exits))
        self._pairs_held = TOKENS_HELD if alpha is None else STATES_HELD
        for_ranking(model).eval().to(self.device)
        self.model, self.encoder, self.alpha = model, paired(model, encoder), alpha

    def __repr__(self) -> str:
        drops = "" if self.alpha is None else f", alpha={self.alpha}"
        return f"Ranker({type(self.model).__name__}, device={self.device!r}, precision={self.precision!r}{drops})"

    @classmethod
    def load(
        cls,
        name: str | Path,
        device: str | None = None,
        precision: str = "float32",
        backend: str | None = None,
        alpha: Ratios | None = None,
        max_length: int | None = None,
    ) -> "Ranker":
        """A ranker from a model's folder, its name on the hub, or `lexical/word_overlap`; or from what was exported.

        name: a folder is looked for first.  backend: "torch", or "onnx", for which a model is exported now and kept;
        None: "onnx" for an exported folder, "torch" for any other.
        max_length: tokens of question and candidate together; default: what the tokenizer was saved with, at most what
        the model has positions for.
        Raises FileNotFoundError where there is no such model, ValueError as the class, and for more than two labels.
        """
        if is_lexical(name) and not Path(name).is_dir():
            if alpha is not None:
                raise ValueError(f"alpha: expected a cascade to drop candidates, got {name}")
            return WordCounter(str(name).removeprefix("lexical/"))
        folder = folder_of(name)  # what is nowhere is refused before anything is loaded
        from as2lib import models
        from as2lib.data.encode import load_encoder

        is_exported = (folder / EXPORTED).exists()
        if backend not in (None, "onnx", *([] if is_exported else ["torch"])):
            raise ValueError(
                f'{name}: expected the backend "onnx", or "torch" of a model in its own format; got {backend!r}'
            )
        if is_exported or backend == "onnx":
            from as2lib.export import Exported, exported

            if device not in (None, "cpu") or precision not in ("float32", "auto"):
                got = f"got {device or 'cpu'} and {precision}"
                raise ValueError(
                    f"{name}: expected the device cpu and float32, in which exported models compute; {got}"
                )
            folder = exported(name)
            return cls(Exported(folder), load_encoder(folder, max_length), "cpu", alpha=alpha)
        device = computing_on(device)  # what can't be is refused before anything is loaded
        # By its name, which errors call it by, not by a folder of the hub's cache.
        return cls(models.load(name), load_encoder(name, max_length), device, precision, alpha)

    @overload
    def rank(
        self, question: str, candidates: Iterable[Candidate], top: int | None = None, **options: Any
    ) -> list[Ranked]: ...

    @overload
    def rank(
        self, question: Iterable[str], candidates: Iterable[Iterable[Candidate]], top: int | None = None, **options: Any
    ) -> list[list[Ranked]]: ...

    def rank(self, question, candidates, top=None, *, batch_size=None, progress=False):
        """The candidates, best first; equal scores keep the order that was given.

        question: one, with its candidates; or several, with candidates for each, and the result is a list for each.
        candidates: any iterable of texts (a list, a Series, an array, a generator, an Arrow column) or of dicts, which
        come back with the ranking: the text is under `text`, `answer`, `candidate`, `sentence`, `passage`,
        `passage_text`, `document` or `contents`, an id under `id`, `candidate_id`, `docid`, `pid` or `passage_id`.
        top: how many are returned; default: all.
        batch_size: pairs in a batch; default: as many as fit a number of tokens.  progress: whether a bar is shown.
        Raises ValueError, naming the candidate, for what is no text, for one text or a set or a mapping in place of
        candidates, where lists do not fit, and for a model whose score is no number.
        """
        if isinstance(question, str):
            return self.rank([question], [candidates], top, batch_size=batch_size, progress=progress)[0]
        require_count("top", top)
        require_count("batch_size", batch_size)
        questions = [text_of(text, f"question {place}") for place, text in enumerate(_listed(question, "questions"), 1)]
        lists = [_listed(rows, "candidates") for rows in _listed(candidates, "candidates, a list for each question")]
        if len(questions) != len(lists):
            raise ValueError(f"expected candidates for each of {len(questions)} questions, got {len(lists)}")
        read = [[candidate_of(row, f"candidate {place}") for place, row in enumerate(rows, 1)] for rows in lists]
        texts = [[candidate["answer"] for candidate in candidates] for candidates in read]
        scored = self._score(questions, texts, batch_size, progress)
        return [_ranking(*one, top) for one in zip(lists, read, scored, strict=True)]

    def _score(
        self, questions: list[str], lists: list[list[str]], batch_size: int | None, progress: bool
    ) -> list[Scored]:
        """What the model says of each question's list, in parts of whole questions."""
        number = numpy.repeat(numpy.arange(len(lists)), [len(texts) for texts in lists])  # of each pair's question
        answers = [text for texts in lists for text in texts]
        scored = [Scored(numpy.empty(0, int), numpy.empty(0), None, {})] * len(lists)
        for rows in Questions.together(number).parts(self._pairs_held):
            part = Questions.together(number[rows])
            texts = [questions[i] for i in number[rows]], [answers[i] for i in rows]
            results = self._score_part(*texts, part, batch_size, progress)
            for question, result in zip(number[rows[part.starts]], results, strict=True):
                odds = None if result.log_odds is None else falling(result.log_odds, result.order)
                scored[question] = result._replace(scores=falling(result.scores, result.order), log_odds=odds)
        return scored

    def _score_part(
        self, questions: list[str], answers: list[str], part: Questions, batch_size: int | None, progress: bool
    ) -> Iterator[Scored]:
        """Of m pairs of whole questions, (m,) texts each, what the model says of each question."""
        from as2lib.score import first_rows, log_odds, outputs, parts_of, require_numbers

        if self.alpha is not None:
            yield from self._score_by_exits(questions, answers, part, batch_size)
            return
        items = self.encoder.items(questions, answers, part.code)
        values = outputs(
            self.model,
            self.encoder,
            lambda rows: [items[row] for row in rows],
            [item["length"] for item in items],
            [item["pairs"] for item in items] if "pairs" in items[0] else None,
            self._autocast,
            progress=progress,
            batch_size=batch_size,
            first=first_rows(zip(questions, answers, strict=True)),
        )
        odds = log_odds(values["logits"])  # (m,)
        require_numbers(odds, questions, answers)
        parts = parts_of(values.get("head_logits"), values.get("exit_logits"), self._exits)
        for rows in part.slices():
            order = numpy.argsort(-odds[rows], kind="stable")
            yield Scored(order, sigmoid(odds[rows]), odds[rows], {name: column[rows] for name, column in parts.items()})

    def _score_by_exits(
        self, questions: list[str], answers: list[str], part: Questions, batch_size: int | None
    ) -> Iterator[Scored]:
        """Of a cascade that drops some candidates at its exits, of which equal ones count once."""
        import torch

        from as2lib.score import autocast, default_tokens, first_rows

        device = torch.device(self.device)
        unique, same = numpy.unique(first_rows(zip(part.code, answers, strict=True)), return_inverse=True)
        items = self.encoder.items([questions[i] for i in unique], [answers[i] for i in unique], part.code[unique])
        batch = {name: values.to(device) for name, values in self.encoder.collate(items).items()}
        tokens = default_tokens(device) if batch_size is None else batch_size * batch["attention_mask"].shape[1]
        with torch.inference_mode(), autocast(device.type, self._autocast):
            rankings = self.model.rank(batch, self.alpha, part.code[unique], tokens)
        for rows, ranking in zip(part.slices(), rankings, strict=True):
            candidate = same[rows] - same[rows.start]  # its number among the question's unique ones
            order = numpy.argsort(numpy.argsort(ranking.order.numpy())[candidate], kind="stable")
            stages, stage_scores = ranking.stages.numpy()[candidate], ranking.stage_scores.numpy()[candidate]
            parts = {}
            for stage, layers in enumerate(self._exits):
                parts[f"exit_{layers}"] = numpy.where(stages == stage, stage_scores, numpy.nan)
            yield Scored(order, ranking.scores.numpy()[candidate], ranking.log_odds.numpy()[candidate], parts)

    def predict(
        self, pairs: Iterable[tuple[str, str]], *, batch_size: int | None = None, progress: bool = False
    ) -> numpy.ndarray:
        """The score of each pair (question, candidate), in order: (m,) float64.

        Consecutive pairs of one question are its list, for models that read lists.
        Raises ValueError, naming the pair, for what is no pair of texts: a mapping or a table has none.
        """
        require_count("batch_size", batch_size)
        questions: list[str] = []
        lists: list[list[str]] = []
        for number, pair in enumerate(_listed(pairs, "pairs"), start=1):
            if isinstance(pair, str | Mapping | AbstractSet) or not hasattr(pair, "__len__") or len(pair) != 2:
                raise ValueError(f"pair {number}: expected a question and a candidate, got {pair!r:.60}")
            question, candidate = (text_of(text, f"pair {number}") for text in pair)
            if not questions or questions[-1] != question:
                questions.append(question)
                lists.append([])
            lists[-1].append(candidate)
        scored = self._score(questions, lists, batch_size, progress)
        return numpy.concatenate([numpy.empty(0), *(question.scores for question in scored)])


class WordCounter(Ranker):
    """Ranks by a function of `models.lexical`, which needs no model.  name: one of `LEXICAL`."""

    def __init__(self, name: str):
        self.name, self.model, self.encoder, self.alpha = name, None, None, None
        self._pairs_held = 1 << 62  # BM25 counts over all
        self.device, self.precision, self.is_probability = "cpu", "float32", False

    def __repr__(self) -> str:
        return f"Ranker.load('lexical/{self.name}')"

    def _score_part(self, questions: list[str], answers: list[str], part: Questions, *_: Any) -> Iterator[Scored]:
        import pyarrow
        from datasets import Dataset

        from as2lib.models import lexical

        ids = [str(number) for number in part.code]
        table = pyarrow.table({"question_id": ids, "question": questions, "answer": answers})
        pairs = Dataset(table, fingerprint="candidates")  # without one, Dataset pickles the table to make it
        counts = getattr(lexical, self.name)(pairs)
        for rows in part.slices():
            yield Scored(numpy.argsort(-counts[rows], kind="stable"), counts[rows], None, {})


def _listed(values: Any, what: str) -> list[Any]:
    """An iterable as a list, made once.  Raises ValueError for one text, a mapping, a set, or what is no iterable."""
    if isinstance(values, str | bytes | Mapping | AbstractSet) or not isinstance(values, Iterable):
        raise ValueError(f"{what}: expected a list, got {type(values).__name__} {values!r:.60}")
    if hasattr(values, "to_pylist"):  # Arrow
        return values.to_pylist()
    if hasattr(values, "columns") and hasattr(values, "to_dict"):  # a pandas table
        return values.to_dict("records")
    return list(values)


def require_count(name: str, number: int | None) -> None:
    """Raises ValueError where an argument that counts something is neither None nor a whole number above 0."""
    if number is not None and not (isinstance(number, Integral) and not isinstance(number, bool) and number > 0):
        raise ValueError(f"{name}: expected a whole number of 1 or more, got {number!r}")


def _ranking(rows: list[Candidate], candidates: list[dict[str, Any]], scored: Scored, top: int | None) -> list[Ranked]:
    ranking = []
    for i in scored.order[:top].tolist():
        parts = {name: float(values[i]) for name, values in scored.parts.items() if values[i] == values[i]}
        odds = None if scored.log_odds is None else float(scored.log_odds[i])
        row = rows[i] if isinstance(rows[i], Mapping) else None
        text, name = candidates[i]["answer"], candidates[i].get("candidate_id")
        ranking.append(Ranked(text, float(scored.scores[i]), odds, i, parts, name, row))
    return ranking
