"""Plans of every kind, and their cards."""

from dataclasses import dataclass
from functools import cache

from incrowd import views
from incrowd.planner.plan import make_plan
from incrowd.plans import Plan
from incrowd.presentation.card import Card, certified_card
from incrowd.survey import Survey
from tests.conftest import local_plan, second_round, yes_no_question

EVIL = "<script>alert('x')</script>"
NAMES = (
    "a | b",
    "*bold* __strong__ _em_",
    "[link](http://a.example)",
    "![picture](http://a.example/p.png)",
    "`code` ~~gone~~ $x$ &lt; \\",
    "<img src=x onerror=alert(1)>",
    "größe 調査",
    "# heading",
)


@cache
def nasty() -> Plan:
    """User text of every kind that HTML or Markdown could read as markup."""
    kinds = {"id": "kind", "type": "choice", "options": NAMES}
    return local_plan(
        yes_no_question(EVIL),
        yes_no_question("# a_b **c**"),
        kinds,
        name=f"Drugs {EVIL} {NAMES[1]} #",
    )


@cache
def outlier() -> Plan:
    privacy = {"epsilon": 1.0, "delta": 0.01, "analysis": "outlier"}
    raw = {"name": "Old analysis", "crowd": 500, "privacy": privacy}
    return make_plan(Survey.of(raw | {"question": [yes_no_question("a")]}))


@cache
def wide() -> Plan:
    """Many options that travel apart, text, and devices of their own, in several messages."""
    sites = [f"site {number}" for number in range(2000)]
    return local_plan(
        {"id": "site", "type": "choice", "options": sites},
        {"id": "word", "type": "text", "block": 16, "hashes": 2, "cohorts": 4},
        {"id": "topics", "type": "multi", "options": list("abcd"), "at_most": 2, "optional": True},
        {"id": "age", "type": "number", "edges": [0, 18, 65]},
        {
            "id": "spun",
            "type": "choice",
            "options": list("xyz"),
            "randomizer": {"kind": "k-ary", "epsilon": 0.1},
        },
    )


PLANS = {"nasty": nasty, "rounds": second_round, "outlier": outlier, "wide": wide}


@cache
def carded(name: str) -> Card:
    return certified_card(PLANS[name](), f"{name}.json")


def texts(card: Card) -> str:
    """All that is on a card, as it should be read."""
    parts = [
        card.title,
        card.kind,
        card.heading,
        card.claim,
        *card.symbols,
        *card.warnings,
    ]
    for section in card.sections:
        parts += [section.title, *section.paragraphs, *section.code]
        if section.grid:
            parts += [text for row in (section.grid.head, *section.grid.rows) for text in row]
    return "\n".join(parts)


@dataclass(frozen=True)
class StatedResult(views.Result):
    """A result that is stated in full."""

    tables: tuple[views.Sheet, ...]
    matrices: tuple[views.Square, ...] = ()
    title: str = "A title"
    notes: tuple[str, ...] = ()
    use: str = ""
    guarantee: None = None

    def facts(self):
        return {}

    def long_table(self):
        return self.tables[0]

    def sheets(self):
        return self.tables

    def squares(self):
        return self.matrices

    def view(self):
        return views.View(self.title, notes=self.notes)

    @property
    def in_r(self):
        return self.use
