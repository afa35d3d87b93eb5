"""What a model costs to run: parameters, operations and time; knows no data set and no metric of quality."""

import copy
import math
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from as2lib.metrics.pruning import Ratios, survivors

if TYPE_CHECKING:
    from torch import Tensor, nn

# b pairs in a batch · n tokens
DECIMALS = 12  # the last bits of a mean must not decide what dominates what
FAMILIES = ("albert", "bert", "electra", "mpnet", "roberta", "xlm-roberta")  # of `of_pair`
CLASSES = 2
SPECIAL_TOKENS = 3  # tokens that an encoder puts around a question and a candidate


class Lengths(NamedTuple):
    """Words: of a question, mean over questions, and of a candidate, mean over pairs.  A word counts as a token."""

    question: float
    candidate: float


class Work(NamedTuple):
    """Multiply-adds: of a candidate, and once for all candidates of a question."""

    candidate: float
    question: float = 0.0


def parameters(model: "nn.Module") -> int:
    """Trainable parameters; one that several layers share counts once."""
    return sum(weight.numel() for weight in model.parameters() if weight.requires_grad)


def forward_flops(model: "nn.Module", batch: "Mapping[str, Tensor]") -> int:
    """Multiply-adds of one forward pass over the batch: a multiplication with its addition is one.

    Matrix products and convolutions count, those of recurrent layers too; look-ups and normalisations are left out.
    batch: the forward's arguments, where the model is; on the device "meta" neither needs memory nor time.
    Source: torch.utils.flop_counter, halved, with attention and recurrent layers as plain matrix products (it
    undercounts fused attention, and does not see a fused LSTM).
    """
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    # The counter fails on a module whose input is a weight that is to learn.
    model = copy.deepcopy(model).eval().requires_grad_(False)
    with warnings.catch_warnings(), torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        warnings.simplefilter("ignore")  # of oneDNN's other switches, which are set with the first
        with torch.backends.mkldnn.flags(enabled=False), FlopCounterMode(display=False) as counter:
            model(**batch)
    return counter.get_total_flops() // 2


def operations(spec: Mapping[str, Any], facts: Mapping[str, Any], lengths: Lengths) -> Work:
    """What one model computes to rank texts of mean lengths, by formulas of its sizes; nan where nobody knows.

    spec: what a fit was asked for: `words`, or of an encoder `backbone`, `layers`, `reads`, `cascade`, `max_length` and
        `mhs`; a sentence encoder has `source`, "cosine:NAME".
    facts: the `encoder`'s sizes, where `spec` has none; `shape`, body and heads of a model taken as it is.
    """
    if "words" in spec:
        return _on_words(spec["words"], lengths)
    backbone, shape = spec.get("backbone", {}), spec.get("mhs") or facts.get("shape", {})
    config = dict(backbone.get("config") or facts.get("encoder", {}))
    if layers := spec.get("layers") or backbone.get("layers"):
        config["num_hidden_layers"] = layers
    if spec.get("source", "").startswith("cosine:"):  # two texts apart, each with a token before and behind it
        question, candidate = (of_pair(config, length + 2, every_token=True) for length in lengths)
        return Work(candidate, question)
    tokens = min(sum(lengths) + SPECIAL_TOKENS, spec.get("max_length", math.inf))
    every_token = "reads" in spec or "cascade" in spec
    return Work(of_pair(config, tokens, every_token, shape.get("body"), shape.get("heads", 1)))


def of_pair(
    config: Mapping[str, Any], tokens: float, every_token: bool = False, body: int | None = None, heads: int = 1
) -> float:
    """Multiply-adds of one pair of so many tokens, padding included, as `forward_flops` counts them on a model of
    `FAMILIES`; nan for another.

    A layer has 4 d² + 2 d f a token, and 2 n d a token in attention; for the first token alone 4 d² + 2 d f,
    and in attention 2 n d for each of a heads.  n tokens · d hidden units · f feed-forward units · a attention heads.

    config: the encoder's, with `model_type`.  every_token: whether the last layer computes every token, as the papers
    draw it, or the one that the classifier reads.  body, heads: of a multiple-heads student.
    """
    family, n = config.get("model_type"), round(tokens)
    if family not in FAMILIES:
        return math.nan
    d, f, layers = config["hidden_size"], config["intermediate_size"], config["num_hidden_layers"]
    body = layers - 1 if body is None else body  # a plain model: one head of one layer
    width = config.get("embedding_size", 128) if family in ("albert", "electra") else d
    layer = n * (4 * d**2 + 2 * d * f) + 2 * n**2 * d
    last = layer if every_token else 4 * d**2 + 2 * d * f + 2 * config["num_attention_heads"] * n * d
    projection = n * width * d if width != d or family == "albert" else 0
    head = (layers - body - 1) * layer + last + d**2 + d * CLASSES
    return projection + body * layer + heads * head


