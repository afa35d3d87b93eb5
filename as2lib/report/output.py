"""The output side of a notebook: what it shows, says and records, and the files of it under `reports/<study>/`."""

import json
import math
import platform
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas
from IPython.display import HTML, Markdown, display
from matplotlib import pyplot
from matplotlib.figure import Figure

from as2lib.escape import code, html, markdown
from as2lib.intact import Damaged, note, read_json
from as2lib.papers import notebooks
from as2lib.paths import find_root
from as2lib.precision import machine
from as2lib.report import figures, tables
from as2lib.report.check import write_manifest
from as2lib.runs.files import write_json
from as2lib.runs.wording import listed

if TYPE_CHECKING:
    from as2lib.study import Study

OPENED: dict[str, str] = {}  # study's folder → the notebook whose `Report` was made last, whose page this is
PACKAGES = ("torch", "transformers", "datasets", "scipy", "pandas")


class Report:
    """The output side of one notebook: `Report(study, "02_teachers")`.

    Tables are saved as `tables/NN_table_<k>.csv` and `.tex`, figures as `figures/NN_figure_<k>.png` and `.svg`,
    recorded numbers as `metrics/NN.json`.  With `timing=True` the name ends in `.timing` before its suffix
    (`NN_table_<k>.timing.csv`, `NN.timing.json`): measured times differ from run to run, all else must not.
    """

    def __init__(self, study: "Study", notebook: str):
        self.study, self.notebook, self.number = study, notebook, notebook[:2]
        self.folder = find_root() / "reports" / study.variant
        OPENED[study.variant] = notebook
        self.metrics: dict[bool, dict[str, Any]] = {False: {}, True: {}}  # by `timing`
        self.claims: dict[bool, list[str]] = {False: [], True: []}
        if changed := changes(study):
            display(Markdown(f"**Not as its file says:** {changed}. What follows goes to `reports/{study.variant}/`."))

    def table(
        self,
        table: pandas.DataFrame,
        number: int,
        title: str,
        caption: str,
        digits: int = 1,
        keep: bool = True,
        timing: bool = False,
        first: int | None = None,
        runs: Mapping[str, str | Sequence[str]] | None = None,
        leads_to: Mapping[str, str] | None = None,
    ) -> HTML:
        """Show a table as `tables.formatted` writes it, and save its numbers as csv and what is shown as LaTeX.

        keep: False for a listing, or an example that shows texts of a corpus, which no file should hold.
        timing: whether it holds measured times.  first: show, here and in LaTeX, only so many rows; the csv has all.
        runs: row → the prefix, or prefixes, of the runs behind it: the page says which command makes them; rows that
        the table has not are left out.
        leads_to: what is shown in the first column → the page that it leads to.
        """
        name = f"{self.number}_table_{number}"
        shown = tables.formatted(table[:first], digits)
        left, links = tables.texts(table, shown), []
        if keep:
            folder = self._folder("tables")
            file = name + ".timing" * timing
            tables.for_spreadsheets(table).to_csv(folder / f"{file}.csv", float_format="%.10g", lineterminator="\n")
            latex = tables.as_latex(shown, left, f"{title}. {caption}", name)
            (folder / f"{file}.tex").write_text(latex, encoding="utf-8")
            links = [f'<a href="tables/{file}.{kind}">{kind}</a>' for kind in ("csv", "tex")]
        links.append(f"made by <code>as2 notebook {self.study.study} {self.notebook}</code>")
        of_rows = ""
        if runs is not None:
            rows = {row: runs[row] for row in shown.iloc[:, 0] if row in runs}
            rows = {row: [found] if isinstance(found, str) else found for row, found in rows.items()}
            names = {
                row: [name for one in found for name in self.study.store.below(one)] for row, found in rows.items()
            }
            of_rows = tables.commands(names, self.study.study)
        return HTML(
            f'<div class="as2-table"><p><b>Table {self.number}.{number}: {html(title)}.</b> {html(caption)}</p>'
            f'<div class="scroll" tabindex="0" role="region" aria-label="Table {self.number}.{number}">'
            f"{tables.as_html(shown, left, name, leads_to or {})}</div>"
            f'<p class="made">{" · ".join(links)}</p>{of_rows}</div>'
        )

    def figure(self, figure: Figure, number: int, title: str, caption: str, timing: bool = False) -> HTML:
        """Save a figure and show it.  timing: whether it shows measured times."""
        name = f"{self.number}_figure_{number}" + ".timing" * timing
        folder = self._folder("figures")
        whole = f"Figure {self.number}.{number}: {title}."
        svg = figures.as_svg(figure, f"figure-{self.number}-{number}", whole, caption)
        (folder / f"{name}.png").write_bytes(figures.as_png(figure))
        pyplot.close(figure)
        (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
        drawn = svg[svg.index("<svg") :]
        points = float(re.search(r'width="([\d.]+)pt"', drawn)[1])
        least = f"min-width: {0.8 * points:.0f}px"  # below, its letters could not be read: it scrolls in its frame
        made = f'<a href="figures/{name}.svg">svg</a> · <a href="figures/{name}.png">png</a>'
        return HTML(
            f'<figure class="as2-figure"><div class="scroll" tabindex="0" role="region" aria-label="{whole[:12]}">'
            f'{drawn.replace("<svg", f"""<svg style="{least}" """, 1)}</div>'
            f"<figcaption><b>{html(whole)}</b> {html(caption)} "
            f'<span class="made">{made}</span></figcaption></figure>'
        )

    def record(self, timing: bool = False, **numbers: float | int | bool | str) -> None:
        """Keep numbers under names that the overview and `params/expected` read; measured times in a file of theirs."""
        self.metrics[timing] |= {name: _plain(value) for name, value in numbers.items()}
        write_json(self._folder("metrics") / f"{self.number}{'.timing' * timing}.json", self.metrics[timing])

    def say(self, *sentences: str, timing: bool = False) -> Markdown:
        """Sentences whose numbers were computed, as a list; `findings` repeats them, and the overview but for times."""
        self.claims[timing] += sentences
        self.record(timing, claims="\n".join(self.claims[timing]))
        return bullets(sentences)

    def timed(self, number: int, asked: dict[str, Any], measure: Callable[[], Any]) -> tuple[Any, str]:
        """What `measure` finds for table `number`, and the name of the machine where that was.

        It is kept as `runs/times/NN_table_<k>.json`, which is published with the scores, and measured anew only where
        that file is not there (remove it to ask for that) or holds what was found for something else than `asked`.
        asked: what decides the measurement, as JSON values.  measure: gives JSON values, or None, which is not kept.
        """
        path = self._folder("runs/times") / f"{self.number}_table_{number}.json"
        as_file = find_root() / "reports" / self.study.study / "runs/times" / path.name
        kept = _kept(path) or _kept(as_file)  # a variant measures no other time
        if kept.get("asked") != json.loads(json.dumps(asked)):
            kept = {"machine": machine(), "asked": asked, "found": measure()}
            if kept["found"] is not None:
                write_json(path, kept)
        return kept["found"], kept["machine"]

    def findings(self, answer: str) -> Markdown:
        """The answer to the notebook's question, which the overview repeats, and everything said so far, times last."""
        self.record(answer=answer)
        said = bullets([*self.claims[False], *self.claims[True]])
        return Markdown(f"> {markdown(answer)}\n\n{said.data}")

    def _folder(self, name: str) -> Path:
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def _kept(path: Path) -> dict[str, Any]:
    """What was kept of a measurement; nothing where there is no such file, or one that is damaged."""
    try:
        return read_json(path) if path.exists() else {}
    except Damaged as error:
        note(f"{error}; it is measured again")
        return {}


def provenance(study: "Study") -> Markdown:
    """The parameters that matter for a reader, and the versions of what computed the numbers."""
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    if changed := changes(study):
        write_manifest(study)
        changed = f" · not as its file says: {changed}"
    outdated, whole = study.store.outdated(), len(study.plan)
    groups = Counter(name.partition("/")[0] for name in outdated)
    other = f" **{len(outdated)} of {whole} runs were made by other code than there is now**: "
    other += markdown(", ".join(f"{group}/ {count}" for group, count in groups.items()))
    other += ". Their scores stand as they were made; an edit of a module that scores is other code, too."
    return Markdown(
        f"Study `{study.study}` · {_computed_with(study)} · {study.threads} thread(s) a fit{changed} · Python "
        f"{platform.python_version()}, {versions}. Runs are listed with their identities in `manifest.json`."
        f"{other if outdated else ''}"
    )


def _computed_with(study: "Study") -> str:
    """Seeds and precisions of the fits that the page reads; the study's own where it is no notebook of the study."""
    page = next((one for one in notebooks(study) if one.name == OPENED.get(study.variant)), None)
    if page is None:
        return f"seeds {study.seeds} (ablations {study.grid_seeds}) · precision {study.precision}"
    fits = [run for name in page.runs if (run := study.plan[name]).kind == "fit"]
    if not fits:
        return "no fit is read here"
    seeds = ", ".join(map(str, sorted({run.seed for run in fits})))
    precisions = listed(sorted({run.precision or study.precision for run in fits}))
    return f"seeds of the fits read here {seeds} (a row has those that its table says) · precision {precisions}"


def changes(study: "Study") -> str:
    """What a study has otherwise than its file says, `fit.adapt.steps` 10 (its file: 120); empty where nothing."""
    return ", ".join(
        f"{code(key)} {markdown(now)} (its file: {markdown(before)})"
        for key, (before, now) in study.overridden().items()
    )


def bullets(sentences: Sequence[str]) -> Markdown:
    """Sentences as a list."""
    return Markdown("\n".join(f"- {markdown(sentence)}" for sentence in sentences))


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and math.isnan(value) else value
