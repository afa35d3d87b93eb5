"""The study's plots, one function a kind; each takes a tidy frame and returns a figure, six inches wide for a phone.

A series has a colour that everyone can tell apart, and a marker or a dash besides; legends stand below the axes.
labels: the title, then what the x axis says, and the y axis.
"""

import io
import re
from collections.abc import Iterable
from html import escape as html
from itertools import product
from textwrap import fill

import matplotlib
import numpy
import pandas
import seaborn
from matplotlib import pyplot, ticker
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

matplotlib.rcParams["svg.hashsalt"] = "as2lib"
matplotlib.rcParams["text.parse_math"] = False  # a label is text: "$" is a dollar
seaborn.set_theme(style="whitegrid", context="notebook", palette="colorblind")
LINE, MUTED = "#1f4e79", "#767676"
PALETTE, MARKERS, DASHES = seaborn.color_palette("colorblind", 10), "os^DvPX*<>", ("-", "--", "-.", ":")
WIDTH = 6.0  # inches
COLOURS = 256  # of a PNG file
AROUND = [(x, y) for y in (0, 0.8, -0.8) for x in (1, -1, 0) if x or y]  # where a label stands, seen from its point
ALIGNED = {1: "left", -1: "right", 0: "center"}
Level = tuple[str, float]  # a line's name, and where it stands
NO_METADATA = dict.fromkeys(("Date", "Creator", "Format", "Type"))  # of an SVG file


def dots(table: pandas.DataFrame, value: str, group: str, title: str, axis: str, baseline: Level) -> Figure:
    """One row a system: its mean and its spread over seeds, marked by `group`, with a trivial baseline as a line.

    value: a column, its spreads in the one named with " ±".
    """
    figure, axes = _rows(table.index)
    styles = {name: _style(place) for place, name in enumerate(dict.fromkeys(table[group]))}
    rows = zip(table[group], table[value], table[f"{value} ±"], strict=True)
    for height, (name, mean, spread) in enumerate(rows):
        error = spread if spread > 0 else None
        axes.errorbar(mean, height, xerr=error, capsize=3, markersize=7, linestyle="", **styles[name])
    ends = [*axes.dataLim.intervalx, baseline[1]]
    room = 0.06 * (max(ends) - min(ends)) or 1  # so that nothing lies on the frame
    axes.set_xlim(min(ends) - room, max(ends) + room)
    axes.axvline(baseline[1], color=MUTED, linestyle="--", linewidth=1.4)
    handles = [pyplot.Line2D([], [], linestyle="", label=name, **style) for name, style in styles.items()]
    handles.append(pyplot.Line2D([], [], linestyle="--", color=MUTED, label=baseline[0]))
    return _finished(figure, axes, title, axis, handles=handles)


def forest(table: pandas.DataFrame, title: str, axis: str, mark: str | None = None) -> Figure:
    """Differences with their intervals: columns difference, low, high; zero is marked.

    mark: a column of further values, such as the published differences, drawn as diamonds beside ours.
    """
    figure, axes = _rows(table.index)
    errors = [table["difference"] - table["low"], table["high"] - table["difference"]]
    heights = numpy.arange(len(table))
    style = {"fmt": "o", "color": LINE, "capsize": 3, "markersize": 7}
    axes.errorbar(table["difference"], heights, xerr=errors, label="ours, 95 % interval", **style)
    axes.axvline(0, color="black", linewidth=1)
    if mark is not None and table[mark].notna().any():
        axes.scatter(table[mark], heights + 0.22, marker="D", s=40, color=PALETTE[1], label=mark, zorder=3)
    return _finished(figure, axes, title, axis)


def lines(table: pandas.DataFrame, x: str, y: str, hue: str, *labels: str) -> Figure:
    """Curves, a colour, a marker and a dash for each value of `hue`; where a point repeats, its mean and its range.

    Ranges are bars beside each other, so that none covers another curve.
    """
    figure, axes = pyplot.subplots(figsize=(WIDTH, 4), layout="constrained")
    curves, step = dict(list(table.groupby(hue, sort=False))), numpy.ptp(table[x]) / 150
    for place, (name, points) in enumerate(curves.items()):
        values = points.groupby(x)[y].agg(["mean", "min", "max"])
        at, errors = values.index, None
        if (values["max"] > values["min"]).any():
            at = values.index + (place - (len(curves) - 1) / 2) * step
            errors = [values["mean"] - values["min"], values["max"] - values["mean"]]
        style = _style(place) | {"linestyle": DASHES[place % len(DASHES)], "label": name}
        axes.errorbar(at, values["mean"], yerr=errors, capsize=2, elinewidth=1, markersize=5, **style)
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


