"""The study's plots, one function a kind; each takes a tidy frame and returns a figure, six inches wide for a phone.

A series has a colour that everyone can tell apart, and a marker or a dash besides; legends stand below the axes.
labels: the title, then what the x axis says, and the y axis.
"""

import io
import re
from collections.abc import Iterable
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

matplotlib.rcParams["svg.hashsalt"] = "as2lib"
matplotlib.rcParams["text.parse_math"] = False  # a label is text: "$" is a dollar
seaborn.set_theme(style="whitegrid", context="notebook", palette="colorblind")
LINE, LIGHT, MUTED = "#1f4e79", "#8fb0d0", "#767676"
COLORBLIND = seaborn.color_palette("colorblind", 10)
PALETTE = COLORBLIND[:7] + COLORBLIND[8:]  # the eighth is grey, as what has no name
MARKERS, DASHES = "os^DvP*<>X", ("-", "--", "-.", ":")
GROUPS = {  # a group of systems → its place in the palette, the same in every figure
    **{"heads": 0, "teacher": 1, "one teacher": 2, "ensemble": 3, "one model": 4, "untaught": 5},
    **{"Compare-Aggregate": 6, "cascade": 7, "Cosinet": 8},
}
VERDICTS = {  # greens agree with a paper, reds do not, greys say neither
    **{"reproduced": "#1b7f4d", "supported": "#4aa877", "same direction": "#7fc29f"},
    **{"same direction, smaller": "#a9d8bf", "same direction, larger": "#a9d8bf"},
    **{"undecided": "#8f9aa5", "not seen": "#e8a25c", "contradicted": "#c8452f", "not testable here": "#c6ced6"},
}
WIDTH = 6.0  # inches
STEPS = [1, 2, 3, 5, 6, 10]  # between ticks
COLOURS = 256  # of a PNG file
Level = tuple[str, float]  # a line's name, and where it stands
NO_METADATA = dict.fromkeys(("Date", "Creator", "Format", "Type"))  # of an SVG file


def dots(table: pandas.DataFrame, value: str, group: str, title: str, axis: str, baseline: Level) -> Figure:
    """One row a system: its mean in the column `value` and its spread over seeds, marked by `group`."""
    if table.empty:
        return nothing(title)
    figure, axes = _rows(table.index)
    groups = table.assign(height=range(len(table))).groupby(group, sort=False)
    for place, (name, rows) in enumerate(groups):
        style = {"capsize": 3, "markersize": 7, "linestyle": "", "label": name, **_style(GROUPS.get(name, place))}
        axes.errorbar(rows[value], rows["height"], xerr=rows[f"{value} ±"].where(rows[f"{value} ±"] > 0), **style)
    axes.axvline(baseline[1], color=MUTED, linestyle="--", linewidth=1.4, label=baseline[0])
    return _finished(figure, axes, title, axis)


def forest(table: pandas.DataFrame, title: str, axis: str, mark: str | None = None) -> Figure:
    """Differences with their 95 % intervals, and as diamonds those of the column `mark`.

    An interval is over questions and seeds (columns low, high).  Where a row has none, since one of its systems has one
    seed, that over questions alone stands for it (questions low, questions high), in a lighter colour.
    """
    if table.empty:
        return nothing(title)
    figure, axes = _rows(table.index)
    heights, alone = numpy.arange(len(table)), numpy.zeros(len(table), bool)
    if "questions low" in table:
        alone = (table["low"].isna() & table["questions low"].notna()).to_numpy()
    of_both = "ours, 95 % interval over questions and seeds" if alone.any() else "ours, 95 % interval"
    of_questions = "ours, one seed: 95 % interval over questions alone"
    for rows, before, name, colour in ((~alone, "", of_both, LINE), (alone, "questions ", of_questions, LIGHT)):
        if rows.any():
            difference, low, high = (table.loc[rows, of] for of in ("difference", f"{before}low", f"{before}high"))
            style = {"fmt": "o", "color": colour, "capsize": 3, "markersize": 7, "label": name}
            axes.errorbar(difference, heights[rows], xerr=[difference - low, high - difference], **style)
    axes.axvline(0, color="black", linewidth=1)
    if mark is not None and table[mark].notna().any():
        axes.scatter(table[mark], heights + 0.22, marker="D", s=40, color=PALETTE[1], label=mark, zorder=3)
    axes.xaxis.set_major_locator(ticker.MaxNLocator(5, steps=STEPS))
    return _finished(figure, axes, title, axis)


