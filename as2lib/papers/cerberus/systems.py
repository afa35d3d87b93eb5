"""The catalogue of CERBERUS: its systems by the prefix of their runs, and what tables, figures and claims call them."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from as2lib.runs.params import FAMILIES, SIZES, Pairs
from as2lib.runs.run import System

if TYPE_CHECKING:
    from as2lib.study import Study

STUDENT = FAMILIES[0]  # the student's family: every distilled row but 7 and 8 starts from its base model
ROLES = {"large": "teacher", "base": "base"}  # size → first part of a run's name
KINDS = {"large": "teachers", "base": "base size"}
HEADS = len(FAMILIES)  # one for each teacher
SECOND, LONGER = "second/", "longer/"  # of the names of runs on a second target, and at a larger budget
HEAD_DEPTHS, PAPER_DEPTH = (1, 2, 4, 6), 12  # Table 4: the layers of a head, of the 12 of ELECTRA base
TRIVIAL = [  # as Cosinet's Table 2 calls them (section 2.1)
    System("lexical/reciprocal_rank", "original order (RR)", "trivial"),
    System("lexical/word_overlap", "word overlap (WO)", "trivial"),
    System("lexical/overlap_then_rank", "WO, ties by order (WO+RR)", "trivial"),
]
BASELINE = System(TRIVIAL[-1].prefix, "WO+RR (trivial baseline)", "trivial")  # as every table shows it


def systems(study: "Study") -> dict[str, System]:
    """Run prefix → system, of every row of notebooks 01 to 07; also rows that the study does not run.

    label: in tables of results; short: in comparisons and legends; kind: trivial, teachers, base size, ensemble
    or heads.
    """
    trained = [*models(study), *direct(study), *students(study), *strategies(study), *configurations(study)]
    there = [replace(row, short=f"{row.name}, second target") for row in on_second(study)]  # a name may be both's
    return {system.prefix: system for system in [*TRIVIAL[:2], BASELINE, *trained, *there]}


def models(study: "Study") -> list[System]:
    """Table 2, rows 1-6, in the paper's order: the large teachers and the base models."""
    return [
        System(f"{role}/{family}", study.label(family, size), KINDS[size])
        for size, role in ROLES.items()
        for family in reversed(FAMILIES)
    ]


def direct(study: "Study") -> list[System]:
    """Rows 1-6 without the transfer step."""
    return [
        System(
            f"direct/{family}-{size}", f"{study.label(family, size)}, without transfer", KINDS[size], "without transfer"
        )
        for size in SIZES
        for family in reversed(FAMILIES)
    ]


def students(study: "Study") -> list[System]:
    """Table 2, rows 7-14, and the mean of the three teachers themselves."""
    name, mhs = {family: f"{study.backbones[family].name} base" for family in FAMILIES}, mhs_label(study)
    found = [
        System(f"kd/{family}", f"one teacher, {name[family]}", "base size", f"{name[family]}, distilled")
        for family in reversed(FAMILIES)
    ]
    return [
        System("ensemble/teachers", "mean of the 3 teachers", "teachers"),
        *found,
        System("ensemble/base", "3 base models, no teacher", "ensemble", "ensemble of 3 base"),
        System("ensemble/kd", "3 distilled of three families", "ensemble", "ensemble of 3 distilled of three families"),
        System("ensemble/distilled", "3 distilled of one family", "ensemble", "ensemble of 3 distilled of one family"),
        System("hydra/3h1", f"Hydra ({mhs}, 3 base teachers)", "heads"),
        System("mhs/3h1", f"{mhs} (one teacher a head)", "heads", "MHS"),
    ]


def strategies(study: "Study") -> list[System]:
    """The rows of Table 3 that are not in Table 2, and the student of the mean of the teachers."""
    base, mhs = f"{study.backbones[STUDENT].name} base", mhs_label(study)
    return [
        System("kd/electra-sum", f"{base}, sum of the losses", "base size", "KD_Sum"),
        System("kd/electra-robin", f"{base}, in turn", "base size", "KD_RR"),
        System("kd/electra-from-ensemble", f"{base} from the mean of 3 teachers", "base size"),
        System("mhs/3h1-no-teacher", f"{mhs}, no teacher", "heads", "MHS, no teacher"),
        System("mhs/3h1-one-teacher", f"{mhs}, one teacher for all heads", "heads", "MHS, one teacher"),
    ]


