"""What is said of channels and of the accountant's parameters."""

from dataclasses import replace
from unittest import mock

import numpy as np

import incrowd
from incrowd import accountant
from incrowd.accountant.analyses import plannable
from incrowd.accountant.certificates import smallest_noise_for_eta
from incrowd.accountant.channels.answers import AnswerChannel
from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.channels.k_ary import KAry
from incrowd.accountant.channels.rappor import Rappor, TwoStage
from incrowd.accountant.channels.warner import Warner
from incrowd.accountant.one_bit import one_bit_at
from incrowd.accountant.schema import Domain
from incrowd.plans.message import fixed_channel
from tests.messages.shared import options, survey

FREE = Domain(1, 0, 1)
FLIP = BitFlip.at_least(0.25)
CHOICE = Domain(3, 1, 1)


class Plain(AnswerChannel):
    """One that says of itself no more than it has to."""

    denominator = 100

    def __init__(self, options):
        self.options = options

    def __str__(self):
        return "an example"

    @property
    def numerators(self):
        numerators = np.ones((self.options, self.options), object)
        np.fill_diagonal(numerators, 101 - self.options)
        return numerators


def sampled(channel=FLIP, rate=0.5, participation="hidden", **options):
    return accountant.HiddenSample.of(channel, rate, participation=participation, **options)


def matrix(rows):
    return lambda _: accountant.MatrixChannel.of(rows)


NOISE = accountant.AdditiveNoise.laplace(1.0, most=20)
SHIFTED = accountant.Contribution((), shifts=((NOISE, 2),))


def added(shifts, variances, epsilon=1.0, delta=1e-6, **options):
    return lambda _: accountant.added_noise(shifts, variances, epsilon, delta, **options)


def sent(*domains, copies=1, channel=FLIP):
    return incrowd.Contribution.of(incrowd.Schema.uniform(domains, channel), copies)


def certify(analysis, *domains, crowd=10, epsilon=1.0, **options):
    return lambda _: incrowd.certify(analysis, sent(*domains, **options), crowd, epsilon)


def noise(analysis, crowd, epsilon, delta, family=lambda flip: sent(FREE, channel=flip)):
    return lambda _: incrowd.smallest_noise(analysis, family, crowd, epsilon, delta)


def device(*questions, **randomizer):
    """A survey with a device that makes no plan."""
    asked = dict(questions[0]) if questions else {"id": "a", "type": "yesno"}
    return lambda _: fixed_channel(survey(asked | {"randomizer": randomizer}).questions[0])


def fixed(flip):
    """What is sent if one question has a device that tells a lot, whatever the others do."""
    parts = [incrowd.Part(FREE, flip), incrowd.Part(FREE, BitFlip.at_least(0.01))]
    return incrowd.Contribution.of(incrowd.Schema.of(parts))


def copies_of(copies, redraws=0.0):
    """One bit in several reports, after rounds whose noise was drawn again."""

    def family(flip):
        return replace(sent(FREE, copies=copies, channel=flip), redraws=redraws)

    return family


def many_relations(_):
    with mock.patch("incrowd.accountant.pairs.MOST_CANDIDATES", 3):
        incrowd.certify("outlier", sent(FREE, CHOICE), 10, 1.0)


def picture_without_a_library(_):
    curve = incrowd.privacy_curve("blanket", FLIP, 100)
    with mock.patch.dict("sys.modules", {"altair": None, "matplotlib.pyplot": None}):
        curve.plot()


def many_classes(_):
    with mock.patch("incrowd.accountant.seat.MOST_CLASSES", 9):
        channel = KAry.from_probabilities(0.7, 3)
        incrowd.certify("seat", sent(CHOICE, CHOICE, channel=channel), 10, 1.0)


def curve_of(delta):
    return lambda _: incrowd.privacy_curve("blanket", sent(FREE), 10).epsilon(delta)


