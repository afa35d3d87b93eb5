"""Numbers as a sentence or a table says them: true minus signs, no "-0.0", no "0 of 3"; knows no study and no run."""

import pandas

MINUS, UNKNOWN = "\u2212", "not known"


def number(value: float, digits: int = 1) -> str:
    """ "61.2", "−0.4", "0.0" also for what rounds to it from below; `UNKNOWN` where there is none."""
    if pandas.isna(value):
        return UNKNOWN
    text = f"{value:,.{digits}f}"
    return text.lstrip("-") if not text.strip("-0.,") else text.replace("-", MINUS)


def signed(value: float, digits: int = 1) -> str:
    """A change in a list: "+0.4", "−0.4", "0.0"."""
    text = number(value, digits)
    return text if pandas.isna(value) or text.startswith(MINUS) or not text.strip("0.,") else f"+{text}"


def span(low: float, high: float, digits: int = 1) -> str:
    """ "−1.2 to 0.6"; one number where both ends say the same."""
    ends = dict.fromkeys((number(low, digits), number(high, digits)))
    return " to ".join(ends)


def apart(value: float, other: str, of: str = "MAP", digits: int = 1) -> str:
    """Where something stands: "0.4 points of MAP above the ensemble", "… below …", "level with the ensemble in MAP"."""
    if pandas.isna(value):
        return f"at an unknown distance from {other}"
    size = number(abs(value), digits)
    if not size.strip("0."):
        return f"level with {other} in {of}"
    return f"{size} points of {of} {'above' if value > 0 else 'below'} {other}"


def changes(value: float, of: str = "MAP", digits: int = 1) -> str:
    """What something does: "adds 0.4 points of MAP", "costs 0.4 points of MAP", "leaves MAP as it is"."""
    if pandas.isna(value):
        return f"changes {of} by an unknown amount"
    size = number(abs(value), digits)
    if not size.strip("0."):
        return f"leaves {of} as it is"
    return f"{'adds' if value > 0 else 'costs'} {size} points of {of}"


def changed(low: float, high: float) -> str:
    """What several do: "adds 0.3 to 1.2 points of MAP", "changes MAP by −0.3 to 1.2 points", "leaves MAP as it is"."""
    if span(low, high) == "0.0":
        return "leaves MAP as it is"
    if not low < 0 < high and not pandas.isna(low + high):
        ends = sorted((abs(low), abs(high)))
        return f"{'adds' if high > 0 else 'costs'} {span(*ends)} points of MAP"
    return f"changes MAP by {span(low, high)} points"


def some(count: int, total: int, of: str = "") -> str:
    """ "none of the 6 models", "1 of the 6 models", "all 6 models"; of one: "none", "the only one"."""
    if total == 1:
        return "the only one" if count else "none"
    behind = f" {of}" if of else ""
    if not count:
        return f"none of the {total}{behind}"
    return f"all {total}{behind}" if count == total else f"{count} of the {total}{behind}"


def percent_apart(value: float, other: str) -> str:
    """A relative cost: "37 % less than the full model", "54 % more than …", "as much as …"."""
    if pandas.isna(value):
        return f"an unknown share of {other}"
    size = number(abs(value), 0)
    return f"{size} % {'more' if value > 0 else 'less'} than {other}" if size != "0" else f"as much as {other}"


def begin(sentence: str) -> str:
    """With a capital letter."""
    return sentence[:1].upper() + sentence[1:]


def listed(names: list[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part) if names else "none"


def spread_text(mean: float, deviation: float) -> str:
    """A mean over seeds, "61.2 ± 0.4"; with one seed the value alone."""
    return number(mean) if pandas.isna(deviation) else f"{number(mean)} ± {number(deviation)}"


def p_text(p: float) -> str:
    """A p value in a sentence, "p < 0.001", "p = 0.012", "p = 1.00"."""
    cell = p_cell(p)
    return f"p {cell}" if cell.startswith("<") else f"p = {cell}" if not pandas.isna(p) else f"p {UNKNOWN}"


def p_cell(p: float, missing: str = UNKNOWN) -> str:
    """The same under a heading: two digits that count below 0.1, two decimals above."""
    if pandas.isna(p):
        return missing
    return "< 0.001" if p < 0.001 else f"{p:.4f}" if p < 0.00995 else f"{p:.3f}" if p < 0.0995 else f"{p:.2f}"
