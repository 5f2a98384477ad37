"""Texts of somebody who wants to run a script in the browser that shows the dashboard."""

from html.parser import HTMLParser

import incrowd
from incrowd.plans.slots import slots
from tests.collection.collector.conftest import all_sealed, release
from tests.oracles import make_vectors
from tests.oracles.watching import JSON, asking, opened, served

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    '"></main></h1><script>alert(1)</script>',
    "' style=\"x\" onmouseover='alert(1)",
    "{{ 7 * 7 }} ${7 * 7} <!-- ]]>",
    "</script><svg/onload=alert(1)>",
)


class Elements(HTMLParser):
    """What a browser would make of a text: its elements and attributes."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.words = set(), set(), ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.words += data


def hostile_release():
    """A bundle whose every text attacks, and a release of it: half of the people each option."""
    question = {"id": HOSTILE[3], "type": "choice", "options": list(HOSTILE), "text": HOSTILE[1]}
    raw = {"name": HOSTILE[0], "crowd": 20, "privacy": {"epsilon": 2.0, "analysis": "local"}}
    plan = incrowd.plan(incrowd.Survey.of(raw | {"question": [question]}))
    words = {"language": "en", "title": HOSTILE[1], "introduction": HOSTILE[2]}
    bundle = make_vectors.bundle(
        plan=plan,
        wording=words | {"questions": {HOSTILE[3]: HOSTILE[4]}},
        slots=slots(plan),
        strata=HOSTILE,
        period=HOSTILE[4],
        colluding=0,
    )
    plain = [b"\1\0\0" + bytes([1 << n % len(HOSTILE)]) for n in range(40)]
    return bundle, release(all_sealed(plain, bundle), bundle)


def test_hostile_texts_stay_texts(keyed):
    bundle, data = hostile_release()
    keyed.bundle.write_bytes(bundle.encoded)
    found = opened(keyed, data, bundle=bundle)
    shown = Elements(found.page.text)
    assert not shown.tags & {"img", "script", "main", "iframe", "object", "style", "link"}
    assert not [name for name in shown.attributes if name.startswith("on") or name == "style"]
    assert all(text in shown.words for text in HOSTILE)
    assert found.facts["title"] == HOSTILE[1] and found.state.headers["content-type"] == JSON
    page = served(keyed, asking("/dashboard"), bundle=bundle)
    assert not any(text in page.text for text in HOSTILE), "the page itself is the same for all"
    policy = page.headers["content-security-policy"]
    assert "unsafe" not in policy and "require-trusted-types-for 'script'" in policy