CASES = {
    "a channel of very many answers": certify("seat", Domain(21, 1, 1), channel=Plain(21)),
    "noise of a half": lambda _: incrowd.BitFlip.at_least(0.5),
    "a numerator of zero": lambda _: incrowd.BitFlip(0),
    "a bit flip of epsilon 0": lambda _: incrowd.BitFlip.from_epsilon(0.0),
    "a bit flip of a tiny epsilon": lambda _: incrowd.BitFlip.from_epsilon(1e-12),
    "a device of a tiny epsilon": lambda _: KAry.from_epsilon(1e-12, 3),
    "a device of epsilon 0": lambda _: KAry.from_epsilon(0.0, 3),
    "a numerator too large": lambda _: Bit(0, 2**33),
    "a probability above one": lambda _: Bit.from_probabilities(0.1, 1.5),
    "k-ary response of one option": lambda _: KAry(2**31, 1),
    "a numerator of k-ary response": lambda _: KAry(1, 3),
    "k-ary response below chance": lambda _: KAry.from_probabilities(0.2, 3),
    "f of one": lambda _: Rappor.one_time(1.0),
    "stages that do not fit": lambda _: TwoStage(KAry.from_probabilities(0.7, 3), Bit(1, 2**31)),
    "a bit of which nothing can be learned": lambda _: Bit(2**31, 2**31).inverse,
    "k-ary response of which nothing can be learned": lambda _: KAry(2**31, 2).inverse,
    "a device of which nothing can be learned": device(kind="bit", one_if_zero=0.3, one_if_one=0.3),
    "a device that gives an answer away": device(kind="bit", one_if_zero=0.0, one_if_one=0.5),
    "a k-ary device below chance": device(options(3), kind="k-ary", keep=0.2),
    "Warner's device with a fair spinner": device(kind="warner", spinner=0.5),
    "an unknown analysis": certify("guess", FREE),
    "an analysis that no plan rests on": lambda _: plannable("exact"),
    "exact, of a choice for too many people": certify("exact", CHOICE, crowd=500),
    "exact, of several reports of two bits": certify("exact", FREE, FREE, copies=2),
    "exact, of several kinds": certify("exact", FREE, CHOICE),
    "exact, of two questions": certify("exact", CHOICE, CHOICE),
    "exact, of many bits": certify("exact", *[FREE] * 12),
    "exact, of a k-ary response": certify("exact", CHOICE, channel=KAry.from_probabilities(0.7, 3)),
    "a question of very many options": certify("blanket", Domain(900, 0, 400)),
    "a curve of local": lambda _: incrowd.privacy_curve("local", sent(FREE), 10),
    "a delta that no composition reaches": curve_of(1e-300),
    "one bit with too many ones": lambda _: one_bit_at(FLIP, 10, 1.0, 10),
    "many relations of records": many_relations,
    "k-ary response to another question": certify(
        "blanket", FREE, channel=KAry.from_probabilities(0.7, 3)
    ),
    "a channel of two stages that is no bit": certify(
        "blanket",
        FREE,
        channel=TwoStage(KAry.from_probabilities(0.7, 3), KAry.from_probabilities(0.7, 3)),
    ),
    "a channel that gives an answer away": certify("blanket", FREE, channel=Bit(0, 2**31)),
    "outlier, of an asymmetric bit": certify("outlier", FREE, channel=Bit(2**30, 2**31)),
    "hardly any noise": certify("blanket", *[FREE] * 64, channel=BitFlip(1)),
    "a crowd of one": certify("blanket", FREE, crowd=1),
    "epsilon of 800": certify("blanket", FREE, epsilon=800.0),
    "no finite epsilon": certify("local", FREE, epsilon=float("inf")),
    "delta of two": lambda _: incrowd.smallest_epsilon("blanket", sent(FREE), 10, 2.0),
    "a delta that no epsilon reaches": lambda _: incrowd.smallest_epsilon(
        "blanket", sent(FREE), 10, 1e-300
    ),
    "no copies": certify("blanket", FREE, copies=0),
    "65 free bits": certify("blanket", *[FREE] * 65),
    "a promise that no noise keeps": noise("blanket", 2, 0.0, 1e-12),
    "a promise that fixed devices break": noise("blanket", 10, 0.1, 1e-9, fixed),
    "a local epsilon that no noise keeps": noise("local", 2, 1e-12, 1e-6),
    "a local epsilon that fixed devices break": noise("local", 2, 1.0, 1e-6, fixed),
    "eta that no noise keeps": lambda _: smallest_noise_for_eta(
        "blanket", lambda flip: sent(FREE, channel=flip), 2, 0.0, 1e-12
    ),
    "a delta too small for a composition": noise("seat", 10, 1.0, 1e-14, copies_of(3)),
    "a delta too small for redraws": noise("seat", 10, 1.0, 1e-9, copies_of(3, redraws=1e-9)),
    "an eta too small for one report": lambda _: smallest_noise_for_eta(
        "seat", lambda flip: flip, 10, 1.0, 1e-300
    ),
    "a numerator that is a probability": lambda _: BitFlip(0.2),
    "an excess of zero": lambda _: BitFlip.from_excess(0.0),
    "a logit that is not a number": lambda _: BitFlip.from_logit(float("nan")),
    "bits of a channel of no bit": lambda _: FLIP.reported(0),
    "bits of a choice": lambda _: KAry.from_probabilities(0.7, 3).reported(2),
    "a domain of no record": lambda _: Domain(1, 2, 1),
    "redraws below zero": lambda _: incrowd.Contribution((), redraws=-1.0),
    "a schema of numbers": lambda _: incrowd.Schema.of(iter([0.2])),
    "a mechanism that is a number": lambda _: accountant.certify("shuffle", 0.2, 100, 1.0),
    "a family of numbers": noise("shuffle", 100, 1.0, 1e-6, lambda flip: 0.2),
    "a curve without steps": lambda _: incrowd.privacy_curve("seat", FLIP, 100, steps=0),
    "a power of zero": lambda _: incrowd.privacy_curve("blanket", FLIP, 100) ** 0,
    "twice a curve": lambda _: 2 * incrowd.privacy_curve("blanket", FLIP, 100),
    "an analysis that does not exist": lambda _: accountant.ANALYSES["guess"],
    "a composition of nothing": lambda _: incrowd.PrivacyCurve.of([]),
    "delta where epsilon is not a number": lambda _: incrowd.privacy_curve(
        "blanket", FLIP, 100
    ).delta(float("nan")),
    "epsilon of a curve at delta 2": curve_of(2.0),
    "many classes of records": many_classes,
    "shifts without a crowd for the reports": lambda _: accountant.certify(
        "shuffle", sent(FREE).also(SHIFTED), None, 1.0
    ),
    "noise with a loss of zero": lambda _: accountant.AdditiveNoise.laplace(0.0, most=20),
    "noise without weights": lambda _: accountant.AdditiveNoise.of([]),
    "shifts where both services work together": lambda _: accountant.certify(
        "local", SHIFTED, None, 1.0
    ),
    "a curve that is repeated too often": lambda _: incrowd.PrivacyCurve.of(
        [(incrowd.privacy_curve("blanket", FLIP, 100), 10**10)]
    ),
    "a crowd larger than mankind": lambda _: accountant.certify("seat", FLIP, 10**18, 1.0),
    "shapes that do not fit": lambda _: accountant.smallest_delta(
        "blanket", FLIP, [90, 100], [0.5, 1.0, 2.0]
    ),
    "a family without a parameter": noise("blanket", 100, 1.0, 1e-6, lambda: FLIP),
    "no alternatives": lambda _: accountant.Alternatives(()),
    "a library of pictures that does not exist": lambda _: incrowd.privacy_curve(
        "blanket", FLIP, 100
    ).plot(library="excel"),
    "a library of pictures that is not installed": picture_without_a_library,
    "an epsilon beyond double precision": lambda _: accountant.certify(
        "local", FLIP, None, 10**400
    ),
    "numbers that are text": lambda _: incrowd.privacy_curve("blanket", FLIP, 100).delta(["x"]),
    "crowds that are fractions": lambda _: accountant.smallest_delta("blanket", FLIP, [9.5], 1.0),
    "noise with too many messages": lambda _: accountant.AdditiveNoise.laplace(1.0, most=2**21),
    "numbers that are no law": lambda _: accountant.AdditiveNoise((1, 2)),
    "noise for no shift": added([0], [1.0]),
    "noise of no variance": added([1], [0.0]),
    "noise for a delta of 1": added([1], [1.0], delta=1.0),
    "variances for other shifts": added([1, 2], [1.0]),
    "a service that learns less than readers": added([1], [1.0], service_epsilon=0.5),
    "a delta too small for counts": added([2], [1.0], delta=1e-15),
    "noise of counts beside too much else": added([1], [1.0], beside=sent(FREE), crowd=2),
    "noise of counts that is too long": added([1], [1.0], epsilon=1e-4),
    "a sample in public": lambda _: sampled(participation="public"),
    "a sample of everyone": lambda _: sampled(rate=1.0),
    "a sample with a rate of 2": lambda _: sampled(rate=2.0),
    "a sample with a numerator of 0": lambda _: accountant.HiddenSample(FLIP, 0),
    "a sample with a third answer to a bit": lambda _: sampled(blank=2),
    "a sample of permanent responses": lambda _: sampled(
        accountant.Rappor.from_probabilities(0.5, 0.75, 0.25)
    ),
    "two samples in one report": lambda _: accountant.Schema.of(
        [accountant.Part(Domain(2, 1, 1), sampled())] * 2
    ),
    "bits of a sample": lambda _: sampled().reported(3),
    "a matrix of one row": matrix([[1.0, 1.0]]),
    "a matrix with a negative entry": matrix([[1.1, 0.2], [-0.1, 0.8]]),
    "a matrix whose columns add up to too much": matrix([["0.8", "0.3"], ["0.2", "0.8"]]),
    "a matrix with a row for each answer": matrix([[0.9, 0.1], [0.4, 0.6]]),
    "a matrix that cannot be rounded": matrix([[1 / 3] * 3] * 3),
    "a matrix of probabilities as numerators": lambda _: accountant.MatrixChannel(
        ((0.5, 0.5), (0.5, 0.5))
    ),
    "a matrix with columns of different sums": lambda _: accountant.MatrixChannel(((4, 1), (1, 5))),
    "a matrix over a large denominator": lambda _: accountant.MatrixChannel(
        ((2**63, 1), (1, 2**63))
    ),
    "a matrix with a report that never occurs": lambda _: accountant.MatrixChannel(
        ((4, 1), (0, 0), (1, 4))
    ),
    "a matrix of which nothing can be learned": lambda _: (
        accountant.MatrixChannel(((1, 1), (1, 1))).inverse
    ),
    "Warner's device of a tiny epsilon": lambda _: Warner.from_epsilon(1e-12),
}
