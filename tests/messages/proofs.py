"""Why there is no proof in interval arithmetic."""

from incrowd.accountant import AdditiveNoise, BitFlip, Contribution, Domain, KAry, Part, Schema
from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.proved import described, prove

FREE = Domain(1, 0, 1)
FLIP = BitFlip.at_least(0.2)
NOISE = AdditiveNoise.laplace(1.0, most=20)


def proof(*parts, copies=1, redraws=0.0, named=False, seconds=60.0):
    """A proof of one report of these parts, in a crowd of 100 people."""

    def call(_):
        sent = Contribution.of(Schema.of(parts), copies)
        sent = Contribution(sent.reports, redraws=redraws)
        prove(described(sent, named=named), 100, "0.1", "1e-6", seconds=seconds)

    return call


CASES = {
    "proof: k-ary": proof(Part(Domain(4, 1, 1), KAry.from_epsilon(1.0, 4))),
    "proof: bits that are not symmetric": proof(
        Part(FREE, Bit.from_probabilities(0.1, 0.8)), Part(FREE, FLIP)
    ),
    "proof: many options": proof(Part(Domain(12, 0, 6), FLIP)),
    "proof: many questions": proof(
        *(Part(Domain(5, 0, 2), BitFlip.at_least(0.2 + i / 100)) for i in range(8))
    ),
    "proof: redraws": proof(Part(FREE, FLIP), redraws=0.1),
    "proof: many noises": proof(
        *(Part(FREE, BitFlip.at_least(0.2 + i / 100)) for i in range(20)), named=True
    ),
    "proof: shifts": lambda _: described(Contribution((), shifts=((NOISE, 2),)), named=True),
    "proof: time": proof(Part(FREE, FLIP), copies=20, seconds=0.0),
}
