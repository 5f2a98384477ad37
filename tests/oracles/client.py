"""A client written from docs/protocol.md alone: what it accepts, rejects, and sends.

It imports nothing of incrowd, and shares the primitives of tests/oracles/wire.py. A failed
assertion, or the error of a parser, is a rejection.
"""

import hashlib
import hmac
import json
import math
import re
import socket
import unicodedata
from datetime import datetime
from fractions import Fraction
from itertools import pairwise

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from scipy.stats import binom

from tests.oracles import wire

WHOLE = 2**32
REJECTED = (
    AssertionError, ValueError, KeyError, TypeError, AttributeError, IndexError,
    OverflowError, UnsupportedAlgorithm,
)  # fmt: skip


# --- JSON ----------------------------------------------------------------------------------------


def canonical(value):
    """RFC 8785: keys in the order of UTF-16, no white space, the numbers of ECMAScript."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        return "{" + ",".join(f"{canonical(key)}:{canonical(value[key])}" for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, str):
        value.encode()  # half of a pair has no UTF-8
        return json.dumps(value, ensure_ascii=False)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return number(value)


def number(value):
    """As ECMAScript prints it: all numbers are doubles."""
    value = float(value)
    assert math.isfinite(value)
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    digits, exponent = shortest(value).split("e")
    digits, power = digits.replace(".", ""), int(exponent) + 1
    if len(digits) <= power <= 21:
        return sign + digits + "0" * (power - len(digits))
    if 0 < power <= 21:
        return f"{sign}{digits[:power]}.{digits[power:]}"
    if -6 < power <= 0:
        return f"{sign}0.{'0' * -power}{digits}"
    point = "." if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{point}{digits[1:]}e{power - 1:+d}"


def shortest(value):
    """The fewest digits that name a double, as d.ddde+x."""
    every = (f"{abs(value):.{places}e}" for places in range(17))
    return next(text for text in every if float(text) == abs(value))


def parsed(text):
    """JSON whose text is canonical."""
    value = json.loads(text)
    assert canonical(value) == text
    return value


def has_keys(value, keys, others=""):
    """Exactly some keys, and besides these only some of the others."""
    assert isinstance(value, dict) and set(value) - set(others.split()) == set(keys.split())
    return value


def whole(value, least, most=2**53 - 1):
    assert isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
    return value


def text(value, most=math.inf):
    assert isinstance(value, str) and 0 < len(value) <= most
    return value


HIDDEN = [
    (0x0, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160),
    (0x17B4, 0x17B5), (0x180E, 0x180E), (0x200B, 0x200B), (0x200E, 0x200F), (0x2028, 0x202E),
    (0x2060, 0x206F), (0x3164, 0x3164), (0xD800, 0xDFFF), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE007F),
]  # fmt: skip


PARAGRAPHS = [
    ("wording", "introduction"),
    ("wording", "questions"),
    *(("plan", "survey", "page", each) for each in ("consent", "thanks")),
    *(
        ("plan", "survey", part, "*", each)
        for part in ("question", "section", "matrix")
        for each in ("text", "help")
    ),
]


def shows_everything(value, way=()):
    """No hidden character in any text; a line feed only where there may be paragraphs."""
    if way == ("plan", "survey", "codes"):
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            shows_everything(key, way)
            shows_everything(inner, (*way, key))
    elif isinstance(value, list):
        for inner in value:
            shows_everything(inner, (*way, "*"))
    elif isinstance(value, str):
        paragraphs = any(way[: len(each)] == each for each in PARAGRAPHS)
        shown = value.replace("\n", "") if paragraphs else value
        assert not any(low <= ord(each) <= high for each in shown for low, high in HIDDEN)


# --- addresses and links -------------------------------------------------------------------------


BASE32 = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def address(value):
    """The host of an address, and whether it is on this machine."""
    scheme, rest = value.split("://", 1)
    server, *parts = rest.split("/")
    for part in parts:
        assert re.fullmatch(r"[A-Za-z0-9._~-]+", part) and part not in (".", "..")
    host, port = re.fullmatch(r"(\[[^\]]*\]|[^:\[\]]*)(?::(.*))?", server).groups()
    assert port is None or (port == f"{int(port)}" and 0 < int(port) < 65536)
    here = host in ("localhost", "[::1]")
    if host.startswith("["):
        inner = host[1:-1]
        assert re.fullmatch("[0-9a-f:]+", inner) and not inner.startswith("::ffff:")
        packed = socket.inet_pton(socket.AF_INET6, inner)
        assert socket.inet_ntop(socket.AF_INET6, packed) == inner
    elif re.fullmatch("[0-9.]+", host):
        numbers = [int(part) for part in host.split(".")]
        assert len(numbers) == 4 and max(numbers) < 256 and host == ".".join(map(str, numbers))
        here = numbers[0] == 127
    else:
        labels = host.split(".")
        assert "a" <= labels[-1][0] <= "z"
        assert all(re.fullmatch("[a-z0-9-]+", label) for label in labels)
    assert scheme == "https" or (scheme == "http" and here)
    return host, here


def link(value):
    """(address, digest, code)."""
    where, digest, code = re.fullmatch(
        rf"([^#]*)#([0-9a-f]{{64}})(?:\.([{BASE32}]{{16}}))?", value.strip()
    ).groups()
    where = re.sub(r"/(index\.html)?$", "", where)
    address(where)
    return where, digest, code or ""


def code(typed):
    """The 16 characters of an invitation that somebody typed."""
    plain = re.sub(r"[-\s]", "", typed).upper()
    plain = plain.replace("I", "1").replace("L", "1").replace("O", "0")
    assert len(plain) == 16 and set(plain) <= set(BASE32)
    return plain


def base32(data):
    bits = "".join(f"{byte:08b}" for byte in data)
    return "".join(BASE32[int(bits[at : at + 5], 2)] for at in range(0, len(bits), 5))


# --- plans ---------------------------------------------------------------------------------------


SURVEY = (
    "colluding copies crowd message name objective privacy question reports_per_person "
    "rows_per_person table"
)
SOMETIMES = (
    "census least codes explore language matrix page regression rounds section small_strata tables "
    "upload_bytes weights"
)
OF_TYPE = {
    "yesno": "", "choice": "options", "multi": "options at_most", "number": "edges",
    "amount": "edges", "text": "block hashes cohorts",
}  # fmt: skip
MAY_HAVE = {"choice": "other", "multi": "other"}
MAY_HAVE |= dict.fromkeys(("number", "amount"), "minimum maximum whole")
NUMBERS = {
    "bit flip": ["noise", "epsilon"],
    "warner": ["spinner", "epsilon"],
    "simmons": ["unrelated", "unrelated prevalence", "epsilon"],
    "bit": ["one_if_zero one_if_one"],
    "rappor": ["f", "epsilon", "f one_if_zero one_if_one", "epsilon one_if_zero one_if_one"],
    "k-ary": ["keep", "epsilon"],
}


def plan(value):
    """Check what a device uses of a plan."""
    has_keys(value, "earlier format guarantee messages survey")
    assert value["format"] == "incrowd plan 1" and value["messages"]
    survey = has_keys(value["survey"], SURVEY, SOMETIMES)
    text(survey["name"])
    assert value["guarantee"]["analysis"] != "outlier"
    whole(survey["crowd"], 2, 10**13)
    whole(survey["colluding"], 0)
    whole(survey.get("least", 10), 2)
    questions = {each["id"]: each for each in survey["question"]}
    assert len(questions) == len(survey["question"])
    earlier = {}
    for each in survey["question"]:
        question(each)
        if "asked_if" in each:
            assert not each.get("open")
            condition(each["asked_if"], earlier)
        earlier[each["id"]] = each
    for each in value["messages"]:
        message(each, questions)
    rounds = [value, *value["earlier"]]
    alone = all("added" in each for one in rounds for each in one["messages"])
    crowd = value["guarantee"]["crowd"]
    assert crowd is None if alone else whole(crowd, 1)
    return value


def by_services(value):
    """Whether services add noise to the cells of some message of a plan."""
    return any("added" in each for each in value["messages"])


def least_people(content):
    """The number of uploads that a release of a bundle needs."""
    survey, crowd = content["plan"]["survey"], content["plan"]["guarantee"]["crowd"]
    return (survey.get("least", 10) if crowd is None else survey["crowd"]) + content["reserve"]


def is_memoized(given):
    return bool(given.get("memoized") or (given["randomizer"] or {}).get("memoized"))


def trimmed(value):
    assert text(value) == value.strip(SPACE)


def question(given):
    """Check a question of a survey."""
    kind = given["type"]
    has_keys(
        given,
        f"id optional randomizer type {OF_TYPE[kind]}",
        f"asked_if memoized open section matrix shares text help labels {MAY_HAVE.get(kind, '')}",
    )
    trimmed(given["id"])
    assert "," not in given["id"] and isinstance(given["optional"], bool)
    for mark in ("memoized", "open"):
        assert given.get(mark, True) is True
    randomizer = given["randomizer"]
    if given.get("open"):
        assert kind in ("yesno", "choice") and not randomizer and not given.get("memoized")
    if is_memoized(given):
        assert kind not in ("text", "amount") and not (given.get("memoized") and randomizer)
    VALUES[kind](given)
    if randomizer is not None:
        assert kind != "text" or randomizer["kind"] == "bit flip"
        assert kind != "multi" or randomizer["kind"] != "k-ary"
        law(randomizer, bits(given))


def options(given):
    options = given["options"]
    assert len(options) > 1 and len(set(options)) == len(options)
    assert not {"no answer", "not asked"} & {*options}
    for option in options:
        trimmed(option)


def several(given):
    options(given)
    whole(given["at_most"], 1, len(given["options"]))
    assert "none" not in given["options"] and not any(";" in each for each in given["options"])


def edges(given):
    edges = given["edges"]
    assert len(edges) > 1 and not any(isinstance(edge, bool | str) for edge in edges)
    assert all(low < high for low, high in pairwise(edges))


def edges_apart(given):
    edges(given)
    assert all(high - low < math.inf for low, high in pairwise(given["edges"]))
    assert len({f"{edge:.12g}" for edge in given["edges"]}) == len(given["edges"])


def hashed(given):
    whole(given["hashes"], 1, 8)
    for key, least, most in (("block", 2, 1024), ("cohorts", 1, 4096)):
        assert f"{whole(given[key], least, most):b}".count("1") == 1


VALUES = {
    "yesno": lambda given: None,
    "choice": options,
    "multi": several,
    "number": edges,
    "amount": edges_apart,
    "text": hashed,
}


def bits(given):
    """The bits of a question in a joint report."""
    if given["type"] == "text":
        return cohort_bits(given) + given["hashes"] * given["block"]
    answers = len(given.get("options", given.get("edges", "ny"))) + len(states(given))
    return 1 if answers == 2 and given["type"] in ("yesno", "amount") else answers


def states(given):
    """What a person without an answer sends, in the order of the bits: None for no answer."""
    return [*[None] * given["optional"], *[wire.NOT_ASKED] * ("asked_if" in given)]


def condition(given, earlier, level=0):
    """Check whom a question is asked. earlier: the questions before it, by id."""
    assert level <= 32 and isinstance(given, dict)
    match given:
        case {"not": part}:
            has_keys(given, "not")
            condition(part, earlier, level + 1)
        case {"all": list(parts)} | {"any": list(parts)}:
            assert len(given) == 1 and len(parts) > 1
            for part in parts:
                condition(part, earlier, level + 1)
        case _:
            assert len(given) == 2
            decides = earlier[given["question"]]
            assert decides["type"] not in ("amount", "text")
            if "answer" in given:
                assert given["answer"] in wire.axis(decides | {"at_most": 2})
            else:
                assert decides["type"] == "number"
                [edge] = (given[key] for key in ("at_least", "below") if key in given)
                assert not isinstance(edge, bool) and edge in decides["edges"]


def is_asked(given, known, answers):
    """Whether a condition holds. answers: those to earlier questions, NOT_ASKED included."""
    match given:
        case {"not": part}:
            return not is_asked(part, known, answers)
        case {"all": parts}:
            return all(is_asked(part, known, answers) for part in parts)
        case {"any": parts}:
            return any(is_asked(part, known, answers) for part in parts)
    id = given["question"]
    if "answer" in given:
        return given["answer"] in wire.chosen(known[id] | {"at_most": 2}, answers[id])
    if answers[id] in (None, wire.NOT_ASKED):
        return False
    return answers[id] >= given["at_least"] if "at_least" in given else answers[id] < given["below"]


def with_states(questions, answers):
    """The answers of a person to all questions, NOT_ASKED where she is not asked."""
    known, found = {each["id"]: each for each in questions}, {}
    for each in questions:
        answer = answers.get(each["id"])
        if "asked_if" in each and not is_asked(each["asked_if"], known, found):
            assert answer is None
            answer = wire.NOT_ASKED
        else:
            answer_bits(each, answer)
        found[each["id"]] = answer
    return found


def cohort_bits(given):
    return (given["cohorts"] - 1).bit_length() if given["type"] == "text" else 0


def message(given, known):
    has_keys(given, "cells copies noise_numerator questions", "added parities")
    asked = [known[id] for id in given["questions"]]
    assert asked and len(set(given["questions"])) == len(asked)
    noise, copies = given["noise_numerator"], whole(given["copies"], 1)
    assert noise is None or whole(noise, 1, 2**31 - 1)
    assert given.get("parities", True) is True and isinstance(given["cells"], bool)
    assert not any(each.get("open") for each in asked)
    assert len({is_memoized(each) for each in asked}) == 1
    assert copies == 1 or not any(each.get("memoized") for each in asked)
    if not given["cells"]:
        assert not given.get("parities") and "added" not in given
        assert (noise is None) == all(each["randomizer"] for each in asked)
        return
    assert copies == 1 and (noise is None) == ("added" in given)
    if "added" in given:
        assert not given.get("parities") and not is_memoized(asked[0])
        added_law(given["added"])
    assert not any(each["type"] == "text" or each["randomizer"] for each in asked)
    if given.get("parities"):
        assert len(asked) > 1 and all(wire.is_bit([each]) for each in asked)
        return
    assert sum(each["type"] == "multi" and each["at_most"] > 1 for each in asked) < 2
    assert math.prod(len(wire.axis(each)) for each in asked) <= WHOLE


def added_law(written):
    """Check the numerators of a symmetric law over 2^64."""
    assert isinstance(written, list) and 0 < len(written) <= 65536
    assert all(re.fullmatch("[1-9][0-9]{0,19}", each) for each in written)
    numerators = [int(each) for each in written]
    assert sum(numerators) + sum(numerators[1:]) == 2**64


# --- randomizers ---------------------------------------------------------------------------------


def law(randomizer, width):
    """The numerators of a randomizer for a question of so many bits."""
    given = dict(randomizer)
    kind, memoized = given.pop("kind"), given.pop("memoized", False)
    assert set(given) in [set(names.split()) for names in NUMBERS[kind]]
    assert memoized is False or (memoized is True and kind == "rappor")
    assert all(isinstance(each, float | int) for each in given.values())
    found = LAWS[kind](given, width)
    sound(found)
    return found


def sound(found):
    if "flip" in found:
        assert 0 < found["flip"] < 2**31
    elif "keep" in found:
        assert found["options"] > 1 and found["options"] * found["keep"] > WHOLE
        assert found.pop("options") and found["keep"] < WHOLE
    else:
        (a, b), *again = found["stages"]
        assert a != b and min(a, b) > 0 and max(a, b) < WHOLE
        assert all(c != d and min(c, d) >= 0 and max(c, d) <= WHOLE for c, d in again)


def up(value):
    return math.ceil(value * 2.0**32)


def down(value):
    return math.floor(value * 2.0**32)


def to_half(value):
    return down(value) if value > 0.5 else up(value)


def loss(x, y):
    return math.log1p(abs(x - y) / min(x, y)) * (1 + 2.0**-50)


def flip_of(epsilon):
    assert epsilon > 0
    n = math.ceil(WHOLE / (1 + math.exp(epsilon)))
    while loss(WHOLE - n, n) > epsilon:
        n += 1
    return n


def bit(a, b):
    if a + b == WHOLE and 0 < a < 2**31:
        return {"flip": a}
    return {"stages": [[a, b]]}


def toward_each_other(one, other):
    high = down(max(one, other))
    low = min(up(min(one, other)), high)
    return [low, high] if one <= other else [high, low]


def warner(given, _):
    truth = to_half(given["spinner"]) if "spinner" in given else WHOLE - flip_of(given["epsilon"])
    return bit(WHOLE - truth, truth)


def unrelated(u, r):
    return -(-u * r // WHOLE), WHOLE - u + u * r // WHOLE


def simmons(given, _):
    if "unrelated" in given:
        return bit(*unrelated(up(given["unrelated"]), to_half(given.get("prevalence", 0.5))))
    epsilon, r = given["epsilon"], 2**31
    assert epsilon > 0
    u = math.ceil(WHOLE / (1 + min(r, WHOLE - r) / WHOLE * math.expm1(epsilon)))
    while max(loss(*unrelated(u, r)), loss(*(WHOLE - each for each in unrelated(u, r)))) > epsilon:
        u += 1
    return bit(*unrelated(u, r))


def rappor(given, _):
    n = up(given["f"] / 2) if "f" in given else flip_of(given["epsilon"])
    if "one_if_zero" not in given:
        return {"flip": n}
    sound({"flip": n})
    again = toward_each_other(given["one_if_zero"], given["one_if_one"])
    return {"stages": [[n, WHOLE - n], again]}


def k_ary(given, c):
    if "keep" in given:
        return {"keep": down(given["keep"]), "options": c}
    epsilon = given["epsilon"]
    assert epsilon > 0 and c > 1
    n = min(math.floor(WHOLE / (1 + (c - 1) * math.exp(-epsilon))) + 1, WHOLE - 1)
    while loss(n * (c - 1), WHOLE - n) > epsilon:
        n -= 1
    return {"keep": n, "options": c}


LAWS = {
    "bit flip": lambda given, _: {
        "flip": up(given["noise"]) if "noise" in given else flip_of(given["epsilon"])
    },
    "warner": warner,
    "simmons": simmons,
    "bit": lambda given, _: bit(*toward_each_other(given["one_if_zero"], given["one_if_one"])),
    "rappor": rappor,
    "k-ary": k_ary,
}


# --- records and reports -------------------------------------------------------------------------


SPACE = (
    "".join(map(chr, (*range(9, 14), *range(28, 33), 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B))))
    + "\u2028\u2029\u202f\u205f\u3000"
)


def normalized(word):
    found = unicodedata.normalize("NFC", word).strip(SPACE)
    assert found
    return found


def places(given, word, cohort):
    """The bit of each block that a normalized word sets."""
    found = []
    for block in range(given["hashes"]):
        parts = b"incrowd word 1", given["id"].encode(), cohort.to_bytes(8), block.to_bytes(8)
        digest = hashlib.sha256(wire.framed(*parts, word.encode())).digest()
        found.append(int.from_bytes(digest) % given["block"])
    return found


def answer_bits(given, answer, cohort=0):
    """The bits of an answer, as numbers; of an amount, that on an edge."""
    kind, width = given["type"], bits(given)
    state = answer is None or answer == wire.NOT_ASKED
    assert not state or answer in states(given)
    if kind == "text":
        word = wire.chosen(given, answer)[0] if state else normalized(answer)
        start = cohort_bits(given)
        set_in = enumerate(places(given, word, cohort))
        found = {start + block * given["block"] + at for block, at in set_in}
        return found | {i for i in range(start) if cohort >> i & 1}
    if state:
        return {width - len(states(given)) + states(given).index(answer)}
    if kind == "multi":
        said = [] if answer == "none" else answer.split(";")
        found = {given["options"].index(each) for each in said}
        assert len(found) <= given["at_most"]
        return found
    if kind in ("number", "amount"):
        assert isinstance(answer, int | float) and math.isfinite(answer)
        at = sum(edge <= answer for edge in given["edges"]) - 1
        assert at >= 0 or kind == "amount"
        at = max(at, 0)
    else:
        at = ["no", "yes"].index(answer) if kind == "yesno" else given["options"].index(answer)
    return {at} if width > 1 else {0} if at else set()


def below(m, k, words):
    """k numbers below m: those of the last, incomplete round are drawn again, all together."""
    drawn = [next(words) for _ in range(k)]
    while again := [i for i, word in enumerate(drawn) if word >= 2**64 - 2**64 % m]:
        for i in again:
            drawn[i] = next(words)
    return [word % m for word in drawn]


def distribution(given, of):
    """How the bits of a question are drawn; None for what is remembered and not drawn again."""
    found = {"flip": of["noise_numerator"]}
    if given["randomizer"]:
        found = law(given["randomizer"], bits(given))
    if not is_memoized(given):
        return found
    return {"stages": found["stages"][1:]} if len(found.get("stages", ())) > 1 else None


def respond(rows, of, asked, words):
    """The reports of some copies of a joint message, whose rows are sets of bits."""
    parts, start = [], 0
    for each in asked:
        start += cohort_bits(each)
        end, how = start + bits(each) - cohort_bits(each), distribution(each, of)
        if parts and "flip" in (how or {}) and parts[-1][2] == how and parts[-1][1] == start:
            parts[-1][1] = end
        elif how:
            parts.append([start, end, how])
        start = end
    for low, high, how in parts:
        width = high - low
        inside = [{at - low for at in row if low <= at < high} for row in rows]
        sent = draw(how, inside, width, words)
        rows = [
            {at for at in row if not low <= at < high} | {at + low for at in new}
            for row, new in zip(rows, sent, strict=True)
        ]
    return rows


def lanes(numerator, rows, width, words):
    drawn = wire.decide(numerator, rows * width, words) if numerator < WHOLE else -1
    return [{at for at in range(width) if drawn >> row * width + at & 1} for row in range(rows)]


def draw(how, rows, width, words):
    if "flip" in how:
        flips = lanes(how["flip"], len(rows), width, words)
        return [row ^ flipped for row, flipped in zip(rows, flips, strict=True)]
    if "keep" in how:
        kept = lanes(how["keep"], len(rows), 1, words)
        steps = below(width - 1, len(rows), words)
        return [
            row if kept[i] else {(min(row) + 1 + steps[i]) % width} for i, row in enumerate(rows)
        ]
    for a, b in how["stages"]:
        raised = lanes(a, len(rows), width, words)
        lowered = lanes(WHOLE - b, len(rows), width, words)
        drawn = zip(rows, raised, lowered, strict=True)
        rows = [(ups - row) | (row - downs) for row, ups, downs in drawn]
    return rows


def joint_reports(of, asked, answers, words, remember):
    """The reports of a joint message, drawn from words. remember: the permanent response of a
    question's bits."""
    separately = any(each["type"] == "text" for each in asked)
    found = []
    for _ in range(of["copies"] if separately else 1):
        row, start = set(), 0
        cohorts = [below(e["cohorts"], 1, words)[0] if e["type"] == "text" else 0 for e in asked]
        for each, cohort in zip(asked, cohorts, strict=True):
            given = answer_bits(each, answers[each["id"]], cohort)
            given = remember(each, given) if is_memoized(each) else given
            row |= {start + at for at in given}
            start += bits(each)
        found += respond([row] * (1 if separately else of["copies"]), of, asked, words)
    return [as_bytes(row, start) for row in found]


