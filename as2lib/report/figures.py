"""The study's plots, one function a kind; each takes a tidy frame and returns a figure."""

import matplotlib
import numpy
import pandas
import seaborn
from matplotlib import pyplot, ticker
from matplotlib.figure import Figure

matplotlib.rcParams["svg.hashsalt"] = "as2lib"
seaborn.set_theme(style="whitegrid", context="notebook", palette="deep")
LINE, MUTED = "#1f4e79", "#8a8a8a"


def dots(
    table: pandas.DataFrame, value: str, spread: str, group: str, title: str, axis: str, baseline: tuple[str, float]
) -> Figure:
    """One row a system: its mean and its spread over seeds, coloured by `group`, with a trivial baseline as a line."""
    figure, axes = pyplot.subplots(figsize=(8, 0.42 * len(table) + 1.6))
    kinds = list(dict.fromkeys(table[group]))
    palette = dict(zip(kinds, seaborn.color_palette("deep", len(kinds)), strict=True))
    for height, (_, row) in enumerate(table.iterrows()):
        error = row[spread] if pandas.notna(row[spread]) else None
        axes.errorbar(row[value], height, xerr=error, fmt="o", color=palette[row[group]], capsize=3, markersize=7)
    axes.set_yticks(range(len(table)), table.index)
    axes.invert_yaxis()
    axes.axvline(baseline[1], color=MUTED, linestyle="--", linewidth=1.2)
    handles = [pyplot.Line2D([], [], marker="o", linestyle="", color=palette[kind], label=kind) for kind in kinds]
    handles.append(pyplot.Line2D([], [], linestyle="--", color=MUTED, label=baseline[0]))
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    axes.set(title=title, xlabel=axis)
    return figure


def forest(table: pandas.DataFrame, title: str, axis: str, margin: float | None = None) -> Figure:
    """Differences with their intervals: columns difference, low, high; zero and the equivalence margin are marked."""
    figure, axes = pyplot.subplots(figsize=(8, 0.42 * len(table) + 1.6))
    heights = range(len(table))
    errors = [table["difference"] - table["low"], table["high"] - table["difference"]]
    axes.errorbar(table["difference"], heights, xerr=errors, fmt="o", color=LINE, capsize=3, markersize=7)
    axes.axvline(0, color="black", linewidth=1)
    if margin is not None:
        axes.axvspan(-margin, margin, color=MUTED, alpha=0.15, label=f"counts as equal (±{margin:g})")
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    axes.set_yticks(list(heights), table.index)
    axes.invert_yaxis()
    axes.set(title=title, xlabel=axis)
    return figure


