"""What a notebook leaves behind: numbered tables, figures and metrics under `reports/<study>/`."""

import io
import json
import math
import platform
from collections.abc import Callable, Sequence
from importlib.metadata import version
from numbers import Integral, Number
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas
from IPython.display import HTML, Markdown
from matplotlib import pyplot
from matplotlib.figure import Figure

from as2lib.paths import find_root
from as2lib.precision import machine
from as2lib.runs.files import write_json
from as2lib.runs.results import p_text

if TYPE_CHECKING:
    from as2lib.study import Study

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
        self.metrics: dict[bool, dict[str, Any]] = {False: {}, True: {}}  # by `timing`
        self.claims: dict[bool, list[str]] = {False: [], True: []}

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
    ) -> HTML:
        """Show a table as `formatted` writes it, and save its numbers as csv and what is shown as LaTeX.

        keep: False for a listing, or an example that shows texts of a corpus, which no file should hold.
        timing: whether it holds measured times.  first: show, here and in LaTeX, only so many rows; the csv has all.
        """
        name = f"{self.number}_table_{number}"
        shown = formatted(table if first is None else table.head(first), digits)
        texts = [column for column in shown if not _is_numeric(table, column)]
        if keep:
            folder = self._folder("tables")
            file = f"{name}{_ending(timing)}"
            table.to_csv(folder / f"{file}.csv", float_format="%.10g", lineterminator="\n")
            latex = _latex_table(shown, texts, f"{title}. {caption}", name)
            (folder / f"{file}.tex").write_text(latex, encoding="utf-8")
        left = {column: [{"selector": "", "props": "text-align: left; white-space: normal"}] for column in texts}
        styled = shown.style.hide(axis="index").set_table_styles(left).to_html(table_uuid=name)
        heading = f"<p><b>Table {self.number}.{number}: {title}.</b> {caption}</p>"
        return HTML(f'<div class="as2-table">{heading}<div class="scroll">{styled}</div></div>')

    def figure(self, figure: Figure, number: int, title: str, caption: str, timing: bool = False) -> HTML:
        """Save a figure and show it.  timing: whether it shows measured times."""
        name = f"{self.number}_figure_{number}{_ending(timing)}"
        folder = self._folder("figures")
        figure.savefig(folder / f"{name}.png", dpi=144, bbox_inches="tight", metadata={"Software": None})
        figure.savefig(folder / f"{name}.svg", bbox_inches="tight", metadata={"Date": None})
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", bbox_inches="tight", metadata={"Date": None})
        pyplot.close(figure)
        svg = drawn.getvalue()[drawn.getvalue().index("<svg") :]
        text = f"<figcaption><b>Figure {self.number}.{number}: {title}.</b> {caption}</figcaption>"
        return HTML(f'<figure class="as2-figure">{svg}{text}</figure>')

    def record(self, timing: bool = False, **numbers: float | int | bool | str) -> None:
        """Keep numbers under names that the overview and `params/expected` read; measured times in a file of theirs."""
        self.metrics[timing] |= {name: _plain(value) for name, value in numbers.items()}
        write_json(self._folder("metrics") / f"{self.number}{_ending(timing)}.json", self.metrics[timing])

    def say(self, *sentences: str, timing: bool = False) -> Markdown:
        """Sentences whose numbers were computed, as a list; `findings` repeats them, and the overview but for times."""
        self.claims[timing] += sentences
        self.record(timing, claims="\n".join(self.claims[timing]))
        return _bullets(sentences)

    def timed(self, number: int, asked: dict[str, Any], measure: Callable[[], Any]) -> tuple[Any, str]:
        """What `measure` finds for table `number`, and the name of the machine where that was.

        It is kept as `runs/times/NN_table_<k>.json`, which is published with the scores, and measured anew only where
        that file is not there (remove it to ask for that) or holds what was found for something else than `asked`.
        asked: what decides the measurement, as JSON values.  measure: gives JSON values, or None, which is not kept.
        """
        path = self._folder("runs/times") / f"{self.number}_table_{number}.json"
        kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        if kept.get("asked") != json.loads(json.dumps(asked)):
            kept = {"machine": machine(), "asked": asked, "found": measure()}
            if kept["found"] is not None:
                write_json(path, kept)
        return kept["found"], kept["machine"]

    def findings(self) -> Markdown:
        """Everything said so far, what holds of measured times last."""
        return _bullets([*self.claims[False], *self.claims[True]])

    def _folder(self, name: str) -> Path:
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def provenance(study: "Study") -> Markdown:
    """The parameters that matter for a reader, and the versions of what computed the numbers."""
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return Markdown(
        f"Study `{study.study}` · seeds {study.seeds} (ablations {study.grid_seeds}) · precision {study.precision} · "
        f"{study.threads} thread(s) a fit · Python {platform.python_version()}, {versions}. Runs are listed with their "
        "identities in `manifest.json`."
    )


def _bullets(sentences: Sequence[str]) -> Markdown:
    return Markdown("\n".join(f"- {sentence}" for sentence in sentences))


def formatted(table: pandas.DataFrame, digits: int = 1) -> pandas.DataFrame:
    """A table as a reader sees it: strings.

    The index becomes the first column; `run` and empty columns go; `MAP` and `MAP ±` become "61.2 ± 0.4"; whole numbers
    stay whole, others get `digits` decimals; p values two significant digits; what is missing is a dash.
    """
    flat = table.reset_index() if table.index.name else table.reset_index(drop=True)
    flat = flat.drop(columns=[name for name in flat if name == "run" or flat[name].isna().all()])
    shown = {}
    for name in flat:
        if name.endswith(" ±"):
            continue
        style = _p_value if name == "p" or name.startswith("p ") else lambda value: _cell(value, digits)
        cells = [style(value) for value in flat[name]]
        if f"{name} ±" in flat:
            spread = [_cell(value, digits) for value in flat[f"{name} ±"]]
            cells = [cell if s == "–" else f"{cell} ± {s}" for cell, s in zip(cells, spread, strict=True)]
        shown[name] = cells
    return pandas.DataFrame(shown)


def _ending(timing: bool) -> str:
    return ".timing" if timing else ""


def _is_numeric(table: pandas.DataFrame, column: str) -> bool:
    return column in table and pandas.api.types.is_numeric_dtype(table[column])


def _cell(value: Any, digits: int) -> str:
    if pandas.isna(value):
        return "–"
    if isinstance(value, bool) or not isinstance(value, Number):
        return str(value)
    return f"{value:,d}" if isinstance(value, Integral) else f"{value:,.{digits}f}"


def _p_value(value: float) -> str:
    if pandas.isna(value):
        return "–"
    return p_text(value).removeprefix("= ")


def _latex_table(shown: pandas.DataFrame, texts: Sequence[str], caption: str, name: str) -> str:
    columns = "".join("l" if column in texts else "r" for column in shown)
    escaped = shown.style.hide(axis="index").format(escape="latex").format_index(escape="latex", axis="columns")
    return escaped.to_latex(hrules=True, column_format=columns, caption=_latex(caption), label=f"tab:{name}")


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and math.isnan(value) else value


def _latex(text: str) -> str:
    for character in "&%_#":
        text = text.replace(character, f"\\{character}")
    return text