def lines(table: pandas.DataFrame, x: str, y: str, hue: str, *labels: str) -> Figure:
    """Curves, a colour, a marker and a dash for each value of `hue`; where a point repeats, its mean and its range."""
    if table.empty:
        return nothing(labels[0])
    figure, axes = pyplot.subplots(figsize=(WIDTH, 4), layout="constrained")
    curves, step = dict(list(table.groupby(hue, sort=False))), numpy.ptp(table[x]) / 150
    for place, (name, points) in enumerate(curves.items()):
        values = points.groupby(x)[y].agg(["mean", "min", "max"])
        at, errors = values.index, None
        # Ranges stand beside each other, so that none covers another curve.
        if (values["max"] > values["min"]).any():
            at = values.index + (place - (len(curves) - 1) / 2) * step
            errors = [values["mean"] - values["min"], values["max"] - values["mean"]]
        style = _style(place) | {"linestyle": DASHES[place % len(DASHES)], "label": name}
        axes.errorbar(at, values["mean"], yerr=errors, capsize=2, elinewidth=1, markersize=5, **style)
    if (table[x] % 1 == 0).all():
        axes.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
    return _finished(figure, axes, *labels)


def front(points: pandas.DataFrame, marked: pandas.DataFrame, x: str, y: str, baseline: Level, *labels: str) -> Figure:
    """Every point, those of the Pareto front joined (column `front`), and a few with a marker each (`label`)."""
    figure, axes = pyplot.subplots(figsize=(WIDTH, 4.8), layout="constrained")
    axes.scatter(points[x], points[y], s=9, color=MUTED, alpha=0.35, linewidth=0, label="a combination of ratios")
    best = points[points["front"]].sort_values(x)
    axes.step(best[x], best[y], where="post", color=LINE, linewidth=1.6, marker="o", markersize=4, label="Pareto front")
    for place, (_, row) in enumerate(marked.iterrows(), start=1):
        axes.plot(row[x], row[y], linestyle="", markersize=10, label=row["label"], **_style(place))
    axes.axhline(baseline[1], color=MUTED, linestyle="--", linewidth=1.4, label=baseline[0])
    return _finished(figure, axes, *labels)


def frontier(points: pandas.DataFrame, *labels: str) -> Figure:
    """Systems by cost, on a logarithmic axis, and value with its spread over seeds; front: joined by a line.

    Those with a label are named beside the axes, in the colour of their `group`; others are grey.  What costs nothing
    is a dashed line, or named at the edge if it is so far below that the others would have less than half the height.
    """
    free, points = points[points["cost"] == 0], points[points["cost"] > 0]
    named, others = points[points["label"] != ""].sort_values("value", kind="stable"), points[points["label"] == ""]
    figure, axes = pyplot.subplots(figsize=(WIDTH * 1.25, 3 + 0.12 * len(named)), layout="constrained")
    axes.scatter(others["cost"], others["value"], s=16, color=MUTED, alpha=0.5, linewidth=0)
    best = points[points["front"]].sort_values("cost")
    if len(best):  # a ranker that costs nothing may be as good as all others
        steps = [*best["cost"], points["cost"].max() * 1.2], [*best["value"], best["value"].iloc[-1]]
        axes.step(*steps, where="post", color=LIGHT, linewidth=1.4, zorder=2)
    low, high = named["value"].min(), points["value"].max()
    for row in free.itertuples():
        style = {"xycoords": "axes fraction", "fontsize": 9, "color": MUTED}
        if row.value > low - (high - low):
            axes.axhline(row.value, color=MUTED, linestyle="--", linewidth=1.4)
            axes.annotate(
                row.label, (0.01, row.value), **style | {"xycoords": ("axes fraction", "data"), "va": "bottom"}
            )
            low, high = min(low, row.value), max(high, row.value)
        else:
            axes.annotate(f"↓ {row.label}: {row.value:.1f}", (0.01, 0.02), **style)
            low -= 0.08 * (high - low)  # its line
    room = 0.06 * (high - low) or 1
    bottom, top = low - room, high + room
    axes.set_ylim(bottom, top)
    heights = _apart((named["value"] - bottom) / (top - bottom))
    for height, row in zip(heights, named.itertuples(), strict=True):
        style = _style(GROUPS.get(row.group, 0)) if row.group in GROUPS else {"color": MUTED, "marker": "o"}
        axes.errorbar(row.cost, row.value, yerr=row.spread or None, label=row.label, markersize=7, zorder=3, **style)
        leader = {"arrowstyle": "-", "color": style["color"], "linewidth": 0.6, "alpha": 0.6, "relpos": (0, 0.5)}
        place = {"xytext": (1.03, height), "textcoords": "axes fraction", "va": "center", "fontsize": 9}
        axes.annotate(f"{row.label}  {row.value:.1f}", (row.cost, row.value), arrowprops=leader, **place)
    _logarithmic(axes)
    axes.set(xlabel=labels[1], ylabel=labels[2])
    figure.suptitle(labels[0], fontsize=13)
    return figure


