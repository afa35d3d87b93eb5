"""The study's plots, one function a kind; each takes a tidy frame and returns a figure, or None where there is nothing.

A series has a colour that everyone can tell apart, and a marker or a dash besides; legends stand below the axes.
labels: the title, then what the x axis says, and the y axis.
"""

import io
import re
from collections.abc import Iterable, Mapping
from html import escape as html
from textwrap import fill

import matplotlib
import numpy
import pandas
import seaborn
from matplotlib import pyplot, ticker
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

seaborn.set_theme(
    style="whitegrid",
    context="notebook",
    palette="colorblind",
    rc={"axes.spines.right": False, "axes.spines.top": False},
)
# Letters stay letters in an SVG file; "$" is a dollar.
matplotlib.rcParams.update({"svg.hashsalt": "as2lib", "svg.fonttype": "none", "text.parse_math": False})
LINE, LIGHT, MUTED = "#1f4e79", "#8fb0d0", "#767676"
COLORBLIND = seaborn.color_palette("colorblind", 10)
PALETTE = [*COLORBLIND[:7], COLORBLIND[9], "#006374"]  # without grey, which has no name, and yellow, which is too light
MARKERS, DASHES = "os^DvP*<>X", ("-", "--", "-.", ":")
GROUPS = {  # a group of systems → its place in the palette, the same in every figure
    **{"heads": 0, "teacher": 1, "one teacher": 2, "ensemble": 3, "one model": 4, "labels only": 5},
    **{"Compare-Aggregate": 6, "cascade": 7, "Cosinet": 8},
}
WIDTH = 8.0  # inches
STEPS = [1, 2, 3, 5, 6, 10]  # between ticks
# Of an SVG file: names of groups, blanks, turns by 0°, and each word's own font, in place of which stands the page's.
UNSEEN = re.compile(r'(?<=<g) id="[^"]*"|(?<=\n) +| transform="rotate\(-0 [^"]*"|font-family: [^;]*; ')


def dots(
    table: pandas.DataFrame,
    value: str,
    group: str,
    title: str,
    axis: str,
    baseline: tuple[str, float],
    log: bool = False,
) -> Figure | None:
    """One row a system, which may have several rows of the table: the column `value`, marked by `group`.

    A column "MAP ±" beside "MAP" has the spread over seeds.  baseline: a line's name, and where it stands.
    log: whether the axis is logarithmic.
    """
    if table.empty:
        return None
    heights, names = pandas.factorize(table.index)
    figure, [axes] = _rows(names)
    spreads = table.get(f"{value} ±", pandas.Series(0.0, table.index))
    for name, style in _styles(table[group]).items():
        rows = (table[group] == name).to_numpy()
        style |= {"capsize": 3, "markersize": 7, "linestyle": "", "label": name}
        axes.errorbar(table[value][rows], heights[rows], xerr=spreads[rows].where(spreads[rows] > 0), **style)
    axes.axvline(baseline[1], color=MUTED, linestyle="--", linewidth=1.4, label=baseline[0])
    if log:
        _logarithmic(axes)
    return _finished(figure, axes, title, axis)