def _on_words(spec: Mapping[str, Any], lengths: Lengths) -> Work:
    """Of a model over static vectors, whose words all differ; Cosinet reads a question once for all its candidates.

    spec: a run's `words`.  A convolution computes a row of zeros for each side, too, once a question.
    """
    question, candidate = map(round, lengths)
    d, f = spec["vectors"]["dimensions"], spec.get("hidden", 300)
    if spec["type"] == "cosinet":
        convolution = spec.get("kernel", 5) * f  # a word and dimension, the relatedness among them, which a pair has
        pair, vector, rank_hidden = d * question * candidate + convolution * (question + candidate), f, f
        work = Work(convolution * d * candidate + pair, convolution * d * (question + 2))
    else:
        sizes = spec.get("windows", (1, 2, 3, 4, 5))
        convolution, vector, rank_hidden = sum(sizes) * f**2, len(sizes) * f, 2 * f
        pair = 3 * f * question * candidate + convolution * (question + candidate)
        work = Work(2 * d * f * candidate + pair, 2 * d * f * question + 2 * convolution)
    score = 2 * vector
    if cell := spec.get("rank_rnn"):
        directions, gates = (2 if spec.get("bidirectional") else 1), {"rnn": 1, "lstm": 4}[cell]
        hidden = rank_hidden // directions
        score = directions * gates * hidden * (2 * vector + hidden) + rank_hidden
    return Work(work.candidate + score, work.question)


def latency(models: "Sequence[nn.Module]", batch: "Mapping[str, Tensor]", repeats: int) -> dict[str, Any]:
    """Wall-clock time of one forward pass over a batch that is on the device already; nothing is tokenised.

    models: a list of one, or of an ensemble's members, which run one after another; they are left in evaluation mode.
    batch: tensors of shape (b, n), for each.
    repeats: timed passes, after one that is not.  The device is synchronised around each.
    Returns their mean in `seconds`, and where it was measured: `batch`, `tokens`, `device`, `threads` of the processor.
    Source: CERBERUS section 5.5, which times batches of 128 on one GPU.
    """
    import torch

    first, passes = next(iter(batch.values())), []

    def now() -> float:
        if first.device.type != "cpu":
            torch.accelerator.synchronize()
        return time.perf_counter()

    for model in models:
        model.eval()
    with torch.inference_mode():
        for _ in range(1 + repeats):
            start = now()
            for model in models:
                model(**batch)
            passes.append(now() - start)
    return {
        "seconds": math.fsum(passes[1:]) / repeats,
        "batch": first.shape[0],
        "tokens": first.shape[1],
        "device": torch.cuda.get_device_name(first.device) if first.is_cuda else first.device.type,
        "threads": torch.get_num_threads(),
    }


def front(cost: Sequence[float], values: numpy.ndarray) -> numpy.ndarray:
    """Which systems no other dominates, with as high a value at a lower cost or a higher one at the same cost.

    cost: (s,).  values: (s,), or (r, s): several cases of the same systems.  Both are rounded to `DECIMALS`.
    Returns bool in the shape of the values; equals at one cost all stand.
    """
    values = numpy.round(values, DECIMALS)
    cases = numpy.atleast_2d(values)
    _, group = numpy.unique(numpy.round(cost, DECIMALS), return_inverse=True)
    best = numpy.full((group.max() + 1, len(cases)), -numpy.inf)
    numpy.maximum.at(best, group, cases.T)
    cheaper = numpy.vstack([numpy.full((1, len(cases)), -numpy.inf), numpy.maximum.accumulate(best)[:-1]])
    return ((cases > cheaper[group].T) & (cases == best[group].T)).reshape(values.shape)


def cascade_cost(
    depth: int, exits: Sequence[int], alpha: Ratios, candidates: int | Sequence[int] | None = None
) -> float:
    """Layers that a cascade computes, over those of the monolithic model of `depth` layers, which is 1.0.

    cost = Σ_i (exits_i − exits_(i−1)) · s_i / depth,  s_i the share of the candidates that reaches exit i

    alpha: the drop ratio, a number or one for each exit but the last.  candidates: how many a question has, or those of
    several questions together; the shares are then exact, with floor(alpha · m) dropped of m, else s_i = Π (1 − alpha).
    Raises ValueError for exits that are not increasing or exceed the depth, and for an alpha outside [0, 1).
    Source: Cascade Transformer, section 4.3.2 and Table 3.  Independent models: `sequential_cost`.
    """
    return _cost(depth, exits, numpy.diff(exits, prepend=0), alpha, candidates)


def sequential_cost(
    depth: int, exits: Sequence[int], alpha: Ratios, candidates: int | Sequence[int] | None = None
) -> float:
    """The same for independent models of `exits` layers in sequence, each starting anew: Σ_i exits_i · s_i / depth."""
    return _cost(depth, exits, exits, alpha, candidates)


def _cost(depth, exits, layers, alpha, candidates) -> float:
    if not exits or sorted(set(exits)) != list(exits) or not 1 <= exits[0] <= exits[-1] <= depth:
        raise ValueError(f"exits: expected increasing layers, 1 to {depth}, got {list(exits)}")
    reached = [float(numpy.sum(left)) for left in survivors(len(exits), alpha, candidates)]
    return math.fsum(map(math.prod, zip(layers, reached, strict=True))) / (depth * reached[0])
