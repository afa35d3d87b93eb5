"""What a user deploys: any model here ranks candidates, in memory; writes nothing to disk, knows no study and no run.

m pairs · n candidates of a question · e members or stages
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy

from as2lib.data.columns import IDS, TEXTS
from as2lib.data.sets import hub_answers, shorten, whole_text
from as2lib.metrics.pruning import Ratios, drop_ratios, falling
from as2lib.paths import model_origin
from as2lib.precision import computed_in, computing_on

LEXICAL = ("word_overlap", "reciprocal_rank", "overlap_then_rank", "bm25")
PART = 16_384  # pairs of which a call holds the tokens at once
HELD = 1024  # pairs of a cascade whose hidden states are held at once


class Ranked(NamedTuple):
    """A candidate and its score, which falls from the first of a ranking to the last.

    candidate: its text.  position: its place in the list that was given, from 0.
    score: P(correct).  Of a model that learnt from whole lists, it orders the candidates of one question and is no
    probability; of a lexical ranker it is what that counts.  Candidates that a cascade or a sequence dropped have
    scores below those that it kept.
    log_odds: of the score, where that is a sigmoid: it still falls where probabilities round to 1.  None of a count.
    parts: what the score is made of: P(correct) of each head (`head_0`), exit (`exit_4`: behind four layers), member of
    an ensemble (`member_0`) or stage of a sequence (`stage_0`) that read the candidate.
    id: as it was given, None without one.  row: the candidate as it was given, where that was a row with fields.
    """

    candidate: str
    score: float
    log_odds: float | None
    position: int
    parts: Mapping[str, float]
    id: Any = None
    row: Mapping[str, Any] | None = None


class Scored(NamedTuple):
    """One question's candidates.  order: (n,) positions, best first.  scores: (n,), falling along `order`.

    log_odds: (n,) of the scores, where these are sigmoids, else the scores.
    parts: name → (n,), NaN where a candidate was not read.
    """

    order: numpy.ndarray
    scores: numpy.ndarray
    log_odds: numpy.ndarray
    parts: dict[str, numpy.ndarray]


# Called with questions, the candidates of each, none of them empty, and the options batch_size and progress
Scorer = Callable[..., list[Scored]]


class Ranker:
    """Ranks candidate sentences with any model: `Ranker.load(folder).rank(question, candidates)`.

    model, encoder: a model with what encodes its pairs; it is the ranker's from here on, in evaluation mode.
    device: "cpu", "cuda", "cuda:1", …; None: the GPU where there is one.
    precision: "float32", "bf16", or "auto": bf16 where the device computes it natively.
    alpha: of a cascade: the share of candidates that each exit but the last drops; None: all exits score all.
    Its `is_probability` says whether its scores are P(correct): those of a model that learnt from whole lists are not,
    nor are a lexical ranker's.
    Any number of threads may call a ranker at once: nothing that they share changes in a call.  A ranker pickles as the
    name of its model and these settings.
    Raises ValueError for a precision that is not known, a device that is not there, and alpha without a cascade.
    """

    def __init__(
        self,
        model: Any,
        encoder: Any,
        device: str | None = None,
        precision: str = "float32",
        alpha: Ratios | None = None,
    ):
        exported = not hasattr(model, "parameters")
        self.device = _processor(device) if exported else computing_on(device)
        self.precision = _checked_precision(precision, self.device, ("float32", "bf16"))
        if alpha is not None:
            exits = _exits(model)
            if not exits:
                raise ValueError(f"alpha: expected a cascade to drop candidates, got {type(model).__name__}")
            drop_ratios(alpha, len(exits))
        self.model, self.encoder, self.alpha = model, encoder, alpha
        self.is_probability, self._is_sigmoid = _scores_are_probabilities(model), True
        self._scorer: Scorer = self._by_model if alpha is None else self._by_cascade
        self._loaded: dict[str, Any] | None = None  # what `load` was called with
        self._autocast = "float32" if exported else self.precision  # an exported model computes as it was opened
        if exported:
            self.precision = model.precision
        else:
            from as2lib.models.cross_encoder import for_ranking, paired

            for_ranking(model).eval().to(self.device)
            self.encoder = paired(model, encoder)

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

        name: a folder is looked for first.  backend: "torch", "onnx" or "openvino"; None: what an exported folder was
        exported for, torch for any other.  With onnx or openvino a model computes on the processor, by its export in
        `<folder>/<backend>`, or by one that is made now and kept.
        max_length: tokens of question and candidate together; default: what the tokenizer was saved with, and at most
        what the model has positions for.
        Raises FileNotFoundError where there is no such folder and no such model to be had; ValueError as the class, for
        a model of more than two labels, and for an export that is out of date.
        """
        from as2lib import export

        folder_or_name = str(Path(name).resolve()) if Path(name).is_dir() else str(name)
        settings = {"name": folder_or_name, "device": device, "precision": precision, "backend": backend}
        settings |= {"alpha": alpha, "max_length": max_length}
        if is_lexical(name) and not Path(name).is_dir():
            _checked_precision(precision, "cpu", ("float32", "bf16"))
            if alpha is not None:
                raise ValueError(f"alpha: expected a cascade to drop candidates, got {name}")
            return cls._of(partial(_count_words, str(name).removeprefix("lexical/")), "float32", is_probability=False)
        require_at_hand(name)
        folder = export.find(name, backend)
        to = export.read_facts(folder)["to"] if folder else "torch"
        place = _processor(device) if folder else computing_on(device)
        precision = _checked_precision(precision, place, export.PRECISIONS[to])  # before anything is loaded
        from as2lib import models
        from as2lib.data.encode import load_encoder

        model = export.Exported(folder, precision) if folder else models.load(name)
        ranker = cls(model, load_encoder(folder or name, max_length), place, precision, alpha)
        ranker._loaded = settings
        return ranker

    @classmethod
    def ensemble(
        cls, rankers: Sequence["Ranker"], weights: Sequence[float] | None = None, intercept: float | None = None
    ) -> "Ranker":
        """The (weighted) mean of several rankers' scores; with an intercept, a logistic regression over them."""
        from as2lib.models import ensemble

        rankers = list(rankers)
        ensemble.mean([[0.0]] * len(rankers), None if intercept is not None else weights)  # raises for what misfits
        probable = intercept is not None or all(ranker.is_probability for ranker in rankers)
        return cls._of(partial(_average, rankers, weights, intercept), rankers[0].precision, probable)

    @classmethod
    def calibrated(cls, ranker: "Ranker", platt: Mapping[str, Any]) -> "Ranker":
        """A ranker whose scores only order candidates, with its shares of a list as probabilities.

        platt: `weights`, of one entry, and `intercept`, from `models.calibration.fit_platt`.
        """
        return cls._of(partial(_calibrate, ranker, platt), ranker.precision, True)

    @classmethod
    def sequence(cls, rankers: Sequence["Ranker"], alpha: Ratios) -> "Ranker":
        """Rankers in a row, the cheapest first: each but the last drops the share `alpha` of what reaches it."""
        rankers = list(rankers)
        drop_ratios(alpha, len(rankers))
        ranker = cls._of(partial(_score_in_stages, rankers, alpha), rankers[-1].precision, rankers[-1].is_probability)
        ranker._is_sigmoid = rankers[-1]._is_sigmoid
        return ranker

    @classmethod
    def _of(cls, scorer: Scorer, precision: str, is_probability: bool) -> "Ranker":
        """A ranker without a model of its own."""
        ranker = cls.__new__(cls)
        ranker.model = ranker.encoder = ranker.alpha = ranker._loaded = None
        ranker.device, ranker.precision, ranker.is_probability = "cpu", precision, is_probability
        ranker._scorer, ranker._is_sigmoid = scorer, is_probability
        return ranker

    def __reduce_ex__(self, protocol: int) -> Any:
        if self._loaded is None:
            return super().__reduce_ex__(protocol)
        return partial(type(self).load, **self._loaded), ()

    def rank(
        self,
        question: str | Iterable[str],
        candidates: Iterable[Any],
        top: int | None = None,
        *,
        ids: Iterable[Any] | None = None,
        batch_size: int | None = None,
        progress: bool = False,
    ) -> list[Ranked] | list[list[Ranked]]:
        """The candidates, best first; equal scores keep the order that was given.

        question: one, with its candidates; or several, with candidates for each of them: the result is then a list for
        each.  candidates: any iterable of texts (a list, a Series, an array, a generator, an Arrow column), or of rows
        with a text under one of `TEXTS` and perhaps an id under one of `IDS`, which come back with the ranking.
        top: how many are returned; default: all.  ids: of the candidates, in the same shape.
        batch_size: pairs in a batch; default: as many as fit a number of tokens.  progress: whether a bar is shown.
        An empty list gives an empty ranking; an empty text is scored as empty; half characters are replaced.
        Raises ValueError, naming the candidate, for what is no text, for one text or a set or a mapping in place of
        candidates, and where lists do not fit.
        """
        _check_count("top", top)
        _check_count("batch_size", batch_size)
        if isinstance(question, str):
            ids = None if ids is None else [ids]
            return self.rank([question], [candidates], top, ids=ids, batch_size=batch_size, progress=progress)[0]
        questions = _listed(question, "questions")
        lists = _listed(candidates, "candidates, a list for each question")
        names = [None] * len(lists) if ids is None else _listed(ids, "ids, a list for each question")
        if len(questions) != len(lists) or len(names) != len(lists):
            raise ValueError(f"expected candidates (and ids) for each of {len(questions)} questions, got {len(lists)}")
        question_texts = [_text(value, f"question {number}") for number, value in enumerate(questions, start=1)]
        rows = [_listed(values, "candidates") for values in lists]
        texts = [[text_of(row, place) for place, row in enumerate(values, start=1)] for values in rows]
        names = [ids_of(values, beside) for values, beside in zip(rows, names, strict=True)]
        scored = self._score(question_texts, texts, batch_size=batch_size, progress=progress)
        odds = self._is_sigmoid
        return [_ranking(*columns, top, odds) for columns in zip(texts, rows, names, scored, strict=True)]

    def predict(
        self, pairs: Iterable[tuple[str, str]], *, batch_size: int | None = None, progress: bool = False
    ) -> numpy.ndarray:
        """The score of each pair (question, candidate), in order: (m,) float64.

        Consecutive pairs of one question are its list, for models that read lists.
        Raises ValueError, naming the pair, for what is no pair of texts: a mapping or a table has none.
        """
        _check_count("batch_size", batch_size)
        questions: list[str] = []
        lists: list[list[str]] = []
        for number, pair in enumerate(_listed(pairs, "pairs"), start=1):
            if isinstance(pair, str | Mapping | AbstractSet) or not hasattr(pair, "__len__") or len(pair) != 2:
                raise ValueError(f"pair {number}: expected a question and a candidate, got {shorten(pair)}")
            question, candidate = (_text(text, f"pair {number}") for text in pair)
            if not questions or questions[-1] != question:
                questions.append(question)
                lists.append([])
            lists[-1].append(candidate)
        scored = self._score(questions, lists, batch_size=batch_size, progress=progress)
        return numpy.concatenate([question.scores for question in scored]) if scored else numpy.empty(0)

    def _score(self, questions: list[str], lists: list[list[str]], **options: Any) -> list[Scored]:
        """Of whatever lists, also empty ones."""
        nothing = numpy.empty(0)
        scored = [Scored(nothing.astype(int), nothing, nothing, {})] * len(lists)
        filled = [number for number, texts in enumerate(lists) if texts]
        if filled:
            results = self._scorer([questions[i] for i in filled], [lists[i] for i in filled], **options)
            for number, (order, scores, log_odds, parts) in zip(filled, results, strict=True):
                scored[number] = Scored(order, falling(scores, order), falling(log_odds, order), parts)
        return scored

    def _by_model(
        self, questions: list[str], lists: list[list[str]], batch_size: int | None, progress: bool
    ) -> list[Scored]:
        from as2lib.data.encode import whole_questions
        from as2lib.score import log_odds, outputs, probability

        question, answers = _flat(lists)
        scored = []
        for rows in whole_questions(question, PART):
            numbers = question[rows]
            items = self.encoder.items([questions[i] for i in numbers], [answers[i] for i in rows], numbers)
            values = outputs(
                self.model,
                self.encoder,
                lambda at, items=items: [items[i] for i in at],
                [item["length"] for item in items],
                [item["pairs"] for item in items] if "pairs" in items[0] else None,
                self._autocast,
                progress=progress,
                batch_size=batch_size,
            )
            parts = {}
            if "head_logits" in values:
                parts |= {f"head_{i}": column for i, column in enumerate(probability(values["head_logits"]).T)}
            if "exit_logits" in values:
                parts |= dict(zip(self._exit_names, probability(values["exit_logits"]).T, strict=True))
            odds = log_odds(values["logits"])
            for start, end in _runs(numbers):
                question_parts = {name: column[start:end] for name, column in parts.items()}
                scored.append(_by_log_odds(odds[start:end], question_parts))
        return scored

    def _by_cascade(
        self, questions: list[str], lists: list[list[str]], batch_size: int | None, progress: bool
    ) -> list[Scored]:
        import torch

        from as2lib.data.encode import whole_questions
        from as2lib.score import autocast, default_tokens

        question, answers = _flat(lists)
        scored = []
        device = torch.device(self.device)
        for rows in whole_questions(question, HELD):
            numbers = question[rows]
            items = self.encoder.items([questions[i] for i in numbers], [answers[i] for i in rows], numbers)
            batch = {name: values.to(device) for name, values in self.encoder.collate(items).items()}
            tokens = default_tokens(device)
            if batch_size is not None:
                tokens = batch_size * batch["attention_mask"].shape[1]
            with torch.inference_mode(), autocast(device.type, self._autocast):
                rankings = self.model.rank(batch, self.alpha, numbers, tokens)
            for ranking in rankings:
                stages, stage_scores = ranking.stages.numpy(), ranking.stage_scores.numpy()
                parts = {
                    name: numpy.where(stages == i, stage_scores, numpy.nan) for i, name in enumerate(self._exit_names)
                }
                columns = (ranking.order, ranking.scores, ranking.log_odds)
                scored.append(Scored(*(column.numpy() for column in columns), parts))
        return scored

    @property
    def _exit_names(self) -> list[str]:
        return [f"exit_{layers}" for layers in _exits(self.model)]