def verdicts(counts: pandas.Series, title: str) -> Figure:
    """One bar of parts, a verdict each, with its number in the legend; what is nought is left out."""
    if not counts.any():
        return nothing(title)
    figure, axes = pyplot.subplots(figsize=(WIDTH, 1.8), layout="constrained")
    left = 0
    for name, count in counts[counts > 0].items():
        style = {"color": VERDICTS.get(name, LIGHT), "edgecolor": "white", "label": f"{count} {name}"}
        axes.barh(0, count, left=left, **style)
        left += count
    axes.margins(x=0)
    axes.set_axis_off()
    figure.suptitle(title, fontsize=13)
    style = {"fontsize": 9, "handlelength": 1, "columnspacing": 1, "frameon": False}
    figure.legend(loc="outside lower center", ncols=2, **style)
    return figure


def bars(table: pandas.DataFrame, x: str, y: str, title: str, x_label: str, y_label: str, baseline: Level) -> Figure:
    """One bar a value of `x`, and a baseline as a line."""
    if table.empty:
        return nothing(title)
    figure, axes = pyplot.subplots(figsize=(WIDTH, 4), layout="constrained")
    axes.bar(table[x], table[y], color=LINE)
    axes.axhline(baseline[1], color="black", linestyle="--", linewidth=1.4, label=baseline[0])
    axes.set_xticks(table[x])
    axes.grid(axis="x", visible=False)
    return _finished(figure, axes, title, x_label, y_label)


def heatmap(table: pandas.DataFrame, title: str, x_label: str) -> Figure:
    """Values from 0 to 1 in the cells, the darker the larger; undefined ones are gaps."""
    size = 2.6 + 0.9 * len(table.columns), 2.2 + 0.45 * len(table)
    figure, axes = pyplot.subplots(figsize=size, layout="constrained")
    style = {"annot": True, "fmt": ".2f", "cmap": "Blues", "cbar": False, "linewidths": 0.5}
    seaborn.heatmap(table, vmin=0, vmax=1, xticklabels=1, yticklabels=1, ax=axes, **style)
    axes.set_yticks(axes.get_yticks(), _wrapped(table.index), rotation=0)
    axes.set_xticks(axes.get_xticks(), _wrapped(table.columns), rotation=35, ha="right")
    return _finished(figure, axes, title, x_label)


def ratios(table: pandas.DataFrame, title: str, axis: str) -> Figure:
    """One row a system, a marker for each column: ratios to a reference, on a logarithmic axis; 1 is marked."""
    figure, axes = _rows(table.index)
    for place, column in enumerate(table):
        style = _style(place)
        axes.scatter(table[column], range(len(table)), s=48, label=column, alpha=0.85, zorder=3, **style)
    axes.axvline(1, color="black", linewidth=1)
    _logarithmic(axes)
    return _finished(figure, axes, title, axis)


def scatter(table: pandas.DataFrame, x: str, y: str, hue: str, *labels: str) -> Figure:
    """One point a row, coloured and sized by the number in `hue`; zero on the y axis is marked."""
    if table.empty:
        return nothing(labels[0])
    figure, axes = pyplot.subplots(figsize=(WIDTH, 4), layout="constrained")
    size = 25 + 75 * (table[hue] - table[hue].min()) / max(numpy.ptp(table[hue]), 1e-12)
    points = axes.scatter(table[x], table[y], c=table[hue], cmap="viridis", s=size)
    axes.axhline(0, color=MUTED, linestyle="--", linewidth=1.4)
    figure.colorbar(points, ax=axes, label=hue)
    return _finished(figure, axes, *labels)


