"""What an independent client needs: every kind of vector, by the library and by another client.

tests/oracles/client.py is written from docs/protocol.md alone. Both accept what is right, and both
reject what is wrong.
"""

import hashlib
import json
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest

import incrowd
from incrowd.collection.device.connection import Reply, _kind
from incrowd.collection.inviter.signing import PrivateTokenKey, sign_blinded
from incrowd.collection.protocol import problem
from incrowd.collection.protocol.addresses import Link, checked_address, is_loopback, short
from incrowd.collection.protocol.blind import challenges
from incrowd.collection.protocol.bundle import Bundle
from incrowd.collection.protocol.tokens import Pending, TokenRequest, has_entry
from incrowd.collection.protocol.upload import code_field, parse_upload
from incrowd.encoding.records import EncodedAnswers
from incrowd.errors import AnswersError, IncrowdError, ProtocolError, UsageError
from incrowd.plans import Plan
from incrowd.plans.digests import canonical, digest_of, read_json
from incrowd.plans.slots import slots, slots_of_messages
from incrowd.survey import Survey
from tests.collection.protocol.conftest import vectors
from tests.conftest import one_in
from tests.oracles import client, condition_vectors, make_vectors, wire
from tests.oracles.mixers_vectors import merged
from tests.oracles.plan_vectors import changed
from tests.oracles.recorded import VECTORS

hexed = bytes.fromhex
BUNDLES, DEVICES, LINKS, PLANS = (vectors(n) for n in ("bundles", "devices", "links", "plans"))
CONDITIONS = vectors("conditions")
PERMANENT, STRATA, PROBLEMS = (vectors(n) for n in ("permanent", "strata", "problems"))
MIXERS = {name: vectors(name) for name in ("mixers", "mixers-cells")}
DEVICES_PLAN = vectors("devices-plan")["plan"]


def rejected(read, given):
    with pytest.raises(client.REJECTED):
        read(given)


def named(cases):
    return [pytest.param(value, id=why) for why, value in cases.items()]


def told(cases):
    return [pytest.param(each, id=f"{each['why']} {at}") for at, each in enumerate(cases)]


# --- texts, addresses, links ---------------------------------------------------------------------


@pytest.mark.parametrize("given", vectors("digests")["right"])
def test_canonical_texts_and_their_digests(given):
    text = given["text"]
    assert client.canonical(given["value"]) == text == canonical(read_json(text))
    client.parsed(text)
    assert hashlib.sha256(text.encode()).hexdigest() == given["sha256"] == digest_of(given["value"])


@pytest.mark.parametrize("text", named(vectors("digests")["wrong"]))
def test_texts_that_are_not_canonical(text):
    rejected(client.parsed, text)
    with suppress(ValueError):
        assert canonical(read_json(text)) != text


def test_a_bundle_with_a_number_above_2_to_the_53():
    """RFC 8785 writes such a double without a point, and it was read as an integer."""
    plan = incrowd.plan(survey_of({"id": "a", "type": "number", "edges": [0, 2**53, 2**60, 1e21]}))
    wording = {"language": "de", "title": "t", "questions": {"a": "?"}}
    made = make_vectors.bundle(plan=plan, colluding=0, slots=slots(plan), wording=wording)
    assert Bundle.parse(made.encoded).digest == made.digest
    assert client.bundle(made.encoded)["plan"]["survey"]["question"][0]["edges"][1] == 2**53


@pytest.mark.parametrize("given", LINKS["addresses"]["right"], ids=lambda each: each["address"])
def test_addresses(given):
    text = given["address"]
    assert checked_address(text) == text and is_loopback(text) == given["this_machine"]
    assert client.address(text) == (given["host"], given["this_machine"])


@pytest.mark.parametrize("text", named(LINKS["addresses"]["wrong"]))
def test_wrong_addresses(text):
    with pytest.raises(ValueError):
        checked_address(text)
    rejected(client.address, text)


@pytest.mark.parametrize("given", LINKS["links"]["right"], ids=lambda each: each["text"])
def test_links(given):
    link = Link.parse(given["text"])
    parts = tuple(given[key] for key in ("address", "digest", "code"))
    assert (link.address, link.digest.hex(), link.code) == parts == client.link(given["text"])


