"""The survey page draws once for a person: whoever sees and opens every upload holds one draw.

Each outcome of the coins is carried out by the page's own outbox, so that delta is exact.
"""

import json
import shutil
from pathlib import Path

import pytest

import incrowd
from incrowd.collection.protocol.problem import KINDS
from tests.conftest import one_in
from tests.oracles.draws import delta, law, of_draws, one_question, opened

PAGE = Path(incrowd.__file__).parent / "collection" / "page" / "static"
CODES = ["0" * 16, "1" * 16]
BUNDLE = one_question(codes=True)
Q = BUNDLE.plan.messages[0].noise.q
# What a device can be answered, apart from the problems of what services send each other.
REFUSALS = [
    "length", "bundle", "stratum", "sealed", "not-open", "closed", "withdrawn", "code-used",
    "code-unknown", "too-often", "token", "not-found", "no-resource", "method", "media-type",
]  # fmt: skip
SITUATIONS = {
    **{name: {"act": "refused", "answers": [name]} for name in REFUSALS},
    "a status that nobody knows": {"act": "refused", "answers": [418]},
    "no answer": {"act": "refused", "answers": ["lost"]},
    "refused twice": {"act": "refused", "answers": ["code-unknown", "sealed"]},
    **{name: {"act": name} for name in ("corrected", "withdrawn", "a new link", "closed")},
    "two windows": {"act": "two windows"},
}
FORGET = "this.#storage.records.clear(), (this.#record = undefined)"
OVER = "if (OVER.includes(error.code)) await this.#store(markOf)\n"
OTHERS = " ?? records.find(({ sealed }) => sealed) ?? records[0]"
# What a page that forgets would do instead, where, and how many draws it then sends.
WRONG = {
    "sealed": ([(OVER, f"{FORGET}\n")], 3),
    "a new link": ([(OVER, f"{FORGET}\n")], 2),
    "withdrawn": ([("    this.#sent = undefined\n", f"    this.#sent = undefined, {FORGET}\n")], 2),
    "two windows": ([("stored ?? drawn", "drawn")], 2),
    "closed": (
        [(OTHERS, "?.sealed && own"), ("stored ?? drawn", "stored?.sealed ? stored : drawn")],
        2,
    ),
}


def exact_deltas(javascript, page, situations):
    """Delta at epsilon 1 between yes and no, in each situation."""
    given = {"text": BUNDLE.encoded.decode(), "digest": BUNDLE.digest.hex(), "codes": CODES}
    kinds = {name: kind.status for name, kind in KINDS.items()}
    given |= {"outbox": (page / "outbox.js").as_uri(), "situations": situations, "kinds": kinds}
    found = json.loads(javascript("draws.mjs", given))
    return {name: exact_delta(**answers) for name, answers in found.items()}


def exact_delta(yes, no):
    yes, no = law_of(yes), law_of(no)
    return max(delta(yes, no), delta(no, yes))


def law_of(paths):
    bodies = [[bytes.fromhex(body) for body in path["bodies"]] for path in paths]
    seen = [opened(each, BUNDLE) for each in bodies]
    assert all(seen), "something was sent"
    return law(zip((path["flips"] for path in paths), seen, strict=True), BUNDLE)


def test_nothing_is_revealed_beyond_one_draw(javascript):
    assert exact_deltas(javascript, PAGE, SITUATIONS) == dict.fromkeys(SITUATIONS, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", one_in(5, WRONG))
def test_a_page_that_forgets_reveals_more(javascript, tmp_path, name):
    changes, draws = WRONG[name]
    page = shutil.copytree(PAGE, tmp_path / "page")
    text = (page / "outbox.js").read_text()
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    (page / "outbox.js").write_text(text)
    found = exact_deltas(javascript, page, {name: SITUATIONS[name]})
    assert found[name] == pytest.approx(of_draws(draws, Q), abs=1e-12)