def configurations(study: "Study") -> list[System]:
    """Table 4: heads of more layers, as many as the paper's and this study's; beyond it: other numbers of heads."""
    deeper = sorted({*head_depths(study), *HEAD_DEPTHS} - {1})
    found = [System(f"mhs/{HEADS}h{n}", mhs_label(study, n), "heads", f"MHS {HEADS}H{n}") for n in deeper]
    for heads in sorted({*study.mhs.heads} - {HEADS}):
        found.append(System(f"mhs/{heads}h1", "1 head" if heads == 1 else f"{heads} heads", "heads", f"MHS {heads}H1"))
    return found


def on_second(study: "Study") -> list[System]:
    """Table 2 on a second target (the paper's ASNQ columns): the transfer set, or `second`; none where neither is one.

    On either nothing is transferred.
    """
    other = with_second(study) if study.second else study
    called = {system.prefix: system for system in [BASELINE, *models(other), *students(other)]}
    for family in FAMILIES:
        base = called[f"base/{family}"]
        called[base.prefix] = replace(base, label=f"no teacher, {base.name}", short=base.name)
    return [replace(called[row], prefix=prefix) for prefix, row in rows_on_second(study).items()]


def rows_on_second(study: "Study") -> dict[str, str]:
    """Run prefixes on the second target → those of the same rows on the target set; none where there is none."""
    rows = rows_on_transfer(study)
    if study.second:
        return {SECOND + row: row for row in rows.values() if row in study.second.rows}
    return rows if has_transfer_target(study) else {}


def rows_on_transfer(study: "Study") -> dict[str, str]:
    """Run prefixes on the transfer set, where that is a target → those of the same rows on the target set."""
    found = {f"transfer/{family}-{size}": f"{role}/{family}" for family in FAMILIES for size, role in ROLES.items()}
    same = [BASELINE.prefix, *(system.prefix for system in students(study)[1:])]  # but for the mean of the teachers
    return found | {f"transfer-{prefix}": prefix for prefix in same}


def has_transfer_target(study: "Study") -> bool:
    """Whether systems can be compared on the transfer set: it has dev and test splits, the same for all encoders."""
    backbones = [getattr(family, size) for family in study.backbones.values() for size in SIZES]
    sets = [backbone.transfer or study.data.transfer for backbone in backbones]
    return all(one.dev and one.test and (one.dev, one.test) == (sets[0].dev, sets[0].test) for one in sets)


def with_second(study: "Study") -> "Study":
    """The same study with `second` as its transfer set, from which each family learns by its own part."""
    given = study.second
    pairs = {family: Pairs(train=given.train[family], dev=given.dev, test=given.test) for family in FAMILIES}
    fits = {"large": {}, "base": given.base_fit.model_dump() if given.base_fit else {}}
    other = with_encoders(study, lambda family, size: {"transfer": pairs[family], "transfer_fit": fits[size]})
    named = {name: family.model_copy(update={"name": given.names[name]}) for name, family in other.backbones.items()}
    data = study.data.model_copy(update={"transfer": pairs[STUDENT]})
    return other.model_copy(
        update={"data": data, "backbones": named, "fit": study.fit.model_copy(update={"transfer": given.fit})}
    )


def with_encoders(study: "Study", changes: Callable[[str, str], dict[str, Any]]) -> "Study":
    """The same study with other fields of its encoders, by family and size."""
    found = {}
    for name, family in study.backbones.items():
        sizes = {size: getattr(family, size).model_copy(update=changes(name, size)) for size in SIZES}
        found[name] = family.model_copy(update=sizes)
    return study.model_copy(update={"backbones": found})


def head_depths(study: "Study") -> list[int]:
    """The layers of a head in this study's configurations: the paper's, scaled, and those of `mhs.bodies`."""
    depth = study.mhs.body + 1
    return sorted({scaled(layers, depth) for layers in HEAD_DEPTHS} | {depth - body for body in study.mhs.bodies})


def stands_for(study: "Study") -> dict[str, str]:
    """This study's configurations of Table 4 → the paper's; the leanest where several of those fall on one."""
    depth = study.mhs.body + 1
    return {f"mhs/{HEADS}h{scaled(layers, depth)}": f"mhs/{HEADS}h{layers}" for layers in reversed(HEAD_DEPTHS)}


def scaled(layers: int, depth: int) -> int:
    """A head of that many of the paper's 12 layers, in a model of `depth` layers."""
    return max(1, round(layers * depth / PAPER_DEPTH))


def mhs_label(study: "Study", layers: int = 1) -> str:
    """Such as MHS B11 3H1: a body of 11 layers, and three heads of one; without the body where none is left."""
    body = study.mhs.body + 1 - layers
    return f"MHS B{body} {HEADS}H{layers}" if body > 0 else f"MHS {HEADS}H{layers}"