@pytest.mark.parametrize("text", named(LINKS["links"]["wrong"]))
def test_wrong_links(text):
    with pytest.raises(UsageError):
        Link.parse(text)
    rejected(client.link, text)


def test_codes_and_short_forms():
    for given in LINKS["codes"]["right"]:
        assert code_field(given["typed"]).decode() == given["code"] == client.code(given["typed"])
    for text in LINKS["codes"]["wrong"].values():
        rejected(client.code, text)
        with pytest.raises(ProtocolError):
            code_field(text)
    given = LINKS["short"]
    assert short(hexed(given["digest"])) == given["text"]
    assert client.base32(hexed(given["digest"])[:20]) == given["text"].replace("-", "")
    drawn = vectors("keys")["code"]
    assert client.base32(hexed(drawn["random"])) == drawn["text"]


# --- bundles and plans ---------------------------------------------------------------------------


@pytest.mark.parametrize("given", BUNDLES["right"], ids=lambda each: each["short"])
def test_bundles_are_accepted_by_the_other_client(given):
    assert client.bundle(given["text"].encode())["format"] == "incrowd bundle 1"


@pytest.mark.parametrize("text", named(BUNDLES["wrong"]))
def test_wrong_bundles_are_rejected_by_the_other_client(text):
    rejected(client.bundle, text.encode())


@pytest.mark.parametrize("name", MIXERS)
def test_bundles_of_two_mixers_are_accepted_by_both(name):
    data = MIXERS[name]["bundle"].encode()
    assert Bundle.parse(data).digest.hex() == MIXERS[name]["digest"]
    assert client.bundle(data)["format"] == "incrowd bundle 2"


@pytest.mark.parametrize(
    ("name", "why"),
    one_in(3, [(name, why) for name in MIXERS for why in MIXERS[name]["wrong_bundles"]]),
)
def test_wrong_bundles_of_two_mixers_are_rejected_by_both(name, why):
    content = merged(json.loads(MIXERS[name]["bundle"]), MIXERS[name]["wrong_bundles"][why])
    data = client.canonical(content).encode()
    rejected(client.bundle, data)
    with pytest.raises(ProtocolError):
        Bundle.parse(data)


def test_organizations():
    for given in MIXERS["mixers"]["organizations"]:
        one, other = (client.organization(given[role]) for role in ("inviter", "collector"))
        assert (one == other) == given["same"]


def loaded(content):
    return Plan.loads(json.dumps({"plan": content, "digest": client_digest(content)}))


def client_digest(content):
    return hashlib.sha256(client.canonical(content).encode()).hexdigest()


@pytest.mark.parametrize("name", PLANS["right"])
def test_plans(name):
    content = PLANS["right"][name]
    assert client.plan(content) and loaded(content).digest == client_digest(content)


@pytest.mark.parametrize("case", told(PLANS["wrong"]))
def test_wrong_plans(case):
    content = changed(PLANS, case)
    rejected(client.plan, content)
    with pytest.raises(IncrowdError):
        loaded(content)


@pytest.mark.parametrize(
    "given", PLANS["slots"], ids=lambda each: f"{each['plan']} {each['mixers']}"
)
def test_slots(given):
    """As few as possible: one more or one less of any pool is rejected."""
    plan = Plan.load(VECTORS / f"{given['plan']}.json")
    assert list((slots if given["mixers"] == 1 else slots_of_messages)(plan)) == given["slots"]
    client.needs_slots(plan.content, given["mixers"], given["slots"])
    for pool in range(len(given["slots"])):
        for more in (-1, 1):
            wrong = [count + more * (at == pool) for at, count in enumerate(given["slots"])]
            with pytest.raises(client.REJECTED):
                client.needs_slots(plan.content, given["mixers"], wrong)


# --- records, randomizers, words -----------------------------------------------------------------


def test_randomizers():
    for question in DEVICES_PLAN["survey"]["question"]:
        if question["randomizer"]:
            found = client.law(question["randomizer"], client.bits(question))
            assert found == DEVICES["laws"][question["id"]]
    for given in DEVICES["randomizers"]:
        width = 4 if given["randomizer"]["kind"] == "k-ary" else 1
        assert client.law(given["randomizer"], width) == given["law"]