def as_png(figure: Figure) -> bytes:
    """A PNG file of few colours, since figures have hardly more: a third of the size."""
    drawn, small = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", dpi=144, bbox_inches="tight")
    few = Image.open(drawn).convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(small, format="PNG", optimize=True)
    return small.getvalue()


def as_svg(figure: Figure, name: str, title: str, description: str) -> str:
    """An SVG file, not indented, with a title and a description; its ids begin with `name`: a page holds several."""
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", bbox_inches="tight", metadata=NO_METADATA)
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", re.sub(r"\n +", "\n", drawn.getvalue()))
    text = text.replace("DejaVuSans-", "")  # of the ids of letters, its most frequent
    labels = f' role="img" aria-labelledby="{name}-title {name}-desc"'
    names = f'<title id="{name}-title">{html(title)}</title>\n <desc id="{name}-desc">{html(description)}</desc>'
    return re.sub(r"(<svg[^>]*)>", lambda tag: f"{tag[1]}{labels}>\n {names}", text, count=1)


def histogram(values: dict[str, Iterable[float]], title: str, axis: str) -> Figure:
    """How often values in [0, 1] fall into each twentieth, in percent: an outline a name."""
    figure, axes = pyplot.subplots(figsize=(WIDTH, 4), layout="constrained")
    edges = numpy.linspace(0, 1, 21)
    for place, (name, numbers) in enumerate(values.items()):
        counts, _ = numpy.histogram(list(numbers), edges)
        style = {"color": PALETTE[place % len(PALETTE)], "linestyle": DASHES[place % len(DASHES)], "linewidth": 1.8}
        axes.stairs(100 * counts / max(counts.sum(), 1), edges, label=name, **style)
    return _finished(figure, axes, title, axis, "percent")


def nothing(title: str) -> Figure:
    """What stands for a figure of which a study has no number."""
    figure, axes = pyplot.subplots(figsize=(WIDTH, 1.2), layout="constrained")
    axes.set_axis_off()
    axes.text(0.5, 0.5, "nothing to draw: not run in this study, or its logs are not here", ha="center", color=MUTED)
    return _finished(figure, axes, title, "")


def _rows(labels: Iterable[str]) -> tuple[Figure, Axes]:
    """Axes with one row a label, from above."""
    names = _wrapped(labels)
    height = sum(0.42 + 0.16 * name.count("\n") for name in names)
    figure, axes = pyplot.subplots(figsize=(WIDTH, height + 1.8), layout="constrained")
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    return figure, axes


def _wrapped(labels: Iterable[str]) -> list[str]:
    return [fill(str(label), 26) for label in labels]


def _style(place: int) -> dict:
    return {"color": PALETTE[place % len(PALETTE)], "marker": MARKERS[place % len(MARKERS)]}


def _logarithmic(axes: Axes) -> None:
    """A logarithmic x axis with ticks at 1, 2 and 5, or, where it is too short for two of these, at a linear one's."""
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    axes.xaxis.set_major_locator(
        ticker.LogLocator(subs=(1, 2, 5)) if high / low > 6 else ticker.MaxNLocator(5, steps=STEPS)
    )
    axes.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_formatter(ticker.NullFormatter())


def _apart(heights: Iterable[float], least: float = 0.052) -> list[float]:
    """Rising heights in [0, 1], moved as little as keeps each `least` above the one before, and all within."""
    places: list[float] = []
    for height in heights:
        places.append(max(height, places[-1] + least) if places else height)
    above = 1.0
    for number in reversed(range(len(places))):
        places[number] = above = min(places[number], above)
        above -= least
    return places


def _finished(figure: Figure, axes: Axes, title: str, x_label: str, y_label: str = "") -> Figure:
    """With a title, labels, and below the axes a legend, where there is something to name."""
    axes.set(xlabel=x_label, ylabel=y_label)
    figure.suptitle(fill(title, 62), fontsize=13)
    handles, names = axes.get_legend_handles_labels()
    if handles:
        longest = max(map(len, names))
        across = 1 if longest > 30 else 2 if longest > 16 else 3
        figure.legend(handles, names, loc="outside lower center", ncols=min(across, len(names)), frameon=False)
    return figure
