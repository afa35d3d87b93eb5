"""From scores to a tidy frame, to a table, to comparisons; writes nothing, draws nothing, composes no sentence.

SCORES, the frame that every table starts from: one row a system, seed and question, with the columns
`system` (its run name), `seed`, `question_id`, and `AP`, `P@1`, `RR`, `nDCG@10` in [0, 1].
"""


def load(study, systems, split="test", questions="answered"):
    """SCORES of the runs of some systems; runs that are missing are made first.

    systems: of `System`.  Returns a DataFrame, systems in the order given.
    """


def published(paper, name):
    """One of a paper's tables by its paper and file: DataFrame indexed by `run`, columns (set, measure) where the file
    has "WikiQA MAP", else its own; metrics in percent.  `published("cerberus", "table2")["WikiQA"]` has P@1, MAP, MRR.
    """


def table(scores, systems, published=None, study=None):
    """One row a system, index its label: P@1, MAP, MRR in percent, mean over seeds, " ±" (sample standard deviation),
    `seeds`, `parameters`, and "published P@1", "published MAP", "published MRR" where there are any.
    """


def compare(scores, pairs, published=None, measure="MAP", resamples=10_000):
    """One row a pair of run names (a, b), difference a − b in points, over questions' means over seeds:

    `difference`, `low`, `high` (95 % interval over questions), `p` (paired permutation of the mean; exact where few
    questions differ), `Wilcoxon p`, `wins`, `losses`, `ties`, and with `published` the paper's difference `published`,
    `zero inside`, `published inside` (booleans) and `verdict` (metrics.significance.verdict).
    """


def pooled(scores_by_target, pairs):
    """`compare` over the questions of several targets, stratified by target."""