def frontier(points: pandas.DataFrame, marks: dict[str, str], baseline: Level, *labels: str) -> Figure:
    """Systems by cost, on a logarithmic axis, and value: a colour and a marker a kind, rare on top, the front joined.

    points: columns cost, value, kind, front, share (percent: the fuller a point's colour), label (empty: none).
    marks: kind → its marker.
    """
    figure, axes = pyplot.subplots(figsize=(WIDTH, 5.6), layout="constrained")
    axes.axhline(baseline[1], color=MUTED, linestyle="--", linewidth=1.4, label=baseline[0])
    best = points[points["front"]].sort_values("cost")
    if len(best):  # a ranker that costs nothing may be as good as all others
        steps = [*best["cost"], points["cost"].max() * 1.2], [*best["value"], best["value"].iloc[-1]]
        axes.step(*steps, where="post", color=LINE, linewidth=1.6, label="Pareto front", zorder=2)
    for (kind, marker), colour in zip(marks.items(), PALETTE, strict=False):
        of_kind = points[points["kind"] == kind].sort_values("share", kind="stable")
        full = of_kind["share"].to_numpy()[:, None] / 100
        colours = 1 - (0.5 + 0.5 * full) * (1 - numpy.array(colour))  # mixed with white: opaque, so that none adds up
        style = {"marker": marker, "s": 120 if marker == "*" else 60, "edgecolors": "white", "linewidth": 0.5}
        axes.scatter(of_kind["cost"], of_kind["value"], c=colours, zorder=4 - len(of_kind) / len(points), **style)
        if len(of_kind):
            axes.scatter([], [], color=colour, label=kind, **style)
    _logarithmic(axes)
    _finished(figure, axes, *labels)
    _label_points(figure, axes, points)
    return figure


def _label_points(figure: Figure, axes: Axes, points: pandas.DataFrame) -> None:
    """Write labels near their points, each where it and its arrow hide fewest points and lines, and no label."""
    axes.margins(y=0.12)
    figure.draw_without_rendering()  # the axes have their size only then
    frame, places, taken = axes.get_window_extent(), axes.transData.transform(points[["cost", "value"]]), []
    paths = [line.get_path().interpolated(20).transformed(line.get_transform()) for line in axes.lines]
    lines = numpy.concatenate([path.vertices for path in paths])
    named = points["label"] != ""
    for place, row in zip(places[named], points[named].itertuples(), strict=True):
        others = places[numpy.abs(places - place).max(axis=1) > 1]  # pixels
        style = {"arrowprops": {"arrowstyle": "-", "color": MUTED}, "fontsize": 9, "zorder": 5, "va": "center"}
        note = axes.annotate(fill(row.label, 28), (row.cost, row.value), (0, 0), textcoords="offset points", **style)
        note.set_in_layout(False)
        tried = []
        for distance, (x, y) in product((14, 28, 45, 65, 90, 120), AROUND):
            note.xyann = distance * x, distance * y
            note.set_horizontalalignment(ALIGNED[x])
            note.get_window_extent()  # moves the text; what it returns has the arrow, too
            box = Text.get_window_extent(note).padded(4)
            outside = not (frame.contains(box.x0, box.y0) and frame.contains(box.x1, box.y1))
            arrow = numpy.linspace(place, numpy.clip(place, box.p0, box.p1), 40)
            crossed = (numpy.linalg.norm(others[:, None] - arrow, axis=2).min(axis=1) < 6).sum()
            hidden = box.count_contains(lines) + 3 * box.count_contains(others) + 2 * crossed
            hidden += 100 * box.count_overlaps(taken) + 1000 * outside + distance // 45
            tried.append((hidden, distance, note.xyann, box))
        *_, note.xyann, box = min(tried, key=lambda trial: trial[:2])
        note.set_horizontalalignment(ALIGNED[int(numpy.sign(note.xyann[0]))])
        taken.append(box)