# ---------------------------------------------------------------- scorers without a model of their own


def _count_words(name: str, questions: list[str], lists: list[list[str]], **_: Any) -> list[Scored]:
    """By a function of `models.lexical`."""
    from datasets import Dataset

    from as2lib.models import lexical

    question, answers = _flat(lists)
    columns = {"question_id": [str(i) for i in question], "question": [questions[i] for i in question]}
    counts = getattr(lexical, name)(Dataset.from_dict({**columns, "answer": answers}))
    return [_by_count(counts[start:end]) for start, end in _runs(question)]


def _average(
    rankers: list[Ranker],
    weights: Sequence[float] | None,
    intercept: float | None,
    questions: list[str],
    lists: list[list[str]],
    **options: Any,
) -> list[Scored]:
    """By the (weighted) mean of the members' scores, or by a logistic regression over them."""
    from as2lib.models import ensemble

    scored = []
    for members in zip(*(ranker._score(questions, lists, **options) for ranker in rankers), strict=True):
        scores = [member.scores for member in members]
        parts = {f"member_{i}": column for i, column in enumerate(scores)}
        if intercept is not None:
            odds = ensemble.weigh({"weights": weights, "intercept": intercept}, scores)
            scored.append(_by_log_odds(odds, parts))
        elif all(ranker.is_probability for ranker in rankers):
            scored.append(_by_log_odds(_mean_log_odds([member.log_odds for member in members], weights), parts))
        else:
            scored.append(_by_count(ensemble.mean(scores, weights), parts))
    return scored