@pytest.mark.parametrize("given", DEVICES["no_randomizers"], ids=str)
def test_no_randomizers(given):
    of_four = given["kind"] == "k-ary"
    rejected(lambda each: client.law(each, 4 if of_four else 1), given)
    asked = {"type": "choice", "options": list("abcd")} if of_four else {"type": "yesno"}
    with pytest.raises(IncrowdError):
        incrowd.plan(survey_of({"id": "q", "randomizer": given} | asked))


def survey_of(question):
    privacy = {"epsilon": 90.0, "analysis": "local"}
    return Survey.of({"name": "S", "crowd": 9, "privacy": privacy, "question": [question]})


@pytest.mark.parametrize("given", DEVICES["words"], ids=lambda each: ascii(each["word"]))
def test_words(given):
    known = {each["id"]: each for each in DEVICES_PLAN["survey"]["question"]}
    word = client.normalized(given["word"])
    assert word == given["normalized"]
    assert client.places(known[given["question"]], word, given["cohort"]) == given["places"]


@pytest.mark.parametrize(
    "given",
    DEVICES["no_answers"],
    ids=lambda each: f"{each['question']['type']} {each['answer']!a}",
)
def test_answers_that_no_client_sends(given):
    rejected(lambda each: client.answer_bits(each["question"], each["answer"]), given)
    with pytest.raises(IncrowdError):
        survey = survey_of(given["question"])
        EncodedAnswers.of(survey, pa.table({"q": [given["answer"]]}))


def asked_in(plan):
    known = {each["id"]: each for each in plan["survey"]["question"]}
    return [(of, [known[id] for id in of["questions"]]) for of in plan["messages"]]


def remember(key, plan, of, asked):
    def response(question, before):
        noise = client.first_stage(question, of)
        name = client.series(plan["survey"]["name"], noise, asked)
        return client.remembered(key, name, question, noise, before)

    return response


@pytest.mark.parametrize("person", DEVICES["people"])
def test_joint_reports_with_every_randomizer_from_their_words(person):
    key = hexed(DEVICES["key"])
    for (of, asked), given in zip(asked_in(DEVICES_PLAN), person["messages"], strict=True):
        words = iter([int(word, 16) for word in given["words"]])
        response = remember(key, DEVICES_PLAN, of, asked)
        found = client.joint_reports(of, asked, person["answers"], words, response)
        assert [each.hex() for each in found] == given["reports"] and list(words) == []
        if "record" in given:
            answers = [person["answers"][each["id"]] for each in asked]
            rows = zip(asked, map(client.answer_bits, asked, answers), strict=True)
            assert client.as_bytes(*joined(rows)).hex() == given["record"]


@pytest.mark.parametrize("person", CONDITIONS["people"])
def test_who_is_asked_what_and_what_is_sent_then(person):
    plan = vectors("conditions-plan")["plan"]
    answers = client.with_states(plan["survey"]["question"], person["answers"])
    assert [id for id, answer in answers.items() if answer != wire.NOT_ASKED] == person["asked"]
    for (of, asked), given in zip(asked_in(plan), person["messages"], strict=True):
        if of["cells"]:
            assert sorted(wire.cells(asked, answers)) == given["chosen"]
            sent = [int.from_bytes(hexed(each), "little") for each in given["reports"]]
            assert sent == sorted({*given["chosen"]} ^ {*given["flipped"]})
            continue
        words = iter([int(word, 16) for word in given["words"]])
        found = client.joint_reports(of, asked, answers, words, None)
        assert [each.hex() for each in found] == given["reports"] and list(words) == []
        if "record" in given:
            rows = [(each, client.answer_bits(each, answers[each["id"]])) for each in asked]
            assert client.as_bytes(*joined(rows)).hex() == given["record"]


def test_a_person_who_is_asked_has_to_answer():
    """And one who is not asked does not: the others of the vectors lack the same answer."""
    content, refused = vectors("conditions-plan")["plan"], CONDITIONS["refused"]
    assert any(each["answers"].get("region") is None for each in CONDITIONS["people"])
    rejected(lambda answers: client.with_states(content["survey"]["question"], answers), refused)
    with pytest.raises(AnswersError, match="region"):
        condition_vectors.encoded(refused)


def joined(rows):
    row, start = set(), 0
    for question, inside in rows:
        row |= {start + at for at in inside}
        start += client.bits(question)
    return row, start