def forest(
    tables: pandas.DataFrame | Mapping[str, pandas.DataFrame],
    title: str,
    axis: str = "points of MAP",
    mark: str = "published",
    margin: float | None = None,
    subject: str = "",
) -> Figure | None:
    """Differences with their 95 % intervals and their numbers, a panel a table by its name; a tick for a paper's.

    An interval is over questions and seeds (columns low, high).  Where a row has none, since one of its systems has one
    seed, that over questions alone stands for it (questions low, questions high), in a lighter colour.
    mark: the column of the ticks.  margin: the band within which two systems are called equivalent.  subject: what is
    better to the right of zero.
    """
    panels = tables if isinstance(tables, Mapping) else {"": tables}
    if not all(len(table) for table in panels.values()):
        return None
    figure, every = _rows(next(iter(panels.values())).index, len(panels))
    for axes, (name, table) in zip(every, panels.items(), strict=True):
        if margin:
            band = {"color": MUTED, "alpha": 0.15, "linewidth": 0}
            axes.axvspan(-margin, margin, label=f"called equivalent: within {margin}", **band)
        rows = table.reset_index(drop=True)  # whose index is each row's height
        alone = rows["low"].isna()
        for end in ("low", "high"):
            rows[end] = rows[end].mask(alone, rows.get(f"questions {end}", numpy.nan))
        rows["label"] = "95 % interval" + " over questions and seeds" * bool({"seeds", "questions low"} & {*table})
        rows["label"] = rows["label"].mask(alone, "one seed: 95 % interval over questions alone")
        rows, digits = rows.dropna(subset="low"), 1 if rows["high"].abs().max() > 0.2 else 3
        for label, drawn in rows.groupby("label"):
            style = {"fmt": "o", "capsize": 3, "markersize": 7, "label": label}
            style["color"] = LIGHT if label.startswith("one seed") else LINE
            ends = [drawn["difference"] - drawn["low"], drawn["high"] - drawn["difference"]]
            axes.errorbar(drawn["difference"], drawn.index, xerr=ends, **style)
        for row in rows.itertuples():
            text = f"{row.difference:+.{digits}f} ({row.low:+.{digits}f} to {row.high:+.{digits}f})".replace("-", "−")
            axes.text(1.02, row.Index, text, transform=axes.get_yaxis_transform(), va="center", fontsize=10)
        axes.axvline(0, color="black", linewidth=1)
        if mark in table and table[mark].notna().any():
            style = {"marker": "|", "s": 260, "linewidth": 3, "color": PALETTE[1], "label": mark, "zorder": 3}
            axes.scatter(table[mark], range(len(table)), **style)
        axes.xaxis.set_major_locator(ticker.MaxNLocator(5, steps=STEPS))
        axes.set_title("\n".join(filter(None, [name, _counted(table)])), loc="left", fontsize=10, color=MUTED)
        axes.set_xlabel(f"← worse · {subject} · better →\n{axis}" if subject else axis)
    return _finished(figure, every[-1], title, every[-1].get_xlabel())


def _counted(table: pandas.DataFrame) -> str:
    """How many questions and seeds the differences of a table are over."""
    if not {"wins", "losses", "ties", "seeds"} <= {*table}:
        return ""
    questions, seeds = int(table[["wins", "losses", "ties"]].iloc[0].sum()), sorted({*table["seeds"].astype(int)})
    span = " to ".join(map(str, dict.fromkeys([seeds[0], seeds[-1]])))
    return f"{questions:,} questions, {span} seed" + "s" * (seeds[-1] > 1)


def lines(table: pandas.DataFrame, x: str, y: str, hue: str, *labels: str, share: int = 100) -> Figure | None:
    """Curves, a colour, a marker and a dash for each value of `hue`; where a point repeats, its mean in a band.

    share: percent of a point's values that the band holds, those in the middle.
    """
    if table.empty:
        return None
    figure, axes = pyplot.subplots(figsize=(WIDTH, 4), layout="constrained")
    for place, (name, points) in enumerate(table.groupby(hue, sort=False)):
        style = _style(place) | {"linestyle": DASHES[place % len(DASHES)], "label": name}
        band = {"errorbar": ("pi", share), "err_kws": {"alpha": 0.12, "linewidth": 0}}
        seaborn.lineplot(points, x=x, y=y, ax=axes, legend=False, markersize=6, **style, **band)
    if (table[x] % 1 == 0).all():
        axes.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
    return _finished(figure, axes, *labels)


