"""What a notebook leaves behind: numbered tables, figures and metrics under `reports/<study>/`."""

import io
import math
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas
from IPython.display import HTML, Markdown
from matplotlib import pyplot
from matplotlib.figure import Figure

from as2lib.params import Study
from as2lib.paths import find_root
from as2lib.store import write_json

PACKAGES = ("torch", "transformers", "datasets", "scipy", "pandas")
STYLE = [{"selector": "caption", "props": "caption-side: top; text-align: left; padding: .3em 0"}]


class Report:
    """The output side of one notebook: `Report(study, "02_teachers")`.

    Tables are saved as `tables/NN_table_<k>.csv` and `.tex`, figures as `figures/NN_figure_<k>.png` and `.svg`, recorded
    numbers as `metrics/NN.json`.
    """

    def __init__(self, study: Study, notebook: str):
        self.study, self.notebook, self.number = study, notebook, notebook[:2]
        self.folder = find_root() / "reports" / study.study
        self.metrics: dict[str, Any] = {}
        self.claims: list[str] = []

    def table(
        self, table: pandas.DataFrame, number: int, title: str, caption: str, digits: int = 1, keep: bool = True
    ) -> HTML:
        """Show a table, whole numbers whole and others with `digits` decimals; saved unless `keep` is false."""
        name = f"{self.number}_table_{number}"
        if keep:
            self._save(table, name, f"{title}. {caption}", digits)
        shown = table.reset_index() if table.index.name or table.index.nlevels > 1 else table
        shown = shown.drop(columns=[column for column in ("run",) if column in shown])
        styled = shown.style.hide(axis="index").format(lambda value: _cell(value, digits)).set_table_styles(STYLE)
        styled = styled.set_caption(f"<b>Table {self.number}.{number}: {title}.</b> {caption}")
        return HTML(f'<div class="as2-table">{styled.to_html(table_uuid=name)}</div>')

    def _save(self, table: pandas.DataFrame, name: str, caption: str, digits: int) -> None:
        folder = self._folder("tables")
        table.to_csv(folder / f"{name}.csv", float_format="%.10g", lineterminator="\n")
        latex = table.reset_index().map(lambda value: _cell(value, digits)).style.hide(axis="index")
        latex = latex.format(escape="latex").format_index(escape="latex", axis="columns")
        text = latex.to_latex(hrules=True, caption=_latex(caption), label=f"tab:{name}")
        (folder / f"{name}.tex").write_text(text, encoding="utf-8")

    def figure(self, figure: Figure, number: int, title: str, caption: str) -> HTML:
        """Save a figure and show it."""
        name = f"{self.number}_figure_{number}"
        folder = self._folder("figures")
        figure.savefig(folder / f"{name}.png", dpi=144, bbox_inches="tight", metadata={"Software": None})
        figure.savefig(folder / f"{name}.svg", bbox_inches="tight", metadata={"Date": None})
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", bbox_inches="tight", metadata={"Date": None})
        pyplot.close(figure)
        svg = drawn.getvalue()[drawn.getvalue().index("<svg") :]
        text = f"<figcaption><b>Figure {self.number}.{number}: {title}.</b> {caption}</figcaption>"
        return HTML(f'<figure class="as2-figure">{svg}{text}</figure>')

    def record(self, **numbers: float | int | bool | str) -> None:
        """Keep numbers under names that the overview and `params/expected` read."""
        self.metrics |= {name: _plain(value) for name, value in numbers.items()}
        write_json(self._folder("metrics") / f"{self.number}.json", self.metrics)

    def say(self, *sentences: str) -> Markdown:
        """Sentences whose numbers were computed, as a list; `findings` and the overview repeat them."""
        self.claims += sentences
        self.record(claims="\n".join(self.claims))
        return _bullets(sentences)

    def findings(self) -> Markdown:
        """Everything said so far."""
        return _bullets(self.claims)

    def _folder(self, name: str) -> Path:
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def provenance(study: Study) -> Markdown:
    """The parameters that matter for a reader, and the versions of what computed the numbers."""
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return Markdown(
        f"Study `{study.study}` · seeds {study.seeds} (ablations {study.grid_seeds}) · precision {study.precision} · "
        f"{study.threads} thread(s) a fit · Python {platform.python_version()}, {versions}. Runs are listed with their "
        "identities in `manifest.json`."
    )


def _bullets(sentences: Sequence[str]) -> Markdown:
    return Markdown("\n".join(f"- {sentence}" for sentence in sentences))


def _cell(value: Any, digits: int) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,.0f}" if float(value).is_integer() and isinstance(value, int) else f"{value:,.{digits}f}"


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _latex(text: str) -> str:
    for character in "&%_#":
        text = text.replace(character, f"\\{character}")
    return text