@pytest.mark.parametrize("given", DEVICES["permanent"])
def test_permanent_responses(given):
    of, asked = asked_in(DEVICES_PLAN)[-1]
    record, row, start = int.from_bytes(hexed(given["record"]), "little"), set(), 0
    survey = DEVICES_PLAN["survey"]["name"]
    noises = [client.first_stage(question, of) for question in asked]
    assert [client.series(survey, noise, asked) for noise in noises] == given["series"]
    response = remember(hexed(DEVICES["key"]), DEVICES_PLAN, of, asked)
    for question in asked:
        width = client.bits(question)
        before = {at for at in range(width) if record >> start + at & 1}
        row |= {start + at for at in response(question, before)}
        start += width
    assert client.as_bytes(row, start).hex() == given["kept"]


@pytest.mark.parametrize("person", PERMANENT["people"])
def test_permanent_messages(person):
    """Joint reports and sets of cells, with their series."""
    plan = vectors("permanent-plan")["plan"]
    for (of, asked), given in zip(asked_in(plan), person["messages"], strict=True):
        if of["cells"]:
            name = client.series(
                plan["survey"]["name"], of["noise_numerator"], asked, of.get("parities", False)
            )
            chosen = wire.cells(asked, person["answers"], of.get("parities", False))
            if "draws" in given:
                assert name == given["series"] and sorted(chosen) == given["chosen"]
            continue
        words = iter([int(word, 16) for word in given["words"]])
        response = remember(hexed(PERMANENT["key"]), plan, of, asked)
        found = client.joint_reports(of, asked, person["answers"], words, response)
        assert [each.hex() for each in found] == given["reports"] and list(words) == []


def test_strata_reject_an_answer_that_is_none():
    survey = STRATA["surveys"][2]
    wrong = {"faculty": "medicine"}, {"faculty": "no answer "}
    for answers in wrong:
        rejected(lambda each: wire.stratum(survey["questions"], each), answers)


# --- problems ------------------------------------------------------------------------------------


def test_problem_documents_and_whether_to_send_again():
    for given in PROBLEMS["right"]:
        kind = problem.KINDS[given["name"]]
        assert (kind.status, kind.retry) == (given["status"], given["retry"])
        assert problem.parse_document(given["text"].encode(), given["status"])[0] is kind
        assert client.again(given["status"], given["text"]) == given["retry"]
    assert {given["name"] for given in PROBLEMS["right"]} == set(problem.KINDS)


@pytest.mark.parametrize("given", told(PROBLEMS["other"]))
def test_other_answers_and_whether_to_send_again(given):
    """429 of a proxy is tried again, 429 `too-often` is not."""
    body = given["text"].encode()
    assert Reply(given["status"], body, _kind(body, given["status"])).again == given["retry"]
    assert client.again(given["status"], given["text"]) == given["retry"]


# --- two mixers ----------------------------------------------------------------------------------


def moduli(content):
    slots = zip(content["inviter"]["messages"], content["slots"], strict=True)
    keys = [content["inviter"]["entry"], *(key for key, many in slots for _ in range(many))]
    return [int(each["modulus"], 16) for each in keys]


def slot_messages(content):
    return [message for message, many in enumerate(content["slots"]) for _ in range(many)]


def texts(content, digest, person):
    """What the tokens of a person sign."""
    bound = person["stratum"].to_bytes(2)
    found = [b"incrowd entry 2\0" + digest + hexed(person["nonce"])]
    for message, inner in zip(slot_messages(content), person["inners"], strict=True):
        hashed = hashlib.sha256(hexed(inner)).digest()
        found.append(b"incrowd slot 2\0" + digest + bound + message.to_bytes(2) + hashed)
    return found


def cut(data, size):
    return [data[at : at + size] for at in range(0, len(data), size)]


