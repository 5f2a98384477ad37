"""The example of a card: a report that says how much it could tell."""

import math
import re
from itertools import combinations, product

import numpy as np
import pytest

from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.schema import Domain
from incrowd.presentation.example import SHOWN_BITS, examples, largest_log_ratio
from tests.conftest import local_plan, yes_no_question
from tests.presentation.conftest import PLANS, wide


class TestExample:
    DOMAINS = (Domain(1, 0, 1), Domain(4, 1, 1), Domain(5, 0, 2), Domain(4, 0, 4), Domain(4, 2, 3))
    CHANNELS = (BitFlip.at_least(0.2), Bit.from_probabilities(0.1, 0.6))

    @staticmethod
    def by_enumeration(domain, matrix, report):
        """The likelihood of every allowed record."""
        sizes = range(domain.fewest, domain.most + 1)
        sets = [set(s) for size in sizes for s in combinations(range(domain.bits), size)]
        chances = [
            math.prod(matrix[r, int(i in chosen)] for i, r in enumerate(report)) for chosen in sets
        ]
        return math.log(max(chances) / min(chances))

    @pytest.mark.parametrize("domain", DOMAINS)
    @pytest.mark.parametrize("channel", CHANNELS)
    def test_the_odds_are_those_of_all_allowed_records(self, domain, channel):
        wrong = 0
        for report in product((0, 1), repeat=domain.bits):
            bits = np.array(report)
            right = self.by_enumeration(domain, channel.matrix, report)
            assert largest_log_ratio(domain, channel.matrix, bits) == pytest.approx(right, abs=1e-9)
            free = Domain(domain.bits, 0, domain.bits)  # wrong: as if all records were allowed
            wrong += abs(largest_log_ratio(free, channel.matrix, bits) - right) > 1e-6
        assert (wrong > 0) == ((domain.fewest, domain.most) != (0, domain.bits))

    @pytest.mark.parametrize("name", PLANS)
    def test_no_part_of_a_report_says_more_than_the_local_guarantee(self, name):
        plan = PLANS[name]()
        for example in examples(plan):
            assert 0 <= example.log_ratio <= plan.guarantee.local_epsilon * (1 + 1e-9)

    @pytest.mark.slow
    def test_the_flips_have_the_chances_of_the_plan(self):
        """1,000 bits, one of them set; 5 standard errors, a false alarm in 2 million."""
        plan = local_plan({"id": "c", "type": "choice", "options": [f"o{i}" for i in range(1000)]})
        (example,) = examples(plan)
        found = int(re.fullmatch(r"1,000 bits, (\d+) of them set", str(example.report))[1])
        q = plan.messages[0].noise.q
        error = math.sqrt(1000 * q * (1 - q))
        assert abs(found - 1000 * q) < 5 * error + 1
        assert abs(found - 1000 * q / 2) > 5 * error  # half the noise would be found out
        assert str(example.record) == "1,000 bits, 1 of them set"

    def test_kinds_of_questions(self):
        found = {example.questions[0]: example for example in examples(wide())}
        noise = wide().messages[-1].noise
        assert str(found["site"].record) == "“site 0”" and found["site"].answers == ("site 0",)
        assert found["site"].log_ratio == pytest.approx(math.log(noise.p / noise.q))
        assert str(found["word"].record) == "32 bits, 2 of them set"
        assert found["topics"].record == "10000" and len(found["topics"].report) == 5 < SHOWN_BITS
        assert found["spun"].report in ("x", "y", "z")
        assert found["spun"].log_ratio == pytest.approx(0.1, rel=1e-6)

    def test_the_same_kind_is_shown_once_and_the_same_every_time(self):
        plan = local_plan(
            yes_no_question("a"), yes_no_question("b"), yes_no_question("c", optional=True)
        )
        assert [example.questions for example in examples(plan)] == [("a",), ("c",)]
        assert examples(plan) == examples(plan)

    def test_pieces_of_parities(self):
        """A piece says that exactly one of two answers was given; the invented one is another."""
        ids = ["a", "b", "c", "d"]
        pairs = {"questions": ids, "cells": True, "parities": True}
        bits = [{"questions": [id], "cells": True} for id in ids]
        plan = local_plan(*map(yes_no_question, ids), message=[pairs, *bits])
        parities = examples(plan)[0]
        assert (parities.questions, parities.answers) == (("a", "b"), ("yes", "yes"))
        assert str(parities.record) == "“either a yes or b yes, not both”"
        pattern = (
            r", and ([0-9.]+) invented pieces such as “either ([a-d]) yes or ([a-d]) yes, not both”"
        )
        found = re.fullmatch(re.escape(str(parities.record)) + pattern, str(parities.report))
        assert float(found[1]) == pytest.approx(5 * plan.messages[0].noise.q, rel=0.05)
        assert found[2] < found[3] and (found[2], found[3]) != ("a", "b")

    def test_pieces_of_cells(self):
        """A piece says the answers to all questions of its message; a lone "no" sends nothing."""
        plan = local_plan(
            yes_no_question("a"),
            {"id": "b", "type": "choice", "options": list("xyz")},
            message=[
                {"questions": ["a", "b"], "cells": True},
                {"questions": ["a"], "cells": True},
                {"questions": ["b"]},
            ],
        )
        crossed, single, joint = examples(plan)
        q = plan.messages[0].noise.q
        pattern = r"“no / x”, and ([0-9.]+) invented pieces such as “(no|yes) / [xyz]”"
        found = re.fullmatch(pattern, str(crossed.report))
        assert float(found[1]) == pytest.approx(5 * q, rel=0.05)  # two digits of it
        assert "such as “no / x”" not in str(crossed.report)
        assert (crossed.questions, crossed.answers) == (("a", "b"), ("no", "x"))
        assert (single.answers, *map(str, single[2:4])) == (("yes",), "“yes”", "“yes”")
        assert joint.questions == ("b",) and joint.record == "100"
