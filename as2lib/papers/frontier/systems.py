"""The catalogue of the frontier: every system of the four papers that ranks the target's test set, and its kind."""

from dataclasses import replace
from typing import TYPE_CHECKING

from as2lib.papers.cascade.systems import recipes
from as2lib.papers.cerberus import longer
from as2lib.papers.cerberus import systems as cerberus
from as2lib.papers.cosinet import systems as cosinet
from as2lib.papers.govern import systems as govern
from as2lib.papers.kinds import plan as kinds
from as2lib.runs.run import Notebook, System, of_systems, prefix_of

if TYPE_CHECKING:
    from as2lib.study import Study

BASELINE, BASE, HEADS, LARGE = "lexical/overlap_then_rank", "base/electra", "mhs/3h1", "teacher/electra"
UNTAUGHT = f"{HEADS}-no-teacher"  # as exits are
FILTERS = {"Cosinet": "cosinet/birnn", "CA": "ca/birnn"}  # cheap rankers before an expensive one
SHUFFLED = [f"shuffled/{prefix}" for prefix in FILTERS.values()]  # these in a random order of the candidates
TRIVIAL, WORDS, ENCODER, ENSEMBLE, HEADED, CASCADE = KINDS = (
    "trivial", "no transformer", "one encoder", "ensemble", "heads", "cascade"
)  # fmt: skip


def systems(study: "Study") -> dict[str, System]:
    """Run prefix → system, of one of `KINDS`; where two papers have the same run, the first one's.

    Left out: systems that rank another set, and those that get the candidates in a random order.
    """
    of_cerberus = cerberus.systems(study) | longer.called(study) | kinds.called(study)
    found = {prefix: _of_cerberus(row) for prefix, row in of_cerberus.items()}
    if study.cosinet:
        own = cosinet.systems(study).items()  # beside rows of CERBERUS, and its models in a random order
        found |= {prefix: replace(row, kind=WORDS) for prefix, row in own if prefix.startswith(("cosinet/", "ca/"))}
    if study.govern:
        found = {prefix: _of_govern(row) for prefix, row in govern.systems(study).items()} | found
    if study.cascade:
        for recipe in recipes(study).values():
            found[f"{recipe.prefix}/target"] = System(f"{recipe.prefix}/target", recipe.label, CASCADE)
        heads = found[longer.twin(study, UNTAUGHT)]
        found[exited(study)] = replace(heads, prefix=exited(study), label=f"{heads.label}, exits before its heads")
        for layers in study.cascade.exits:
            found[f"monolith/{layers}/target"] = System(f"monolith/{layers}/target", f"MT of {layers} layers", ENCODER)
    ranked = {prefix_of(name) for name, run in study.plan.items() if run.data.get("test") == study.data.target.test}
    return {prefix: system for prefix, system in found.items() if prefix in ranked}


def exited(study: "Study") -> str:
    """The prefix of the multiple-heads student with exits; it has no teacher."""
    return f"{longer.twin(study, UNTAUGHT)}-exits"


def notebooks(study: "Study") -> list[Notebook]:
    """Notebook 11 with the runs of the catalogue's systems, and of the cheap rankers in a random order."""
    read = of_systems(study, [*systems(study), *(SHUFFLED if study.cosinet else [])])
    return [Notebook("11_frontier", "Which system for which budget?", "no table: what the papers leave open", read)]


def _of_cerberus(row: System) -> System:
    """Of its kind here; what tables of one topic call "2 heads" or "3 distilled" is called by its short name."""
    label = row.short if row.label[0].isdigit() else row.label
    kind = {"trivial": TRIVIAL, "heads": HEADED}.get(row.kind, ENCODER)
    ensemble = row.prefix.removeprefix(longer.BEFORE).startswith("ensemble/")
    return replace(row, label=label, kind=ENSEMBLE if ensemble else kind)


def _of_govern(row: System) -> System:
    """Of its kind here; a fold's teacher with its number, and a student of the ablation called a student."""
    before = "GOVERN student" if row.kind in ("mean", "GOVERN", "one replaced") else "GOVERN"
    label = f"{before}: {row.label}" + (f" {row.short}" if row.kind == "fold" else "")
    return replace(row, label=label, kind={"ensemble": ENSEMBLE, "heads": HEADED}.get(row.kind, ENCODER))