@pytest.mark.parametrize("name", MIXERS)
def test_everything_that_a_device_sends_to_two_mixers(name):
    """From what it drew: inner reports, request, signatures, envelopes, each sealed and opened."""
    given, content = MIXERS[name], json.loads(MIXERS[name]["bundle"])
    person, digest = given["person"], hexed(given["digest"])
    binding = digest + person["stratum"].to_bytes(2)
    second, collector = (
        hexed(content[role]["key_configuration"]) for role in ("second", "collector")
    )
    made = [
        wire.seal(hexed(plaintext), collector, binding, hexed(drawn), b"incrowd inner 2\0").hex()
        for plaintext, drawn in zip(person["plaintexts"], person["inner_ephemerals"], strict=True)
    ]
    assert made == person["inners"]
    said, keys = texts(content, digest, person), moduli(content)
    blindings = [int(each, 16) for each in person["blindings"]]
    blinded = [
        client.encoded(text, hexed(salt)) * pow(r, 65537, n) % n
        for text, salt, r, n in zip(said, person["salts"], blindings, keys, strict=True)
    ]
    assert client.request(person["code"].encode(), blinded, digest).hex() == person["request"]
    entry, *tokens = client.unblinded(hexed(person["answer"]), said, blindings, keys)
    slots_in_order = zip(slot_messages(content), tokens, person["inners"], strict=True)
    rows = [n.to_bytes(2) + token + hexed(inner) for n, token, inner in slots_in_order]
    envelopes = [
        wire.seal(rows[slot], second, binding, hexed(drawn), b"incrowd outer 2\0")
        for slot, drawn in zip(person["order"], person["outer_ephemerals"], strict=True)
    ]
    upload = binding + hexed(person["nonce"]) + entry + b"".join(envelopes)
    assert upload.hex() == person["upload"]
    private = {role: hexed(key) for role, key in given["keys"].items()}
    for slot, envelope in zip(person["order"], envelopes, strict=True):
        assert wire.unseal(envelope, private["second"], binding, b"incrowd outer 2\0") == rows[slot]
        opened = wire.unseal(rows[slot][258:], private["collector"], binding, b"incrowd inner 2\0")
        assert opened.hex() == person["plaintexts"][slot]
    of = Bundle.parse(given["bundle"].encode())
    parsed = parse_upload(upload, of)
    assert has_entry(parsed, of) and list(parsed.sealed) == envelopes


def test_a_draw_that_does_not_fit_is_drawn_again_as_a_whole():
    """The first draw of the crossed cells has six reports for five slots: its yes/no is not sent
    either. The permanent set stays."""
    given = MIXERS["mixers-cells"]
    content, person = json.loads(given["bundle"]), given["person"]
    plan, counts = content["plan"], content["slots"]
    (_, crossed), (of, tools) = asked_in(plan)[1:]
    assert sorted(wire.cells(crossed, person["answers"])) == person["chosen"]
    for draw in person["draws"]:
        assert draw["reports"] == sorted(set(person["chosen"]) ^ set(draw["flipped"]))
    fitting = [draw for draw in person["draws"] if len(draw["reports"]) <= counts[1]]
    assert fitting == person["draws"][1:]
    noise = of["noise_numerator"]
    name = client.series(plan["survey"]["name"], noise, tools)
    chosen = sorted(wire.cells(tools, person["answers"]))
    secret = hexed(person["key"])
    _, kept = wire.permanent_set(secret, name, of["questions"], chosen, 3, noise, counts[2])
    sent = [[draw["smokes"] for draw in fitting], fitting[0]["reports"], kept]
    plaintexts = []
    for message, (reports, count) in enumerate(zip(sent, counts, strict=True)):
        plaintexts += [wire.plaintext(4, message, bytes([report])) for report in reports]
        plaintexts += [wire.plaintext(4)] * (count - len(reports))
    assert [each.hex() for each in plaintexts] == person["plaintexts"]


def sizes(content):
    read = wire.read_mixers_bundle(client.canonical(content).encode())
    places = sum(content["slots"])
    return (322 + places * read["envelope"], 322, read["envelope"])


@pytest.mark.parametrize("given", told(MIXERS["mixers"]["wrong_uploads"]))
def test_wrong_uploads_to_a_first_mixer(given):
    content, data = json.loads(MIXERS["mixers"]["bundle"]), hexed(given["bytes"])
    found = client.refused(data, content, sizes(content))
    text = b"incrowd entry 2\0" + hexed(MIXERS["mixers"]["digest"]) + data[34:66]
    if found is None and not wire.is_signed(text, data[66:322], moduli(content)[0]):
        found = "token"
    assert found == given["problem"]
    of = Bundle.parse(MIXERS["mixers"]["bundle"].encode())
    if given["problem"] == "token":
        assert not has_entry(parse_upload(data, of), of)
        return
    with pytest.raises(ProtocolError) as error:
        parse_upload(data, of)
    assert problem.kind_of(error.value).name == given["problem"]


