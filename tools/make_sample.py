"""Writes as2lib/data/sample.parquet, the corpora that the package ships: questions about made-up places, from a seed.

A question asks for one role (who, when, why, how, …) of one event (founding, repair, …) of one entity. A sentence
answers it where a single clause joins that entity, that event and that role. Distractors keep one or two of the three,
or have all three but in two clauses; questions and answers mostly name an event in different words.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import NamedTuple

import pandas

FILE = Path(__file__).parents[1] / "as2lib" / "data" / "sample.parquet"
SEED = 7
UNLABELLED = "sample-unlabelled"

Row = dict[str, str | int]

# Event → its wordings in questions, and in answers ("past|participle" where the two differ). The last wording of the
# answers is the target set's alone.
EVENTS: dict[str, tuple[list[str], list[str]]] = {
    "found": (["founded", "established"], ["launched", "set up", "began|begun"]),
    "design": (["designed", "planned"], ["devised", "drafted", "outlined"]),
    "fund": (["funded", "financed"], ["sponsored", "paid for", "backed"]),
    "close": (["closed", "abandoned"], ["locked", "shut", "gave up|given up"]),
    "repair": (["repaired", "restored"], ["mended", "renovated", "put right"]),
    "damage": (["damaged", "wrecked"], ["ruined", "smashed", "laid low"]),
}

# Role → question forms; {e} is the entity, {v} the event.
QUESTIONS: dict[str, list[str]] = {
    "who": ["Who {v} {e}?", "By whom was {e} {v}?", "Which person {v} {e}?"],
    "when": ["When was {e} {v}?", "In what year was {e} {v}?", "What year was {e} {v}?"],
    "why": ["Why was {e} {v}?", "For what reason was {e} {v}?", "What was the reason that {e} was {v}?"],
    "how": ["How was {e} {v}?", "With what help was {e} {v}?", "How could {e} be {v}?"],
    "price": ["At what price was {e} {v}?", "For how many crowns was {e} {v}?"],
    "day": ["On which weekday was {e} {v}?", "On what day of the week was {e} {v}?"],
}
ADJUNCTS: dict[str, list[str]] = {
    "who": ["by {}"], "when": ["in {}"], "why": ["because of {}", "owing to {}"], "how": ["with {}", "using {}"],
    "price": ["for {} crowns", "costing {} crowns"], "day": ["one {} morning", "on a {}"],
}  # fmt: skip

KINDS = ["institute", "museum", "bridge", "library", "theatre", "school"]
NAMES = ("Maron Calder Orlo Hallow Tarn Brisk Velden Corvin Ashby Dunmore Elsin Farrow Garth").split()
FIRST_NAMES = (
    "Elda Odo Mira Anton Berta Cyril Dora Emil Flora Gustav Hanna Igor Julia Karl Lena Martin Nora Oscar Paula Rolf"
).split()
SURNAMES = (
    "Vance Fenn Abel Bruck Coster Dahl Ekman Frost Grell Holm Iversen Jansen Krantz Lund Mohr Nagel Olsen Prell Quist "
    "Rask Sand Thiel Unger Voss"
).split()
REASONS = [
    "the war", "a great flood", "an old promise", "a royal wedding", "a public vote", "a long quarrel",
    "the king's illness", "high rents", "a bishop's wish", "a lost bet", "the new railway", "a bad harvest",
]  # fmt: skip
MEANS = ["borrowed tools", "hired machines", "a secret vote", "a brass band", "stolen carts", "old ships", "two horses"]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
ASIDES = [
    "{e} has {n} rooms", "{e} stands on a hill near {t}", "{e} lies {n} miles from {t}", "visitors reach {e} by ferry",
    "{e} is shown on many stamps", "there are {n} steps in front of {e}", "{e} is open on {n} days a year",
]  # fmt: skip

# What a distractor keeps of the question; or all of it in two clauses (swap); or a fact of another sort (aside).
DISTRACTORS = ["entity event", "entity role", "event role", "entity", "event", "role", "", "swap", "aside"]


@dataclass(frozen=True)
class Mix:
    """What tells one corpus from the other: sizes, wordings, and how often each event, role and distractor occurs."""

    questions: dict[str, int]  # split → how many
    candidates: tuple[int, int]  # fewest and most, of an ordinary question
    answer_wordings: slice  # of an event's answer wordings
    event_weights: list[int]
    role_weights: list[int]
    distractor_weights: list[int]
    echo: tuple[float, float]  # how often a wrong and a right answer use the question's own wording of the event
    joined: float  # share of right answers with a second clause
    unusual: dict[str, float]  # share of questions with two, no, or only correct candidates


_TRANSFER = Mix(
    questions={"train": 7000, "dev": 120, "test": 120}, candidates=(2, 3), answer_wordings=slice(0, -1),
    event_weights=[4, 4, 3, 3, 2, 2], role_weights=[5, 5, 4, 4, 3, 3], distractor_weights=[6, 1, 1, 5, 4, 1, 5, 1, 1],
    echo=(0.4, 0.3), joined=0.1, unusual={"two": 0.05, "none": 0.05, "only": 0.01},
)  # fmt: skip
_TARGET = Mix(
    questions={"train": 400, "dev": 180, "test": 500}, candidates=(5, 6), answer_wordings=slice(0, None),
    event_weights=[2, 2, 3, 3, 4, 4], role_weights=[3, 3, 3, 4, 4, 4], distractor_weights=[7, 1, 1, 5, 3, 1, 3, 1, 2],
    echo=(0.65, 0.1), joined=0.15, unusual={"two": 0.05, "none": 0.06, "only": 0.03},
)  # fmt: skip
# The transfer set's questions with tens of candidates, fewer of them near misses: to rank, not to learn from.
_WIDE = replace(
    _TRANSFER, questions={"dev": 80, "test": 150}, candidates=(20, 28),
    distractor_weights=[12, 1, 1, 12, 10, 1, 12, 1, 2],
)  # fmt: skip
MIXES: dict[str, Mix] = {"sample-transfer": _TRANSFER, "sample": _TARGET, "sample-wide": _WIDE}
# A pool of the target set's kind, four times its questions, for distillation without labels.
POOL = replace(_TARGET, questions={"train": 1600})
FILLERS = {"when": range(1840, 1960), "why": REASONS, "how": MEANS, "price": range(100, 1000, 10), "day": DAYS}
NAMED, GENERIC, PRONOUN = range(3)


class Entity(NamedTuple):
    """A made-up place, such as the Maron Institute."""

    name: str
    kind: str

    def refer(self, how: int) -> str:
        return (f"the {self.name} {self.kind.capitalize()}", f"the {self.kind}", "it")[how]


def corpora() -> pandas.DataFrame:
    """The rows of every corpus and split, the same on every machine; no question occurs in two.

    The pool "sample-unlabelled" comes last and has no labels.
    """
    seen: set[str] = set()  # only asked for membership
    tables = [
        pandas.DataFrame(_split(name, split, mix, seen)).assign(corpus=name, split=split)
        for name, mix in (*MIXES.items(), (UNLABELLED, POOL))
        for split in mix.questions
    ]
    table = pandas.concat(tables, ignore_index=True).astype({"label": "Int8"})
    table.loc[table["corpus"] == UNLABELLED, "label"] = pandas.NA
    return table


def _split(corpus: str, split: str, mix: Mix, seen: set[str]) -> list[Row]:
    rng, rows = Random(f"{corpus}/{split}/{SEED}"), []
    for number in range(mix.questions[split]):
        writer = Writer(rng, mix)
        while writer.question in seen:
            writer = Writer(rng, mix)
        seen.add(writer.question)
        for answer, label in writer.candidates():
            question_id = f"{corpus}-{split}-{number:04d}"
            rows.append({"question_id": question_id, "question": writer.question, "answer": answer, "label": label})
    return rows


class Writer:
    """Writes one question and its candidates, all drawn from `rng`."""

    def __init__(self, rng: Random, mix: Mix):
        self.rng, self.mix = rng, mix
        self.entity = Entity(rng.choice(NAMES), rng.choice(KINDS))
        self.event = rng.choices(list(EVENTS), mix.event_weights)[0]
        self.role = rng.choices(list(QUESTIONS), mix.role_weights)[0]
        self.wording = rng.choice(EVENTS[self.event][0])
        form = rng.choice(QUESTIONS[self.role])
        self.question = form.format(e=self.entity.refer(NAMED), v=self.wording)

    def candidates(self) -> list[tuple[str, int]]:
        """The sentences and their labels in the order of the page, where a right one tends to come early."""
        rng, (fewest, most) = self.rng, self.mix.candidates
        size = rng.randint(fewest, most)
        unusual = rng.choices(["two", "none", "only", "one"], [*self.mix.unusual.values(), 1])[0]
        right = {"two": 2, "none": 0, "only": rng.randint(1, 2), "one": 1}[unusual]
        wrong = 0 if unusual == "only" else size - right
        kinds = rng.choices(DISTRACTORS, self.mix.distractor_weights, k=wrong)
        page = [(self.distractor(kind), 0) for kind in kinds]
        for _ in range(right):
            places = range(len(page) + 1)
            place = rng.choices(places, [0.85**i for i in places])[0]
            page.insert(place, (self.correct(), 1))
        return page

    def correct(self) -> str:
        clause = self.clause(self.entity, self.event, self.role, how=self.reference())
        if self.rng.random() < self.mix.joined:
            return self.join(clause, self.clause(self.other_entity(), self.other_event(), self.role))
        return self.finish(clause)

    def distractor(self, kind: str) -> str:
        if kind == "swap":
            first = self.clause(self.entity, self.other_event(), self.role, how=self.reference())
            return self.join(first, self.clause(self.other_entity(), self.event, self.role))
        if kind == "aside":
            name, aside = self.entity.refer(self.rng.choice([NAMED, GENERIC])), self.rng.choice(ASIDES)
            return self.finish(aside.format(e=name, n=self.rng.randint(3, 60), t=self.rng.choice(NAMES)))
        entity, how = (self.entity, self.reference()) if "entity" in kind else (self.other_entity(), NAMED)
        event = self.event if "event" in kind else self.other_event()
        return self.finish(self.clause(entity, event, self.role if "role" in kind else None, how=how))

    def clause(self, entity: Entity, event: str, role: str | None, how: int = NAMED) -> str:
        """One clause that states the event of the entity with `role`, or with any roles but the asked one."""
        rng = self.rng
        others = [other for other in QUESTIONS if other != self.role]
        roles = rng.sample(others, rng.choices([0, 1], [2, 1])[0] if role else rng.choice([1, 1, 2]))
        roles = rng.sample([role, *roles], len(roles) + 1) if role else roles
        right = entity is self.entity and role is not None
        if event == self.event and rng.random() < self.mix.echo[right]:
            wording = self.wording
        else:
            wording = rng.choice(EVENTS[event][1][self.mix.answer_wordings])
        past, participle = (wording.split("|") * 2)[:2]
        name, adjuncts = entity.refer(how), {role: self.adjunct(role) for role in roles}
        if "who" in adjuncts and how != PRONOUN and rng.random() < 0.5:
            agent = adjuncts.pop("who").removeprefix("by ")
            cleft = rng.random() < 0.2
            return " ".join([f"it was {agent} who" if cleft else agent, past, name, *adjuncts.values()])
        fronted = adjuncts.pop(roles[0]) + " " if roles[0] != "who" and rng.random() < 0.3 else ""
        return " ".join([f"{fronted}{name} was {participle}", *adjuncts.values()])

    def adjunct(self, role: str) -> str:
        rng = self.rng
        person = f"{rng.choice(FIRST_NAMES)} {rng.choice(SURNAMES)}" if role == "who" else ""
        filler = person or rng.choice(FILLERS[role])
        return rng.choice(ADJUNCTS[role]).format(filler)

    def reference(self) -> int:
        return self.rng.choices([NAMED, GENERIC, PRONOUN], [6, 3, 1])[0]

    def other_event(self) -> str:
        return self.rng.choice([event for event in EVENTS if event != self.event])

    def other_entity(self) -> Entity:
        """Another entity; it may share the name or the kind with the one asked about."""
        names = [name for name in NAMES if name != self.entity.name]
        kinds = [kind for kind in KINDS if kind != self.entity.kind]
        name, kind = self.rng.choice(names), self.rng.choice(kinds)
        shared = self.rng.choices(["name", "kind", ""], [1, 1, 2])[0]
        return Entity(self.entity.name if shared == "name" else name, self.entity.kind if shared == "kind" else kind)

    def join(self, first: str, second: str) -> str:
        return self.finish(self.rng.choice(["{}, and {}", "{}, but {}", "{}, while {}"]).format(first, second))

    @staticmethod
    def finish(clause: str) -> str:
        return f"{clause[0].upper()}{clause[1:]}."


if __name__ == "__main__":
    corpora().to_parquet(FILE, index=False, compression="zstd", compression_level=19)
