"""`per_question` against pytrec_eval on as many pairs as the ASNQ test set has (535,116 in 1,336 questions)."""

import numpy

from as2lib.metrics.ranking import per_question
from bench import NotRun
from bench.measuring import ROUNDS, ratio

TARGET = "≥ 0.5, equal to 1e-9 where no scores tie"
PAIRS, QUESTIONS = 535_116, 1_336


def main(pairs: int = PAIRS, questions: int = QUESTIONS, rounds: int = ROUNDS) -> dict[str, float | str]:
    try:
        import pytrec_eval
    except ImportError:
        raise NotRun("pytrec_eval is not installed: pip install pytrec-eval-terrier") from None
    generator = numpy.random.default_rng(0)
    question = numpy.sort(generator.integers(0, questions, pairs))
    label = (generator.random(pairs) < 0.008).astype(int)
    score = generator.permutation(pairs).astype(float)  # no ties: pytrec_eval has a rule of its own for them
    judgements: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for row, (q, y, s) in enumerate(zip(question.tolist(), label.tolist(), score.tolist(), strict=True)):
        judgements.setdefault(str(q), {})[str(row)] = y
        run.setdefault(str(q), {})[str(row)] = s
    evaluator = pytrec_eval.RelevanceEvaluator(judgements, {"map", "recip_rank", "P_1", "ndcg_cut_10"})
    theirs, ours = evaluator.evaluate(run), per_question(question, label, score)
    gap = max(abs(theirs[str(q)]["map"] - row["AP"]) for q, row in ours.iterrows())
    assert gap < 1e-9, f"AP differs by {gap}"
    row = ratio(lambda: evaluator.evaluate(run), lambda: per_question(question, label, score), rounds)
    return {**row, "precision": "float64", "pairs": pairs, "largest difference of AP": gap}
