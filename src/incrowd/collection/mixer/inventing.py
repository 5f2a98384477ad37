"""Invented reports: the noise that a shuffler adds to the cells of each stratum.

A stratum always gets the same number of them, each sealed with a secret of its own. Only which of
them are dummies is random, so that neither the length of a release nor the time that it takes shows
how many reports were added to the cells. The numbers are drawn from the system's randomness, and
nothing keeps them. Proof: docs/mathematics.md#noise-from-the-services.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from incrowd.accountant.additive import AdditiveNoise
from incrowd.collection.machine import cores
from incrowd.collection.parallel import in_processes
from incrowd.collection.protocol.bundle import LANE_BYTES, Bundle
from incrowd.collection.protocol.sealed import seal
from incrowd.plans.slots import Lane, invented
from incrowd.plans.strata import StratumGroup
from incrowd.sampling.added import draw
from incrowd.sampling.keystream import Keystream

PIECE_REPORTS = 2048
WORTH_IT = 15_000  # reports that take as long to seal as a process to start


@dataclass(frozen=True)
class Sealer:
    """Seals pieces of invented reports of a stratum: each the number of its lane, then its
    plaintext."""

    bundle: Bundle
    stratum: int

    def __call__(self, piece: bytes) -> bytes:
        """Return them sealed, each after the number of its lane, in their order."""
        size = LANE_BYTES + self.bundle.shape.length
        return b"".join(self._sealed(piece[at : at + size]) for at in range(0, len(piece), size))

    def _sealed(self, row: bytes) -> bytes:
        lane, plaintext = row[:LANE_BYTES], row[LANE_BYTES:]
        binding = self.bundle.binding(self.stratum, int.from_bytes(lane))
        return lane + seal(plaintext, self.bundle.key, binding, self.bundle.label)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what another process needs to make an equal one."""
        return _sealer, (self.bundle.encoded, self.stratum)


def _sealer(bundle: bytes, stratum: int) -> Sealer:
    return Sealer(Bundle.parse(bundle), stratum)


def invented_reports(
    bundle: Bundle, strata: StratumGroup, keystream: Keystream
) -> Iterator[np.ndarray]:
    """Draw the noise of a stratum, and yield its sealed reports, each after the number of its lane.

    Yields uint8 arrays of shape (reports, bytes), nothing if devices add all noise. strata: one, as
    strata are not merged if services add noise.
    """
    if not bundle.lanes:
        return
    [stratum] = strata
    sealed = in_processes(
        Sealer(bundle, stratum),
        _pieces(bundle, keystream),
        min(cores(), 1 + invented(bundle.plan) // WORTH_IT),
    )
    for rows in sealed:
        yield np.frombuffer(rows, np.uint8).reshape(-1, LANE_BYTES + bundle.sealed_length)


def _pieces(bundle: Bundle, keystream: Keystream) -> Iterator[bytes]:
    """Yield the invented plaintexts of all lanes, each after the number of its lane."""
    for number, lane in enumerate(bundle.lanes):
        law = bundle.plan.messages[lane.message].added
        rows = _of_lane(bundle, lane, law, keystream) if law else []
        for at in range(0, len(rows), PIECE_REPORTS):
            mark = number.to_bytes(LANE_BYTES)
            yield b"".join(mark + row for row in rows[at : at + PIECE_REPORTS])


def _of_lane(bundle: Bundle, lane: Lane, law: AdditiveNoise, keystream: Keystream) -> list[bytes]:
    """Return the plaintexts of a lane: for each cell a random number of reports, and dummies up to
    the most that there can be. All steps are the same for every number."""
    numbers = draw(law, keystream.words(len(lane.cells))) + law.reach
    shape = bundle.shape
    width, dummy = shape.width(lane.message), shape.dummy
    cells = [shape.report(lane.message, cell.to_bytes(width, "little")) for cell in lane.cells]
    real = np.arange(law.most) < numbers[:, None]
    pairs = [(dummy, cell) for cell in cells]
    return [pair[one] for pair, row in zip(pairs, real.tolist(), strict=True) for one in row]