def frontier(points: pandas.DataFrame, *labels: str, ms: float | None = None) -> Figure:
    """Systems by cost, on a logarithmic axis, and value with its spread over seeds; front: joined by a line.

    Those with a label are named at their points, in the colour of their `group`; others are grey.  band: how far below
    the front a system cannot be distinguished from it.  What costs nothing is a dashed line, named below the axes.
    ms: milliseconds of what costs 1, for a second axis.
    """
    free, points = points[points["cost"] == 0], points[points["cost"] > 0]
    named, others = points[points["label"] != ""].sort_values("value", kind="stable"), points[points["label"] == ""]
    figure, axes = pyplot.subplots(figsize=(WIDTH * 1.15, 4.8), layout="constrained")
    if len(others):
        axes.scatter(others["cost"], others["value"], s=16, color=MUTED, alpha=0.5, linewidth=0, label="other systems")
    best = points[points["front"]].sort_values("cost")
    if len(best):  # a ranker that costs nothing may be as good as all others
        best = pandas.concat([best, best.tail(1).assign(cost=points["cost"].max() * 1.2)])
        style = {"where": "post", "color": LINE, "linewidth": 1.4, "zorder": 2}
        axes.step(best["cost"], best["value"], label="the best at this cost, by the means", **style)
        if "band" in best:
            style = {"step": "post", "color": LIGHT, "alpha": 0.3, "linewidth": 0}
            style["label"] = "cannot be distinguished from the best at this cost"
            axes.fill_between(best["cost"], best["value"] - best["band"], best["value"], **style)
    for row in free.itertuples():
        style = {"color": MUTED, "linestyle": "--", "linewidth": 1.4}
        axes.axhline(row.value, label=f"costs nothing: {row.label}, {row.value:.1f}", **style)
    low, high = (named["value"] - named["spread"]).min(), (points["value"] + points["spread"]).max()
    room = 0.06 * (high - low) or 1
    bottom, top = low - room, high + room
    axes.set_ylim(bottom, top)
    styles = _styles(named["group"])
    for group, rows in named.groupby("group", sort=False):
        style = {"linestyle": "", "markersize": 8, "zorder": 3, "label": group, **styles[group]}
        axes.errorbar(rows["cost"], rows["value"], yerr=rows["spread"].where(rows["spread"] > 0), **style)
    for right, side in named.groupby(named["cost"] > named["cost"].min()):
        heights = _apart((side["value"] - bottom) / (top - bottom))
        for height, row in zip(heights, side.itertuples(), strict=True):
            text = {"ha": "left" if right else "right", "va": "center", "fontsize": 9.5}
            text["bbox"] = {"facecolor": "white", "alpha": 0.7, "pad": 0.5, "linewidth": 0}
            at = row.cost * (1.12 if right else 0.89), bottom + height * (top - bottom)
            axes.text(*at, f"{row.label} {row.value:.1f}", color=styles[row.group]["color"], **text)
    if points["cost"].max() < 100 * points["cost"].min():
        axes.margins(x=0.6)  # names stand beside points that are near each other
    _logarithmic(axes)
    if ms:
        above = axes.secondary_xaxis("top", functions=(lambda cost: ms * cost, lambda time: time / ms))
        above.set_xlabel("about so many ms a question, on one core")
        above.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
    return _finished(figure, axes, *labels)


def heatmap(table: pandas.DataFrame, title: str, x_label: str, digits: int = 2) -> Figure:
    """Values in the cells, the darker the larger; undefined ones are gaps."""
    size = 2.6 + 0.9 * len(table.columns), 2.2 + 0.45 * len(table)
    figure, axes = pyplot.subplots(figsize=size, layout="constrained")
    style = {"annot": True, "fmt": f".{digits}f", "cmap": "Blues", "cbar": False, "linewidths": 0.5}
    seaborn.heatmap(table, xticklabels=1, yticklabels=1, ax=axes, **style)
    axes.set_yticks(axes.get_yticks(), [fill(str(label), 26) for label in table.index], rotation=0)
    axes.set_xticks(axes.get_xticks(), [fill(str(label), 26) for label in table.columns], rotation=35, ha="right")
    return _finished(figure, axes, title, x_label)


