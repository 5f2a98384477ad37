"""What a file of reports says is what was written."""

import numpy as np
import pytest

import incrowd
from incrowd.errors import ReportsError
from tests.conftest import reports_of, rewritten

# --- files of reports ----------------------------------------------------------------------------


METADATA = ("format", "plan", "message", "bits", "digest", "sha256", "reports")


def read_all(path):
    incrowd.load_reports(path)
    return list(incrowd.stream_reports(path))


@pytest.mark.parametrize(
    "changes",
    [
        {"people": "5000"},
        {"people": "-5"},
        {"drop": ["people"]},
        {"drop": ["simulation_seed"]},
        {"drop": ["digest"]},
        {"drop": ["digest", "sha256", "reports"]},
        {"drop": ["format", "digest", "sha256", "reports"]},  # as pyarrow.parquet.read_table does
        {"drop": ["format"]},
        {"persons": "ids"},
        {"collection": "another"},
        {"rows": 10},
        {"rows": 10, "reports": "10"},
        {"sha256": "0" * 64},
        {"more": "1"},
    ],
    ids=str,
)
def test_every_edit_of_a_files_metadata_is_seen(saved_reports, changes):
    """However it is read; the unchanged file is read without a word, also rewritten as it was."""
    rewritten(saved_reports)
    read_all(saved_reports)
    rewritten(saved_reports, **changes)
    for read in (incrowd.load_reports, lambda path: list(incrowd.stream_reports(path))):
        with pytest.raises(ReportsError, match="edited or damaged"):
            read(saved_reports)


def test_reports_that_were_edited_are_seen_by_verify(cells_plan, saved_reports):
    (reports,) = incrowd.load_reports(saved_reports)
    content = saved_reports.read_bytes()
    at = content.index(reports.packed.tobytes()[:64])
    saved_reports.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    read_all(saved_reports)
    with pytest.raises(ReportsError, match="edited or damaged"):
        incrowd.verify(cells_plan, incrowd.stream_reports(saved_reports, check=True))


def test_the_digest_does_not_depend_on_how_the_reports_came(plain_plan, tmp_path, monkeypatch):
    """In many row groups, read part by part and checked."""
    from incrowd.reports import collection

    monkeypatch.setattr(collection, "GROUP_BYTES", 16)
    (reports,) = reports_of(plain_plan)
    collection.write_reports(reports, np.array_split(reports.packed, 7), tmp_path / "r.parquet")
    parts = list(incrowd.stream_reports(tmp_path / "r.parquet", check=True))
    assert len(parts) == -(-len(reports) // 16)
    assert (np.concatenate([part.packed for part in parts]) == reports.packed).all()


def test_files_of_another_format_are_refused(saved_reports):
    rewritten(saved_reports, seal=True, format="incrowd reports 9")
    with pytest.raises(ReportsError, match=r"its format is 'incrowd reports 9'.*incrowd randomize"):
        read_all(saved_reports)
    rewritten(saved_reports, drop=METADATA)
    with pytest.raises(ReportsError, match=r"is not a reports file.*incrowd randomize"):
        read_all(saved_reports)


def test_edits_with_a_digest_of_their_own_have_to_be_possible(cells_plan, saved_reports):
    rewritten(saved_reports, seal=True, people="900")
    assert incrowd.verify(cells_plan, incrowd.stream_reports(saved_reports)).impossible_people
    with pytest.raises(ReportsError, match="900 people send at least"):
        incrowd.estimate(cells_plan, incrowd.load_reports(saved_reports))
    for name, value in [("people", "-5"), ("simulation_seed", "-1"), ("persons", "all")]:
        incrowd.save_reports(reports_of(cells_plan), saved_reports)
        rewritten(saved_reports, seal=True, **{name: value})
        with pytest.raises(ReportsError, match=name):
            read_all(saved_reports)
