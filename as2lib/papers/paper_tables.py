"""The papers' own tables as a study may show them: beside a set of one's own stands nothing published."""

import re
from collections.abc import Sequence
from importlib.resources import files

import pandas

from as2lib.papers import row
from as2lib.study import Study

SET_AND_MEASURE = re.compile(r"(.+) ((?:P@1|MAP|MRR|nDCG@10)(?: ±)?)")  # of a column such as "WikiQA MAP ±"
PAPERS = {"cerberus": "CERBERUS", "cascade": "Cascade Transformer", "cosinet": "Cosinet", "govern": "GOVERN"}


def of_every_paper(study: Study, table: str) -> pandas.DataFrame:
    """The rows of a table that each paper has, "claims" or "fidelity", with the paper's name in `paper`."""
    tables = [published(study, paper, table).assign(paper=name) for paper, name in PAPERS.items()]
    return pandas.concat(tables, ignore_index=True)


def read(paper: str, table: str) -> pandas.DataFrame:
    """One of a paper's tables as its file has it: `read("cascade", "table1")`."""
    return pandas.read_csv(files("as2lib.papers") / paper / "published" / f"{table}.csv")


def printed(study: Study, paper: str, table: str) -> pandas.DataFrame:
    """`read`; no rows beside a set of one's own."""
    rows = read(paper, table)
    return rows.iloc[:0] if row.of_own_target(study) else rows


def published(study: Study, paper: str, table: str) -> pandas.DataFrame:
    """`printed`, index `run`: `published(study, "cerberus", "table2")["WikiQA"]`.

    Columns are (set, measure) where the file has "WikiQA MAP", else its own; metrics in percent.
    """
    rows = printed(study, paper, table)
    rows = rows.set_index("run") if "run" in rows else rows
    matches = [SET_AND_MEASURE.fullmatch(column) for column in rows]
    if any(matches):
        columns = [match.groups() if match else (name, "") for match, name in zip(matches, rows, strict=True)]
        rows.columns = pandas.MultiIndex.from_tuples(columns)
    return rows


def with_the_rest(table: pandas.DataFrame, paper: pandas.DataFrame, names: Sequence[str]) -> pandas.DataFrame:
    """A table of `results.table`, and below it the paper's rows beside which none of ours stands, as published.

    paper: as the table had it, indexed by our runs; names: what the paper calls each of its rows.
    """
    rest = paper[~paper.index.isin(table.index)].add_prefix("published ")
    rest = rest.set_axis([name for run, name in zip(paper.index, names, strict=True) if run not in table.index])
    return pandas.concat([table.astype({"seeds": "Int64"}), rest.filter(table.columns)]).rename_axis(table.index.name)