def test_wrong_uploads_to_a_shuffler():
    content = json.loads(BUNDLES["right"][0]["text"])
    read = wire.read_bundle(BUNDLES["right"][0]["text"].encode())
    for given in vectors("uploads")["wrong"]:
        data = hexed(given["bytes"])
        found = client.refused(data, content, (read["upload"], 50, read["sealed"]))
        if found is None and not set(data[32:48].decode()) <= set(client.BASE32):
            found = "code-unknown"
        assert found == given["problem"], given["why"]


@pytest.mark.parametrize("given", told(MIXERS["mixers"]["wrong_requests"]))
def test_wrong_requests_for_tokens(given):
    content, data = json.loads(MIXERS["mixers"]["bundle"]), hexed(given["bytes"])
    keys = moduli(content)
    if len(data) != 48 + 256 * len(keys):
        found = "length"
    elif data[:32] != hexed(MIXERS["mixers"]["digest"]):
        found = "bundle"
    else:
        values = [int.from_bytes(each) for each in cut(data[48:], 256)]
        found = "token" if any(z >= n for z, n in zip(values, keys, strict=True)) else None
    assert found == given["problem"]
    of = Bundle.parse(MIXERS["mixers"]["bundle"].encode())
    with pytest.raises(ProtocolError) as error:
        signed_by_library(data, of)
    if found != "token":
        assert problem.kind_of(error.value).name == given["problem"]


def signed_by_library(data, of):
    parsed = TokenRequest.parse(data, of)
    private = [PrivateTokenKey.parse(hexed(each)) for each in MIXERS["mixers"]["token_keys"]]
    keys = [private[0], *(private[1 + message] for message in of.slot_messages)]
    return [sign_blinded(value, key) for value, key in zip(parsed.blinded, keys, strict=True)]


@pytest.mark.parametrize("answer", named(MIXERS["mixers"]["wrong_answers"]))
def test_a_wrong_answer_of_the_inviter_gives_no_token(answer):
    content, person = json.loads(MIXERS["mixers"]["bundle"]), MIXERS["mixers"]["person"]
    said, keys = texts(content, hexed(MIXERS["mixers"]["digest"]), person), moduli(content)
    blindings = [int(each, 16) for each in person["blindings"]]
    with pytest.raises(client.REJECTED):
        client.unblinded(hexed(answer), said, blindings, keys)
    inverses = [pow(r, -1, n).to_bytes(256) for r, n in zip(blindings, keys, strict=True)]
    inners = tuple(map(hexed, person["inners"]))
    pending = Pending(
        hexed(person["request"]), person["stratum"], hexed(person["nonce"]), tuple(inverses), inners
    )
    of = Bundle.parse(MIXERS["mixers"]["bundle"].encode())
    pending.upload(hexed(person["answer"]), of, person["order"])
    with pytest.raises(ProtocolError):
        pending.upload(hexed(answer), of, person["order"])


def test_the_challenge_of_a_root():
    given = MIXERS["mixers"]
    of = Bundle.parse(given["bundle"].encode())
    modulus = of.token_keys[0].encoded
    assert client.challenge(modulus, 0).hex() == given["challenge"]
    assert int(given["challenge"], 16) % of.token_keys[0].modulus == challenges(of.token_keys[0])[0]


# --- the readers ---------------------------------------------------------------------------------


def test_the_other_client_imports_nothing_of_the_library():
    for name in ("client", "wire", "mlkem"):
        text = (Path(client.__file__).parent / f"{name}.py").read_text(encoding="utf-8")
        assert "import incrowd" not in text and "from incrowd" not in text


def test_the_order_of_the_vectors_is_not_its_own_inverse():
    """Whoever takes `order` for its inverse reads other plaintexts."""
    for order in [MIXERS[name]["person"]["order"] for name in MIXERS] + [
        each["order"] for each in vectors("uploads")["right"]
    ]:
        assert [order.index(at) for at in range(len(order))] != order