def _mean_log_odds(log_odds: Sequence[numpy.ndarray], weights: Sequence[float] | None) -> numpy.ndarray:
    """The log odds of the (weighted) mean of probabilities, from their log odds: exact where these round to 1."""
    share = numpy.ones(len(log_odds)) if weights is None else numpy.asarray(weights, dtype=float)
    with numpy.errstate(divide="ignore"):
        log_share = numpy.log(share / share.sum())[:, None]  # (e, 1)
    columns = numpy.stack(log_odds)  # (e, n)
    correct = numpy.logaddexp.reduce(log_share - numpy.logaddexp(0, -columns), axis=0)
    incorrect = numpy.logaddexp.reduce(log_share - numpy.logaddexp(0, columns), axis=0)
    return correct - incorrect


def _calibrate(
    ranker: Ranker, platt: Mapping[str, Any], questions: list[str], lists: list[list[str]], **options: Any
) -> list[Scored]:
    """By the calibrated log odds of a ranker's shares of each list."""
    from as2lib.models.calibration import calibrated_odds

    scored = ranker._score(questions, lists, **options)
    return [
        _by_log_odds(calibrated_odds(platt, each.log_odds, [0] * len(each.log_odds)), each.parts) for each in scored
    ]


def _score_in_stages(
    rankers: list[Ranker], alpha: Ratios, questions: list[str], lists: list[list[str]], **options: Any
) -> list[Scored]:
    """By rankers of which each but the last drops a share of the candidates, of all questions at once."""
    import torch

    from as2lib.models.sequential import rank_by_stages
    from as2lib.score import sigmoid

    question, answers = _flat(lists)
    columns = numpy.full((len(rankers), len(question)), numpy.nan)

    def stage_log_odds(stage: int, rows: "torch.Tensor") -> "torch.Tensor":
        left = rows.numpy()
        runs = [left[start:end] for start, end in _runs(question[left])]
        left_questions = [questions[question[run[0]]] for run in runs]
        scored = rankers[stage]._score(left_questions, [[answers[row] for row in run] for run in runs], **options)
        columns[stage, left] = numpy.concatenate([each.scores for each in scored])
        return torch.from_numpy(numpy.concatenate([each.log_odds for each in scored]))

    rankings = rank_by_stages(stage_log_odds, len(rankers), len(question), alpha, question)
    scored = []
    for (start, end), ranking in zip(_runs(question), rankings, strict=True):
        odds = ranking.scores.numpy()
        scores = sigmoid(odds) if rankers[-1]._is_sigmoid else odds
        parts = {f"stage_{stage}": column[start:end] for stage, column in enumerate(columns)}
        scored.append(Scored(ranking.order.numpy(), scores, odds, parts))
    return scored