def as_png(figure: Figure) -> bytes:
    """A PNG file of 48 colours, those farthest apart: lines and letters need no more."""
    drawn, packed = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", dpi=120, bbox_inches="tight")
    Image.open(drawn).convert("RGB").quantize(48, Image.Quantize.MAXCOVERAGE).save(packed, "png", optimize=True)
    return packed.getvalue()


def as_svg(figure: Figure, name: str, title: str, description: str) -> str:
    """An SVG file on no ground of its own, its letters letters; its ids begin with `name`: a page holds several.

    Coordinates have two decimals, and what is `UNSEEN` is left out.
    """
    drawn, metadata = io.StringIO(), dict.fromkeys(("Date", "Creator", "Format", "Type"))  # none
    figure.savefig(drawn, format="svg", bbox_inches="tight", transparent=True, metadata=metadata)
    text = UNSEEN.sub("", drawn.getvalue())
    text = re.sub(r' (?:d|x|y|transform)="[^"]*"', lambda place: re.sub(r"(\.\d\d)\d+", r"\1", place[0]), text)
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", text)
    labels = f'font-family="sans-serif" role="img" aria-label="{html(f"{title}: {description}")}"'
    return text.replace("<svg", f"<svg {labels}", 1)


def _rows(labels: Iterable[str], panels: int = 1) -> tuple[Figure, list[Axes]]:
    """Axes with one row a label, from above; several beside each other on one x axis."""
    names = [fill(str(label), 30) for label in labels]
    height = len(names) * (0.36 + 0.12 * max(name.count("\n") for name in names))
    size = (WIDTH if panels == 1 else 2.2 + 4.3 * panels), height + 1.9
    figure, every = pyplot.subplots(
        1, panels, figsize=size, sharex=True, sharey=True, squeeze=False, layout="constrained"
    )
    for axes in every[0]:
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.grid(axis="y", visible=False)
    return figure, [*every[0]]


def _style(place: int) -> dict:
    return {"color": PALETTE[place % len(PALETTE)], "marker": MARKERS[place % len(MARKERS)]}


def _styles(groups: Iterable[str]) -> dict[str, dict]:
    """Colour and marker of each group; no two have the same."""
    names = [*dict.fromkeys(groups)]
    free = iter([place for place in range(len(PALETTE)) if place not in {GROUPS.get(name) for name in names}])
    return {name: _style(GROUPS[name] if name in GROUPS else next(free, len(PALETTE))) for name in names}


def _logarithmic(axes: Axes) -> None:
    """A logarithmic x axis with ticks at 1, 2 and 5, or, where it is too short for two of these, at a linear one's."""
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    locator = ticker.LogLocator(subs=(1, 2, 5)) if high / low > 6 else ticker.MaxNLocator(5, steps=STEPS)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_formatter(ticker.NullFormatter())


def _apart(heights: pandas.Series, least: float = 0.052) -> numpy.ndarray:
    """Rising heights in [0, 1], moved as little as keeps each `least` above the one before, and all within."""
    steps = least * numpy.arange(len(heights))
    return numpy.minimum(numpy.maximum.accumulate(heights.to_numpy() - steps) + steps, 1 - steps[::-1])


def _finished(figure: Figure, axes: Axes, title: str, x_label: str, y_label: str = "") -> Figure:
    """With a title, labels, and below the axes a legend, where there is something to name."""
    axes.set(xlabel=x_label, ylabel=y_label)
    set_title(figure, title)
    handles, names = axes.get_legend_handles_labels()
    if handles:
        longest = max(map(len, names))
        across = 1 if longest > 60 else 2 if longest > 20 else 3
        style = {"ncols": min(across, len(names)), "frameon": False, "fontsize": 10}
        figure.legend(handles, names, loc="outside lower left", **style)
    return figure


def set_title(figure: Figure, title: str) -> None:
    figure.suptitle(fill(title, 62), x=0.01, ha="left", fontsize=12.5, fontweight="bold")
