"""Plans: canonical, digested, refused when changed; the local noise keeps its promise."""

import hashlib
import json
import math
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import incrowd
from incrowd import Plan, PlanError, PrivacyError, Survey, plan
from incrowd.accountant.certificates import smallest_noise
from incrowd.accountant.channels.bit_flip import DENOMINATOR, BitFlip
from incrowd.accountant.schema import FREE_BIT, Contribution, Schema
from incrowd.errors import PlanFileError
from incrowd.plans.digests import canonical
from tests.conftest import GOOD

DATA = Path(__file__).parents[1] / "data"


def deep(levels):
    found = []
    for _ in range(levels):
        found = [found]
    return found


@pytest.fixture
def made():
    return plan(Survey.of(GOOD))


def test_digest_is_the_sha256_of_canonical_json(made):
    assert made.digest == hashlib.sha256(made.canonical.encode()).hexdigest()
    assert json.loads(made.canonical) == json.loads(made.dumps())["plan"]
    assert Plan.loads(made.dumps()) == made


def test_canonical_json_is_that_of_rfc_8785():
    """The example of its section 3.2.2 and the order of keys of section 3.2.3."""
    numbers = [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001]
    text = canonical({"numbers": numbers, "literals": [None, True, False], "string": "€$\u000f\n"})
    assert text == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\n"}'
    )
    keys = {"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\u0080": 6, "\u00f6": 7}
    assert list(json.loads(canonical(keys)).values()) == [2, 4, 6, 7, 1, 5, 3]


@pytest.mark.parametrize("content", [math.nan, math.inf, 2**53, "\ud800", {1: 2}, deep(2000)])
def test_what_has_no_canonical_json_is_refused(content):
    with pytest.raises(ValueError):
        canonical(content)


def test_a_plan_with_a_number_that_has_no_canonical_form_is_refused():
    privacy = GOOD["privacy"] | {"analysis": "blanket"}
    survey = Survey.of(GOOD | {"privacy": privacy, "question": GOOD["question"][:2]})
    data = json.loads(plan(survey).dumps())
    data["plan"]["guarantee"]["worst"][0]["bits"] = 2**53
    with pytest.raises(PlanFileError, match="not a plan"):
        Plan.loads(json.dumps(data))


def test_equal_surveys_give_equal_digests(made):
    reordered = dict(reversed(GOOD.items()))
    assert plan(Survey.of(reordered)).digest == made.digest
    assert plan(Survey.of(GOOD | {"crowd": 101})).digest != made.digest


def test_an_edited_plan_is_refused(made):
    noise = str(made.messages[0].noise_numerator)
    for old, new in [(noise, str(int(noise) - 1)), ('"A"', '"B"'), (made.digest, "0" * 64)]:
        assert old in made.dumps()
        with pytest.raises(PlanError, match="edited"):
            Plan.loads(made.dumps().replace(old, new))


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", '{"plan": {}}', '{"plan": 3, "digest": ""}']
)
def test_what_is_no_plan_is_refused(text):
    with pytest.raises(PlanError):
        Plan.loads(text)


def test_files_that_are_no_plans(tmp_path):
    with pytest.raises(PlanFileError, match=r"none\.json'; it cannot be read: No such file"):
        Plan.load(tmp_path / "none.json")
    for content in (b"\xff\x00", b"", b"[]", b"{}", b'{"plan": {"format": "incrowd plan 0"}}'):
        (tmp_path / "p.json").write_bytes(content)
        with pytest.raises(PlanFileError, match=r"p\.json'; it is not a plan; make one") as error:
            Plan.load(tmp_path / "p.json")
        assert "missing" not in str(error.value)


def changed(made, path, value):
    """The text of a plan with one value replaced."""
    data = json.loads(made.dumps())
    place = data["plan"]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return json.dumps(data)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("format",), "incrowd plan 9", "plan.format: got 'incrowd plan 9'; should be"),
        (("guarantee", "crowd"), 0, "plan.guarantee.crowd: got 0; should be at least 1; the plan"),
        (("guarantee", "crowd"), "x", "plan.guarantee.crowd: got 'x'; should be a whole number"),
        (("guarantee", "crowd"), 7, "it does not follow from the survey: guarantee.crowd is 7"),
        (("survey", "crowd"), 1, "plan.survey.crowd: got 1; should be at least 2"),
        (("survey", "question", 1, "id"), "a", "plan.survey.question.id: got 'a'; 2 questions"),
    ],
)
def test_what_is_wrong_in_a_plan_is_named(made, path, value, message):
    with pytest.raises(PlanError) as error:
        Plan.loads(changed(made, path, value))
    assert message in str(error.value) and "Input should" not in str(error.value)


TINY = "randomizer.epsilon: got 1e-12; it is too small: no noise below 1/2 reaches it"


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ({"kind": "bit flip", "epsilon": 1e-12}, TINY),
        ({"kind": "warner", "epsilon": 1e-12}, TINY),
        ({"kind": "rappor", "epsilon": 1e-12}, TINY),
        ({"kind": "simmons", "epsilon": 1e-12}, "randomizer.epsilon: got 1e-12; with this much"),
        ({"kind": "k-ary", "epsilon": 1e-12}, "randomizer.epsilon: got 1e-12; with this much"),
        ({"kind": "k-ary", "keep": 0.2}, "randomizer.keep: got 0.2; should be below 1, and above"),
        (
            {"kind": "bit", "one_if_zero": 0.0, "one_if_one": 0.5},
            "channel: 0 sent as 1 with probability 0, 1 sent as 1 with 0.5; some report would",
        ),
        (
            {"kind": "warner", "spinner": 0.5},
            "spinner with probability 0.5; it cannot be inverted",
        ),
    ],
)
def test_a_device_that_is_none_names_its_question(device, message):
    """In words: no class names, no numerators."""
    question = {"id": "a", "type": "choice", "options": ["x", "y", "z"], "randomizer": device}
    with pytest.raises(PrivacyError) as error:
        plan(Survey.of({**GOOD, "question": [question], "table": []}))
    assert "question a, randomizer" in str(error.value) and message in str(error.value)
    assert not any(word in str(error.value) for word in ("numerator", "(", "4294967296"))