def _by_log_odds(log_odds: numpy.ndarray, parts: dict[str, numpy.ndarray]) -> Scored:
    """Candidates by their log odds, with the sigmoid of these for scores."""
    from as2lib.score import sigmoid

    return Scored(numpy.argsort(-log_odds, kind="stable"), sigmoid(log_odds), log_odds, parts)


def _by_count(scores: numpy.ndarray, parts: dict[str, numpy.ndarray] | None = None) -> Scored:
    """Candidates by scores that are no probabilities."""
    return Scored(numpy.argsort(-scores, kind="stable"), scores, scores, parts or {})


def _flat(lists: list[list[str]]) -> tuple[numpy.ndarray, list[str]]:
    """All candidates one after the other: the number of each one's question, and the texts."""
    numbers = numpy.repeat(numpy.arange(len(lists)), [len(texts) for texts in lists])
    return numbers, [text for texts in lists for text in texts]


def _runs(question: numpy.ndarray) -> list[tuple[int, int]]:
    """Where the rows of each question begin and end."""
    starts = numpy.flatnonzero(numpy.diff(question, prepend=-1))
    return list(zip(starts.tolist(), [*starts[1:].tolist(), len(question)], strict=True))


# ---------------------------------------------------------------- what is given, and what is returned


def _listed(values: Any, what: str) -> list[Any]:
    """An iterable as a list, made once.  Raises ValueError for one text, a mapping, a set, or what is no iterable."""
    if isinstance(values, str | bytes | Mapping | AbstractSet) or not isinstance(values, Iterable):
        raise ValueError(f"{what}: expected a list, got {type(values).__name__} {shorten(values)}")
    if hasattr(values, "to_pylist"):  # Arrow
        return values.to_pylist()
    if hasattr(values, "columns") and hasattr(values, "to_dict"):  # a pandas table
        return values.to_dict("records")
    return list(values)


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{where}: expected a text, got {type(value).__name__} {shorten(value)}")
    return value if value.isascii() else whole_text(value)