def speeds(points: pandas.DataFrame, x: str, y: str, *labels: str) -> Figure:
    """A point a row, x logarithmic: a colour a system (the index), a marker a `backend`, hollow where in int8."""
    figure, axes = pyplot.subplots(figsize=(WIDTH, 5), layout="constrained")
    colours = dict(zip(points.index.unique(), PALETTE, strict=False))
    marks = dict(zip(points["backend"].unique(), MARKERS, strict=False))
    for system, row in points.iterrows():
        fill = "none" if "int8" in row["precision"] else colours[system]
        style = {"facecolors": fill, "edgecolors": colours[system], "marker": marks[row["backend"]]}
        axes.scatter(row[x], row[y], s=70, linewidth=1.8, zorder=3, **style)
    named = [pyplot.Line2D([], [], linewidth=6, color=colour, label=name) for name, colour in colours.items()]
    dark = {"linestyle": "", "color": MUTED, "markersize": 8}
    named += [pyplot.Line2D([], [], marker=mark, label=name, **dark) for name, mark in marks.items()]
    named.append(pyplot.Line2D([], [], marker="o", markerfacecolor="none", label="int8: hollow", **dark))
    _logarithmic(axes)
    return _finished(figure, axes, *labels, handles=named)


def bars(table: pandas.DataFrame, x: str, y: str, title: str, x_label: str, y_label: str, baseline: Level) -> Figure:
    """One bar a value of `x`, and a baseline as a line."""
    figure, axes = pyplot.subplots(figsize=(WIDTH, 4), layout="constrained")
    axes.bar(table[x], table[y], color=LINE)
    axes.axhline(baseline[1], color="black", linestyle="--", linewidth=1.4, label=baseline[0])
    axes.set_xticks(table[x])
    axes.grid(axis="x", visible=False)
    return _finished(figure, axes, title, x_label, y_label)


def heatmaps(tables: dict[str, pandas.DataFrame], x_label: str, y_label: str) -> Figure:
    """Tables of one shape, two beside each other, values in the cells; colours are each table's own range."""
    (rows, columns), lines = next(iter(tables.values())).shape, -(-len(tables) // 2)
    across = min(2, len(tables))
    size = 2.2 + 0.7 * columns * across, (1.6 + 0.45 * rows) * lines
    figure, places = pyplot.subplots(lines, across, figsize=size, layout="constrained", squeeze=False)
    for number, (axes, (title, table)) in enumerate(zip(places.flat, tables.items(), strict=False)):
        first = number % across == 0
        known = table.notna().any(axis=None)  # of a table without any value there is no range of colours
        seaborn.heatmap(
            table if known else table.fillna(0),
            mask=table.isna(),
            annot=True,
            fmt=".2f",
            cmap="Blues",
            cbar=False,
            linewidths=0.5,
            xticklabels=1,  # every one, however long
            yticklabels=1,
            ax=axes,
        )
        axes.set(xlabel=x_label if number >= len(tables) - across else "", ylabel=y_label if first else "")
        axes.set_title(title, fontsize=12)
        axes.set_yticks(axes.get_yticks(), _wrapped(table.index) if first else [""] * rows, rotation=0)
        axes.set_xticks(axes.get_xticks(), table.columns, rotation=35, ha="right")
    for axes in places.flat[len(tables) :]:
        axes.remove()
    return figure


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
    """An SVG file, not indented, that says what it is to who cannot see it.

    Its ids begin with `name`, so pages can hold several; those of letters, its most frequent, are short.
    """
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", bbox_inches="tight", metadata=NO_METADATA)
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", re.sub(r"\n +", "\n", drawn.getvalue()))
    text = text.replace("DejaVuSans-", "")
    labels = f' role="img" aria-labelledby="{name}-title {name}-desc"'
    names = f'<title id="{name}-title">{html(title)}</title>\n <desc id="{name}-desc">{html(description)}</desc>'
    return re.sub(r"(<svg[^>]*)>", lambda tag: f"{tag[1]}{labels}>\n {names}", text, count=1)


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
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_formatter(ticker.NullFormatter())


def _finished(figure: Figure, axes: Axes, title: str, x_label: str, y_label: str = "", handles=None) -> Figure:
    """With a title, labels, and below the axes a legend, where there is something to name."""
    axes.set(xlabel=x_label, ylabel=y_label)
    figure.suptitle(fill(title, 62), fontsize=13)
    handles = handles or axes.get_legend_handles_labels()[0]
    if handles:
        names = [str(handle.get_label()) for handle in handles]
        across = 1 if max(map(len, names)) > 30 else 2 if max(map(len, names)) > 16 else 3
        figure.legend(handles=handles, loc="outside lower center", ncols=min(across, len(names)), frameon=False)
    return figure