def lines(table: pandas.DataFrame, x: str, y: str, hue: str, title: str, x_label: str, y_label: str) -> Figure:
    """Curves, a colour for each value of `hue`; where a point repeats, its mean and the band of its values."""
    figure, axes = pyplot.subplots(figsize=(8, 4))
    seaborn.lineplot(table, x=x, y=y, hue=hue, errorbar=("pi", 100), ax=axes)
    axes.legend(title=None, loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    axes.set(title=title, xlabel=x_label, ylabel=y_label)
    return figure


def front(
    points: pandas.DataFrame,
    marked: pandas.DataFrame,
    x: str,
    y: str,
    title: str,
    x_label: str,
    y_label: str,
    baseline: tuple[str, float],
) -> Figure:
    """Every point, those of the Pareto front joined (column `front`), and a few with a marker each (`label`)."""
    figure, axes = pyplot.subplots(figsize=(8, 4.5))
    axes.scatter(points[x], points[y], s=9, color=MUTED, alpha=0.35, linewidth=0, label="a combination of ratios")
    best = points[points["front"]].sort_values(x)
    axes.step(best[x], best[y], where="post", color=LINE, linewidth=1.6, marker="o", markersize=4, label="Pareto front")
    colours = seaborn.color_palette("deep")[1:]
    for (_, row), marker, colour in zip(marked.iterrows(), "^Dos*Pv", colours, strict=False):
        axes.plot(row[x], row[y], marker, color=colour, markersize=10, markeredgecolor="white", label=row["label"])
    axes.axhline(baseline[1], color=MUTED, linestyle="--", linewidth=1.2, label=baseline[0])
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    axes.set(title=title, xlabel=x_label, ylabel=y_label)
    return figure


def frontier(
    points: pandas.DataFrame,
    marks: dict[str, str],
    title: str,
    x_label: str,
    y_label: str,
    baseline: tuple[str, float],
) -> Figure:
    """Systems by cost, on a logarithmic axis, and value: a colour and a marker a kind, the front joined.

    points: columns cost, value, kind, front, share (percent: the fuller a point's colour).  marks: kind → its marker.
    """
    figure, axes = pyplot.subplots(figsize=(8, 5))
    axes.axhline(baseline[1], color=MUTED, linestyle="--", linewidth=1.2, label=baseline[0])
    best = points[points["front"]].sort_values("cost")
    right = points["cost"].max() * 1.2
    steps = [*best["cost"], right], [*best["value"], best["value"].iloc[-1]]
    axes.step(*steps, where="post", color=LINE, linewidth=1.6, label="Pareto front", zorder=2)
    for (kind, marker), colour in zip(marks.items(), seaborn.color_palette("deep", 10), strict=False):
        of_kind = points[points["kind"] == kind]
        colours = [(*colour, 0.5 + 0.5 * share / 100) for share in of_kind["share"]]
        style = {"marker": marker, "s": 120 if marker == "*" else 60, "edgecolors": "white", "linewidth": 0.5}
        axes.scatter(of_kind["cost"], of_kind["value"], c=colours, zorder=3, **style)
        if len(of_kind):
            axes.scatter([], [], color=colour, label=kind, **style)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_formatter(ticker.NullFormatter())
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    axes.set(title=title, xlabel=x_label, ylabel=y_label)
    return figure


def bars(
    table: pandas.DataFrame, x: str, y: str, title: str, x_label: str, y_label: str, baseline: tuple[str, float]
) -> Figure:
    """One bar a value of `x`, and a baseline as a line."""
    figure, axes = pyplot.subplots(figsize=(8, 4))
    axes.bar(table[x], table[y], color=LINE)
    axes.axhline(baseline[1], color=MUTED, linestyle="--", linewidth=1.2, label=baseline[0])
    axes.set_xticks(table[x])
    axes.grid(axis="x", visible=False)
    axes.legend(frameon=False)
    axes.set(title=title, xlabel=x_label, ylabel=y_label)
    return figure


def heatmaps(tables: dict[str, pandas.DataFrame], x_label: str, y_label: str) -> Figure:
    """Tables of one shape side by side, each value written in its cell; colours are each table's own range."""
    rows, columns = next(iter(tables.values())).shape
    figure, places = pyplot.subplots(1, len(tables), figsize=(2.2 + 0.95 * columns * len(tables), 1.7 + 0.5 * rows))
    for number, (axes, (title, table)) in enumerate(zip(numpy.atleast_1d(places), tables.items(), strict=True)):
        seaborn.heatmap(table, annot=True, fmt=".2f", cmap="Blues", cbar=False, linewidths=0.5, ax=axes)
        axes.set(title=title, xlabel=x_label, ylabel=y_label if number == 0 else "")
        axes.set_yticks(axes.get_yticks(), table.index if number == 0 else [""] * rows, rotation=0)
        axes.set_xticks(axes.get_xticks(), table.columns, rotation=35, ha="right")
    figure.tight_layout()
    return figure


def ratios(table: pandas.DataFrame, title: str, axis: str) -> Figure:
    """One row a system, a marker for each column: ratios to a reference, on a logarithmic axis; 1 is marked."""
    figure, axes = pyplot.subplots(figsize=(8, 0.42 * len(table) + 1.6))
    heights = list(range(len(table)))
    for marker, column in zip("osD", table, strict=False):
        axes.scatter(table[column], heights, marker=marker, s=48, label=column, alpha=0.85, zorder=3)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_formatter(ticker.NullFormatter())
    axes.set_yticks(heights, table.index)
    axes.invert_yaxis()
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    axes.set(title=title, xlabel=axis)
    return figure


def scatter(table: pandas.DataFrame, x: str, y: str, hue: str, title: str, x_label: str, y_label: str) -> Figure:
    """One point a row, coloured by the number in `hue`; zero on the y axis is marked."""
    figure, axes = pyplot.subplots(figsize=(8, 4))
    points = axes.scatter(table[x], table[y], c=table[hue], cmap="viridis", s=36)
    axes.axhline(0, color=MUTED, linestyle="--", linewidth=1.2)
    figure.colorbar(points, ax=axes, label=hue)
    axes.set(title=title, xlabel=x_label, ylabel=y_label)
    return figure