def text_of(row: Any, place: int) -> str:
    """The text of a candidate, or of a row that has one.  Raises ValueError that names its place, from 1."""
    if not isinstance(row, Mapping):
        return _text(row, f"candidate {place}")
    name = next((name for name in TEXTS if name in row), None)
    if name is None:
        fields = ", ".join(map(str, row)) or "no field"
        raise ValueError(f"candidate {place}: expected a field {', '.join(TEXTS[:-1])} or {TEXTS[-1]}, got {fields}")
    return _text(row[name], f"candidate {place}, {name}")


def ids_of(rows: list[Any], ids: Any = None) -> list[Any]:
    """The ids of a question's candidates: those that are named beside them, else those of rows, None without one."""
    if ids is None:
        return [
            next((row[name] for name in IDS if name in row), None) if isinstance(row, Mapping) else None for row in rows
        ]
    ids = _listed(ids, "ids")
    if len(ids) != len(rows):
        raise ValueError(f"ids: expected one for each of {len(rows)} candidates, got {len(ids)}")
    return ids


def _ranking(
    texts: list[str], rows: list[Any], ids: list[Any], scored: Scored, top: int | None, with_odds: bool
) -> list[Ranked]:
    ranking = []
    for i in scored.order[:top].tolist():
        parts = {name: float(values[i]) for name, values in scored.parts.items() if values[i] == values[i]}
        row = rows[i] if isinstance(rows[i], Mapping) else None
        odds = float(scored.log_odds[i]) if with_odds else None
        ranking.append(Ranked(texts[i], float(scored.scores[i]), odds, i, parts, ids[i], row))
    return ranking


