"""The output side of a notebook: what it shows and records, and the files of it under `reports/<study>/`."""

import math
import platform
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas
from IPython.display import HTML, Markdown, display
from matplotlib import pyplot
from matplotlib.figure import Figure

from as2lib.papers import Study, pair_sets, row
from as2lib.paths import find_root
from as2lib.report import figures, references, tables
from as2lib.study import findings
from as2lib.study.pages import page_file, runs
from as2lib.study.store import read_json, write_json

PACKAGES = ("torch", "transformers", "datasets", "scipy", "pandas")


class Report:
    """The output side of one notebook: `Report(study, "03_distillation")`.

    Tables are saved as `tables/NN_table_<k>.csv` and `.tex`, figures as `figures/NN_figure_<k>.png` and `.svg`,
    recorded numbers as `metrics/NN.json`.  With `timing=True` the name ends in `.timing` before its suffix: measured
    times differ from run to run, all else must not.

    save: False, and nothing is written; True, to `reports/<study>/`, or a folder in its place.
    """

    def __init__(self, study: Study, notebook: str, save: bool | str = False):
        if notebook not in [page.name for page in study.notebooks]:
            raise ValueError(f"{notebook}: left out of {study.name}: no such section, no seeds, or no own pairs")
        self.study, self.notebook, self.number = study, notebook, notebook[:2]
        self.changed = study.variant != study.name  # parameters that are not those of the study's file
        self.folder = Path(save) if isinstance(save, str) else find_root() / "reports" / study.variant
        self.save = bool(save)
        self.labels = {name: system.label for name, system in study.systems.items()}
        self.metrics: dict[bool, dict[str, Any]] = {False: {}, True: {}}  # by `timing`
        self.intervals = 0  # of differences, in its tables
        if self.changed:
            differ = "**Parameters differ from those of the study's file.**"
            display(Markdown(f"{differ} What is saved of what follows goes to `reports/{study.variant}/`."))

    def show(
        self,
        item: pandas.DataFrame | Figure | None,
        number: str = "",
        caption: str = "",
        columns: Sequence[str] | None = None,
        digits: int = 1,
        record: bool | str | None = None,
        timing: bool = False,
        folded: bool = False,
        empty: str = "",
        beside: str = "",
    ) -> HTML | None:
        """Save a table (numbers as csv, what is shown as LaTeX) or a figure; return what Jupyter displays.

        number: such as "3.1", the notebook's and the item's; a table without one is an example, of texts for one, and
            not saved.
        columns: those on the page, in order, else `tables.usual_columns`; the csv has all.
        record: whether its numbers are kept, as `record` does; a text: the prefix of their names; None: where its rows
            are systems or pairs of these.
        timing: whether it holds measured times.  folded: whether the page shows its rows on a click only.
        empty: what stands in place of a table without rows, which is not published; nor are rows of systems not run.
        beside: the set of the published accuracy in it; default: that which stands beside the study's target.
        """
        if row.of_own_target(self.study) and number:  # an example's caption may be a text
            caption = re.sub(r"\s*Published.*", "", caption)  # a caption's last sentence
        if item is None:
            return None
        if isinstance(item, Figure):
            return self._drawn(item, number, caption, timing)
        if record or (record is None and number and _of_systems(item)):
            self.record(item, prefix=record if isinstance(record, str) else "", timing=timing)
        if number and {"difference", "low", "high"} <= set(item):
            self.intervals += int(item["low"].notna().sum())
        item = self._beside(item)
        item = item[~item["seeds"].eq(0).fillna(False)] if "seeds" in item else item
        if item.empty:
            return HTML(f"<p><i>{escape(empty)}</i></p>") if empty else None
        name = f"{self.number}_table_{number.partition('.')[2] or re.sub('[^a-z]+', '-', caption.lower())}"
        cells = tables.formatted(item, self.labels, columns, digits)
        cells = cells.rename(columns=self._of_which_set(item, beside or pair_sets.published_set(self.study)))
        parts = [f"<b>Table {number}.</b>"] * bool(number) + [escape(caption)]
        if number and self.save:
            file = self._folder("tables") / f"{name}{'.timing' * timing}.csv"
            item.to_csv(file, float_format="%.10g", lineterminator="\n")
            latex = tables.as_latex(cells, caption, name)
            file.with_suffix(".tex").write_text(latex, encoding="utf-8")
            parts.append(self._link(file))
        return HTML(tables.as_html(cells, " ".join(parts), name, number and f"Table {number}", folded))

    def labelled(self, table: pandas.DataFrame) -> pandas.DataFrame:
        """With labels in place of run names, as figures want it."""
        return table.set_axis([tables.name_of(key, self.labels) for key in table.index])

    def record(self, *frames: pandas.DataFrame, prefix: str = "", timing: bool = False, **numbers: Any) -> None:
        """Keep numbers under the names that findings, the overview and `params/expected` read.

        frames: tables keyed by a run's name (in the index, or a column `run`) or by a pair of names, of which every
            number is kept: {"mhs/3h1": {"MAP": 75.1}, "mhs/3h1 − base/electra": {"low": −0.4}}.
        prefix: before each of these names.  numbers: single ones, by name.
        """
        metrics = self.metrics[timing]
        for frame in map(self._beside, frames):
            keys = frame.get("run", frame.index)
            for key, (_, numbers_of_row) in zip(keys, frame.iterrows(), strict=True):
                name = prefix + (" − ".join(map(str, key)) if isinstance(key, tuple) else str(key))
                values = {column: _plain(value) for column, value in numbers_of_row.items() if column != "run"}
                values = {column: value for column, value in values.items() if isinstance(value, (int, float, str))}
                metrics[name] = metrics.get(name, {}) | values
        metrics |= {name: _plain(value) for name, value in numbers.items()}
        if self.save:
            write_json(self._folder("metrics") / f"{self.number}{'.timing' * timing}.json", metrics)

    def findings(self, figure: Figure | None = None, number: str = "", caption: str = "") -> HTML:
        """What a person found in this notebook's numbers, filled in; in red where its condition no longer holds.

        Below the first stands the figure that shows it.  In a notebook that was changed a
        finding may name a number that is gone: said here, and an error of `as2 check`.
        """
        lead, items = "No findings have been written for this study.", []
        try:
            if self.changed:
                lead = "What was found is of the study's own parameters; these differ."
            elif items := findings.of_notebook(self.study, self.notebook, self.metrics[False]):
                lead = _said(items[0])
                if figure and items[0].holds and items[0].title:
                    figures.set_title(figure, items[0].title)
        except ValueError as error:
            lead = f'<span class="broken">Not shown: {escape(str(error))}</span>'
        drawn = self.show(figure, number, caption)
        others = "".join(f"<li>{_said(item)}</li>" for item in items[1:])
        listed = f'<ul class="findings">{others}</ul>' if others else ""
        return HTML(f'<p class="lead">{lead}</p>{drawn.data if drawn else ""}{listed}')

    def timed(self, name: str, question: dict[str, Any], measure: Callable[[], Any]) -> tuple[Any, str]:
        """What `measure` returns, JSON values, and the machine where that was; kept in `scores/times/<name>.json`.

        question: what decides the measurement, as JSON values; it is measured anew where that file answers another.
        """
        path = find_root() / "reports" / self.study.variant / "scores" / "times" / f"{name}.json"
        content = read_json(path) if path.exists() else {}
        if content.get("question") != question:
            from as2lib.precision import machine  # with torch, as what is measured

            content = {"machine": machine(), "question": question, "times": measure()}
            if self.save and content["times"] is not None:
                write_json(path, content)
        return content["times"], content["machine"]

    def references(self, **places: str) -> Markdown:
        """Each entry of `docs/references.bib` by its key, and what of it is meant: `matsubara2022="section 3.1"`."""
        return Markdown("\n".join(f"- {references.cited(key, place)}" for key, place in places.items()))

    def provenance(self) -> HTML:
        """What made the models that the notebook reads, and this page, in one line."""
        by_chance = f"were no difference real, {0.05 * self.intervals:.1f} of them at most would exclude 0 by chance."
        note = f"Intervals of differences on this page: {self.intervals}; {by_chance}" * bool(self.intervals)
        [notebook] = [page for page in self.study.notebooks if page.name == self.notebook]
        models = [self.study.run(name) for name in sorted(runs(self.study, notebook))]
        machines = dict.fromkeys(run.facts["machine"] for run in models if run.facts.get("machine"))
        commits = dict.fromkeys(run.commit[:8] for run in models if run.commit)
        precisions = dict.fromkeys([self.study.precision, *(run.facts.get("precision") for run in models)])
        parts = [
            f"Fits as <code>params/{escape(self.study.name)}.yaml</code> says",
            f"precision {', of fits '.join(filter(None, precisions))} · threads a fit: {self.study.threads}",
            *[f"fits made on {escape(', '.join(machines))}"] * bool(machines),
            *[f"by the code and <code>requirements.lock</code> of commit {', '.join(commits)}"] * bool(commits),
            "<code>manifest.json</code> has each run's identity",
            f"page by Python {platform.python_version()}, " + ", ".join(f"{name} {version(name)}" for name in PACKAGES),
        ]
        return HTML(f'<p class="made">{note}</p><p class="made">{" · ".join(parts)}.</p>')

    def _drawn(self, figure: Figure, number: str, caption: str, timing: bool) -> HTML:
        """A figure that was saved as PNG and SVG, as the page has it."""
        if not self.changed:
            with suppress(ValueError):  # a number that is gone, which `as2 check` says
                for title in findings.of_notebook(self.study, self.notebook, self.metrics[False], number):
                    if title.holds:
                        figures.set_title(figure, title.title)
        name, link = f"{self.number}_figure_{number.partition('.')[2]}{'.timing' * timing}", ""
        svg = figures.as_svg(figure, f"figure-{number.replace('.', '-')}", f"Figure {number}", caption)
        if self.save:
            folder = self._folder("figures")
            link = self._link(folder / f"{name}.png")
            (folder / f"{name}.png").write_bytes(figures.as_png(figure))
            (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
        pyplot.close(figure)
        drawn = svg[svg.index("<svg") :]
        points = float(re.search(r'width="([\d.]+)pt"', drawn)[1])
        widths = f"min-width: {0.8 * points:.0f}px; max-width: {4 / 3 * points:.0f}px"  # of letters that can be read
        drawn = drawn.replace("<svg", f'<svg style="{widths}"', 1)
        return HTML(
            f'<figure class="as2-figure"><div class="scroll" tabindex="0" role="region" aria-label="Figure {number}">'
            f"{drawn}</div><figcaption><b>Figure {number}.</b> {escape(caption)} "
            f"{link}</figcaption></figure>"
        )

    def _beside(self, table: pandas.DataFrame) -> pandas.DataFrame:
        """Without the columns in which something published stands, where the study's target is of one's own."""
        own_target = row.of_own_target(self.study)
        return table.drop(columns=[name for name in table if own_target and tables.is_of_a_paper(name)])

    def _of_which_set(self, table: pandas.DataFrame, place: str) -> dict[str, str]:
        """Columns of published accuracy on a set → with its name, where that is not the study's target."""
        target = pair_sets.BESIDE.get(pair_sets.set_of(self.study.data.target.test[0]))
        if place == target or not _of_systems(table):
            return {}
        columns = [name for name in table if name == "published" or re.fullmatch(r"published (MAP|P@1|MRR)", str(name))]
        return {name: f"{name} ({place})" for name in columns}

    def _link(self, file: Path) -> str:
        page = page_file(self.study, self.notebook).parent
        place = (self.study.folder / file.relative_to(self.folder)).relative_to(page)
        return f'<span class="made"><a href="{place.as_posix()}">{file.suffix[1:]}</a></span>'

    def _folder(self, name: str) -> Path:
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def _of_systems(table: pandas.DataFrame) -> bool:
    """Whether a table's rows are systems by name, or pairs of them."""
    return set(table.index.names) <= {"run", "a", "b"}


def _said(finding: findings.Finding) -> str:
    text = f"<b>{escape(finding.lead)}</b>{escape(finding.text.removeprefix(finding.lead))}"
    return text if finding.holds else f'<span class="broken">{text} <b>(no longer follows from the numbers)</b></span>'


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: plain for name, item in value.items() if (plain := _plain(item)) is not None}
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value