def test_bits_stand_in_the_order_of_the_questions(made):
    message = made.messages[0]
    assert message.layout == {
        "a": slice(0, 1),
        "b": slice(1, 4),
        "c": slice(4, 7),
        "d": slice(7, 10),
    }
    assert message.bits == 10


def exact_epsilon(numerator, flips):
    """d ln(p/q) to 40 digits."""
    with mpmath.workdps(40):
        return flips * mpmath.log(mpmath.mpf(DENOMINATOR - numerator) / numerator)


def bits(distance, copies):
    """So many free bits, with that noise, in each of some reports."""
    return lambda flip: Contribution.of(Schema.uniform([FREE_BIT] * distance, flip), copies)


def local_noise(epsilon, distance, copies):
    return smallest_noise("local", bits(distance, copies), 2, epsilon, 0.1)


@pytest.mark.slow
@given(st.floats(1e-3, 30), st.integers(1, 64), st.integers(1, 50))
@settings(deadline=None)
def test_local_noise_is_the_smallest_that_keeps_the_promise(epsilon, distance, copies):
    """Oracle: mpmath. The noise one step lower must not keep it, but for the rounding of a step."""
    try:
        noise = local_noise(epsilon, distance, copies).numerator
    except PrivacyError:  # less than one step of noise below 1/2
        assert exact_epsilon(DENOMINATOR // 2 - 1, distance * copies) > epsilon * (1 - 1e-6)
        return
    assert exact_epsilon(noise, distance * copies) <= epsilon
    assert noise < 3 or exact_epsilon(noise - 2, distance * copies) > epsilon
    claimed = bits(distance, copies)(BitFlip(noise)).local_epsilon
    assert claimed >= exact_epsilon(noise, distance * copies)


@given(st.floats(1e-9, 0.4999))
def test_noise_is_rounded_up(q):
    numerator = BitFlip.at_least(q).numerator
    assert Fraction(numerator, DENOMINATOR) >= Fraction(q) > Fraction(numerator - 1, DENOMINATOR)


@pytest.mark.parametrize("q", [0, -1, 0.5, 1, float("nan")])
def test_noise_out_of_range(q):
    with pytest.raises(PrivacyError):
        BitFlip.at_least(q)


def test_sufficient_dp_4_3():
    """The paper's example: L = 5, lambda = 2 gives q = 0.465."""
    assert local_noise(float(mpmath.log(2)), 5, 1).q == pytest.approx(0.465, abs=5e-4)


def test_every_edit_of_a_plan_is_seen(plain_plan):
    for old, new in [('"crowd": 300', '"crowd": 299'), ('"epsilon": 3.0', '"epsilon": 2.0')]:
        with pytest.raises(PlanError):
            incrowd.Plan.loads(plain_plan.dumps().replace(old, new))


def spelled(value, number):
    """The same JSON with every number replaced by `number` of it."""
    if isinstance(value, dict):
        return {key: spelled(inner, number) for key, inner in value.items()}
    if isinstance(value, list):
        return [spelled(inner, number) for inner in value]
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return number(value) if plain else value


OTHER_NUMBERS = {
    "minus zero": lambda n: -0.0 if n == 0 and isinstance(n, float) else n,
    "whole numbers": lambda n: int(n) if n == int(n) else n,
}


@pytest.mark.parametrize("spelling", OTHER_NUMBERS)
def test_numbers_that_canonical_json_writes_alike_are_alike(spelling):
    """In every place where a plan has a number: its own and those of earlier rounds."""
    questions = [
        {"id": "n", "type": "number", "edges": [0.0, 1.0], "shares": {"0 to <1": 0.0}},
        {"id": "m", "type": "number", "edges": [0.0, 2.0]},
        {"id": "a", "type": "amount", "edges": [-2.0, 0.0, 5.0]},
        {
            "id": "y",
            "type": "yesno",
            "randomizer": {"kind": "bit", "one_if_zero": 0.25, "one_if_one": 0.5},
        },
    ]
    scores = {"scores": [0.0, 3.0], "predictor_scores": {"m": [0.0, 1.0]}}
    models = [{"outcome": "n", "on": ["score(m)"], "family": "linear"} | scores]
    raw = {"name": "s", "crowd": 1000, "privacy": {"epsilon": 2.0, "delta": 1e-3}}
    survey = raw | {"question": questions, "regression": models}
    first = plan(Survey.of(raw | {"question": questions, "name": "first"}))
    made = plan(Survey.of(survey), earlier=incrowd.Ledger().with_plan(first, None).asked)
    content = spelled(made.content, OTHER_NUMBERS[spelling])
    assert json.dumps(content) != json.dumps(made.content)
    read = Plan.loads(json.dumps({"digest": made.digest, "plan": content}))
    assert repr(read.content) == repr(made.content)  # in which -0.0 and 0.0 differ
    for one, other in zip(read.survey.questions, made.survey.questions, strict=True):
        assert one.answers == other.answers
    assert Survey.of(content["survey"]).questions[0].choices == ("0 to <1", "1 or more")