def as_bytes(row, width):
    return sum(1 << at for at in row).to_bytes(-(-width // 8), "little")


def series(name, numerator, asked, parities=False):
    """The name of everything that is remembered alike."""
    said = []
    for each in asked:
        names = wire.axis(each | {"at_most": 2})  # without "none chosen", which is only of cells
        said.append(f"{each['id']}: {', '.join(names)}")
    return f"{name}, noise {numerator}, with {'; '.join(said)}{' in pairs' if parities else ''}"


def first_stage(given, of):
    """The numerator of the noise that is remembered."""
    if not given["randomizer"]:
        return of["noise_numerator"]
    found = law(given["randomizer"], bits(given))
    return found["flip"] if "flip" in found else found["stages"][0][0]


def remembered(secret, name, given, numerator, before):
    """The permanent response to the bits of an answer."""
    width = bits(given)
    answer = bytearray(-(-width // 8))
    for at in before:
        answer[at // 8] |= 1 << 7 - at % 8
    parts = "incrowd permanent response 1", name, given["id"], answer.hex()
    prefix = wire.framed(*(part.encode() for part in parts))

    def flipped(at):
        drawn = hmac.digest(secret, prefix + at.to_bytes(8), "sha256")[:4]
        return int.from_bytes(drawn) < numerator

    return before ^ {at for at in range(width) if flipped(at)}


# --- slots ---------------------------------------------------------------------------------------


def pools(given, mixers):
    """The messages that share slots."""
    known = {each["id"]: each for each in given["survey"]["question"]}
    every = range(len(given["messages"]))

    def alone(n):
        of = given["messages"][n]
        return (
            mixers == 2
            or by_services(given)
            or (of["cells"] and is_memoized(known[of["questions"][0]]))
        )

    together = [n for n in every if not alone(n)]
    return [each for each in [together] if each] + [[n] for n in every if alone(n)]


def needs_slots(given, mixers, slots):
    """Assert that slots are as few as the plan allows; with a tail near the bound, also one more
    or less."""
    known = {each["id"]: each for each in given["survey"]["question"]}
    shared = pools(given, mixers)
    random = [any(is_random(given["messages"][n]) for n in pool) for pool in shared]
    bound = 1e-9 / (given["survey"]["crowd"] * max(1, sum(random)))
    assert len(slots) == len(shared)
    for pool, count, varies in zip(shared, slots, random, strict=True):
        whole(count, 1, 65536)
        of_pool = [given["messages"][n] for n in pool]
        count -= sum(fixed_slots(of, known) for of in of_pool if not is_random(of))
        if not varies:
            assert count == 0
            continue
        chances = [Fraction(1)]
        for of in of_pool:
            if is_random(of):
                chances = convolved(chances, of, known)
        assert sum(chances[count + 1 :]) <= bound * (1 + 1e-6)
        assert count == 0 or sum(chances[count:]) > bound * (1 - 1e-6)


def is_random(of):
    return of["cells"] and "added" not in of


def fixed_slots(of, known):
    if not of["cells"]:
        return of["copies"]
    return len(wire.lanes([known[id] for id in of["questions"]]))


def convolved(chances, of, known):
    asked = [known[id] for id in of["questions"]]
    parities = of.get("parities", False)
    cells, q = wire.cell_count(asked, parities), of["noise_numerator"] / WHOLE
    most = most_set(asked, parities)
    for trials, p in ((most, 1 - q), (cells - most, q)):
        reach = min(trials, int(trials * p + 40 * math.sqrt(trials * p) + 200))
        law = binom.pmf(range(reach + 1), trials, p)
        found = [0.0] * (len(chances) + reach)
        for i, chance in enumerate(chances):
            if chance:
                for j, other in enumerate(law):
                    found[i + j] += float(chance) * other
        chances = found
    return chances


def most_set(asked, parities):
    if parities:
        return len(asked) ** 2 // 4
    several = [each["at_most"] for each in asked if each["type"] == "multi" and each["at_most"] > 1]
    return (several[0] if several else 1) + bool(several and len(asked) > 1)


# --- bundles -------------------------------------------------------------------------------------


BOTH = (
    "closes codes colluding disposes format opens period plan plan_digest reserve slots "
    "small_strata strata wording"
)
OF_ONE = "addresses key_configuration local_only shuffler_key wanted"
OF_TWO = "collector first inviter runs second"


def bundle(data):
    """The content of a bundle, after every check of the protocol."""
    assert len(data) <= 2**24
    content = parsed(data.decode())
    mixers = {"incrowd bundle 1": 1, "incrowd bundle 2": 2}[content["format"]]
    has_keys(content, f"{BOTH} {OF_ONE if mixers == 1 else OF_TWO}")
    shows_everything(content)
    of = plan(content["plan"])
    survey = of["survey"]
    assert hashlib.sha256(canonical(of).encode()).hexdigest() == content["plan_digest"]
    assert survey["rows_per_person"] == 1 and content["colluding"] == survey["colluding"]
    words = has_keys(content["wording"], "introduction language questions title")
    assert re.fullmatch("[A-Za-z0-9]+(-[A-Za-z0-9]+)*", text(words["language"], 35))
    text(words["title"], 200)
    assert isinstance(words["introduction"], str)
    assert set(words["questions"]) == {each["id"] for each in survey["question"]}
    for each in words["questions"].values():
        text(each)
    text(content["period"], 200)
    opens, closes, disposes = (time(content[key]) for key in ("opens", "closes", "disposes"))
    assert opens < closes <= disposes
    least = max(20, -(-survey["crowd"] // 100)) if of["guarantee"]["crowd"] is not None else 0
    whole(content["reserve"], least)
    strata = content["strata"]
    assert 1 <= len(strata) <= 65536 and len(set(strata)) == len(strata)
    for each in strata:
        text(each, 200)
    assert content["small_strata"] in ("delete", "merge") and isinstance(content["codes"], bool)
    if any(each.get("open") for each in survey["question"]):
        count = math.prod(len(wire.open_answers(q)) for q in survey["question"] if q.get("open"))
        assert strata == [wire.stratum_name(survey["question"], n) for n in range(count)]
        assert content["small_strata"] == survey.get("small_strata", "delete")
    needs_slots(of, mixers, content["slots"])
    assert sum(content["slots"]) <= 65536
    (one_shuffler if mixers == 1 else two_mixers)(content, closes, disposes)
    return content


def time(value):
    found = datetime.strptime(value, "%Y-%m-%dT%H:%M:%SZ")
    assert found.strftime("%Y-%m-%dT%H:%M:%SZ") == value
    return found


def one_shuffler(content, *_):
    wanted = content["wanted"]
    assert wanted is None or whole(wanted, least_people(content))
    assert not by_services(content["plan"]) or content["small_strata"] == "delete"
    addresses = has_keys(content["addresses"], "collector shuffler").values()
    (one, _), (other, _) = map(address, addresses)
    assert isinstance(content["local_only"], bool) and (content["local_only"] or one != other)
    hexadecimal(content["shuffler_key"], 32)
    key(content["key_configuration"])


def hexadecimal(value, length):
    assert re.fullmatch("[0-9a-f]*", value) and len(value) == 2 * length
    return bytes.fromhex(value)


def key(configuration):
    """The public key of a key configuration."""
    kem, size = {"0020": ("x25519", 32), "647a": ("x-wing", 1216)}[configuration[2:6]]
    data = hexadecimal(configuration, size + 9)
    assert data[-6:] == bytes.fromhex("000400010001")
    public = data[3:-6]
    any_key = X25519PrivateKey.from_private_bytes(b"\1" * 32)
    any_key.exchange(X25519PublicKey.from_public_bytes(public[-32:]))  # of low order: a ValueError
    if kem == "x-wing":
        MLKEM768PublicKey.from_public_bytes(public[:-32])
        numbers = int.from_bytes(public[: 1184 - 32], "little")
        assert all(numbers >> 12 * i & 4095 < 3329 for i in range(768))
    return public


def two_mixers(content, closes, disposes):
    roles = ("inviter", "first", "second", "collector")
    assert content["codes"] is True and content["small_strata"] == "delete"
    assert not by_services(content["plan"])
    assert content["plan"]["survey"].get("small_strata", "delete") == "delete"
    assert (disposes - closes).total_seconds() >= 24 * 60 * 60
    runs = has_keys(content["runs"], "collector first inviter second")
    for each in runs.values():
        text(each, 200)
    assert organization(runs["inviter"]) != organization(runs["collector"])
    keys = {
        "inviter": "address entry key messages",
        "first": "address key",
        "second": "address key key_configuration",
        "collector": "address key_configuration",
    }
    parties = [has_keys(content[role], keys[role]) for role in roles]
    places = []
    for each in parties:
        host, here = address(each["address"])
        places.append(each["address"].split("/")[2] if here else host)
    assert len(set(places)) == 4
    signing = [hexadecimal(content[role]["key"], 32) for role in roles[:3]]
    assert len(set(signing)) == 3
    second, collector = (content[role]["key_configuration"] for role in roles[2:])
    assert key(second) != key(collector)
    tokens = [content["inviter"]["entry"], *content["inviter"]["messages"]]
    assert len(tokens) == 1 + len(content["plan"]["messages"])
    assert len({each["modulus"] for each in tokens}) == len(tokens)
    for each in tokens:
        token_key(each)


def organization(name):
    plain = "".join(each for each in name if each not in SPACE)
    return "".join(each.lower() if "A" <= each <= "Z" else each for each in plain)


def challenge(modulus, i):
    """What the i-th root of a key is the root of, before it is taken modulo n: 272 bytes."""
    seed = b"incrowd key test 2\0" + modulus + i.to_bytes(2)
    return b"".join(hashlib.sha256(seed + n.to_bytes(4)).digest() for n in range(9))[:272]


def token_key(given):
    has_keys(given, "modulus roots")
    modulus = hexadecimal(given["modulus"], 256)
    n = int.from_bytes(modulus)
    assert n.bit_length() == 2048 and math.gcd(n, small_primes()) == 1 and pow(2, n - 1, n) != 1
    assert len(given["roots"]) == 16
    for i, root in enumerate(given["roots"]):
        x, right = int.from_bytes(hexadecimal(root, 256)), int.from_bytes(challenge(modulus, i)) % n
        assert x < n and math.gcd(right, n) == 1 and pow(x, 65537, n) == right


def small_primes():
    sieve = bytearray([1]) * 65536
    for p in range(2, 256):
        sieve[p * p :: p] = bytes(len(range(p * p, 65536, p)))
    return math.prod(p for p in range(2, 65536) if sieve[p])


# --- tokens, uploads of two mixers ---------------------------------------------------------------


def request(code, blinded, digest):
    return digest + code + b"".join(each.to_bytes(256) for each in blinded)


def mgf1_384(seed, length):
    blocks = (hashlib.sha384(seed + n.to_bytes(4)).digest() for n in range(-(-length // 48)))
    return b"".join(blocks)[:length]


def encoded(message, salt):
    """EMSA-PSS of RFC 8017, section 9.1.1, for 2,047 bits."""
    check = hashlib.sha384(bytes(8) + hashlib.sha384(message).digest() + salt).digest()
    block = bytes(256 - 48 - 1 - 49) + b"\x01" + salt
    masked = bytes(a ^ b for a, b in zip(block, mgf1_384(check, 207), strict=True))
    return int.from_bytes(bytes([masked[0] & 0x7F]) + masked[1:] + check + b"\xbc")


def unblinded(answer, texts, blindings, moduli):
    """The signatures of all texts; an assertion fails if one of them is wrong."""
    assert len(answer) == 256 * len(texts)
    found = []
    for i, (said, r, n) in enumerate(zip(texts, blindings, moduli, strict=True)):
        z = int.from_bytes(answer[256 * i : 256 * (i + 1)])
        found.append((z * pow(r, -1, n) % n).to_bytes(256))
        assert wire.is_signed(said, found[-1], n)
    return found


def again(status, body):
    """Whether the same bytes may be sent again after an answer with an error."""
    try:
        document = json.loads(body)
        known = document["type"].removeprefix("urn:incrowd:problem:")
        if document["type"] != known and STATUSES.get(known, (0, False))[0] == status:
            return STATUSES[known][1]
    except REJECTED:
        pass
    return status in (408, 429) or status >= 500


STATUSES = {
    "length": (400, False), "bundle": (422, False), "stratum": (422, False), "sealed": (422, False),
    "not-open": (403, True), "closed": (410, False), "withdrawn": (410, False),
    "code-used": (409, False), "code-unknown": (403, False), "too-often": (429, False),
    "token": (403, False), "not-found": (410, False), "signature": (403, False),
    "release": (422, False), "contradiction": (409, False), "no-resource": (404, False),
    "method": (405, False), "slow": (408, True), "media-type": (415, False), "busy": (503, True),
    "full": (507, True), "fault": (500, True),
}  # fmt: skip


def refused(data, content, sizes):
    """The problem with which an upload or a request is answered before anything is looked up; None
    if there is none. sizes: its length, what comes before its sealed parts, the length of each."""
    length, start, size = sizes
    if len(data) != length:
        return "length"
    if data[:32] != hashlib.sha256(canonical(content).encode()).digest():
        return "bundle"
    two = content["format"] == "incrowd bundle 2"
    number = data[32:34] if two else data[48:50]
    if int.from_bytes(number) >= len(content["strata"]):
        return "stratum"
    configuration = (content["second"] if two else content)["key_configuration"]
    sealed = [data[at : at + size] for at in range(start, length, size)]
    head = wire.header(bytes.fromhex(configuration))
    if not all(each.startswith(head) for each in sealed) or len(set(sealed)) < len(sealed):
        return "sealed"
    return None