# ---------------------------------------------------------------- names and settings


def is_lexical(name: str | Path) -> bool:
    """Whether a name is that of a ranker that counts words; who asks looks for a folder of that name first."""
    return str(name).removeprefix("lexical/") in LEXICAL


def require_at_hand(name: str | Path) -> None:
    """Raises FileNotFoundError where a model is no folder here, is in no cache, and can't come from the hub."""
    from huggingface_hub import constants, try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    origin, revision = model_origin(name)
    if Path(origin).is_dir():
        return
    try:
        cached = try_to_load_from_cache(str(origin), "config.json", revision=revision)
    except HFValidationError:
        raise FileNotFoundError(f"{name}: no folder of that name, and no name that the hub could have") from None
    if not isinstance(cached, str) and (constants.HF_HUB_OFFLINE or not hub_answers()):
        away = "is not asked (HF_HUB_OFFLINE)" if constants.HF_HUB_OFFLINE else "does not answer"
        raise FileNotFoundError(f"{name}: no folder of that name, not in the hub's cache, and the hub {away}")


def _processor(device: str | None) -> str:
    """The device of an exported model.  Raises ValueError for another."""
    if device not in (None, "cpu"):
        raise ValueError(f"device: expected cpu, where exported models compute, got {device!r}")
    return "cpu"


def _checked_precision(precision: str, device: str, known: Sequence[str]) -> str:
    """A precision, "auto" resolved for the device.  Raises ValueError for one that is not known."""
    if precision == "auto" and "bf16" not in known:
        return "float32"
    resolved = computed_in(precision, device)
    if resolved not in known:
        raise ValueError(f"precision: expected one of {', '.join(known)} or auto, got {precision!r}")
    return resolved


def _scores_are_probabilities(model: Any) -> bool:
    """Whether a model learnt P(correct), as its configuration or its export says, and not from whole lists."""
    return getattr(getattr(model, "config", model), "probabilities", True)


def _exits(model: Any) -> list[int]:
    """The layers behind which a cascade has an exit; none of another model."""
    if hasattr(model, "exits") and hasattr(model, "rank"):
        return list(model.exits if isinstance(model.exits, list) else model.config.exits)
    return []


def _check_count(name: str, value: int | None) -> None:
    if value is not None and (value != int(value) or value < 1):
        raise ValueError(f"{name}: expected a whole number from 1, got {value}")
