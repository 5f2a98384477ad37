"""Who has every copy of a database, but not the key: do its columns join a code with a report?

PostgreSQL writes into every row which transaction made it (xmin) and where it lies (ctid, the
order of arrival): both are read here, with heap, write-ahead log and a physical backup, and the
backup of an SQLite. The reader knows all codes and all sealed reports, tries every digest that
needs no key, and joins by xmin. A store with SHA-256 in the place of HMAC gives everybody away.
"""

import hashlib
import hmac
import shutil
import sqlite3
from contextlib import closing
from unittest import mock

import pytest
from sqlalchemy import text

from incrowd.collection.mixer.store.keys import Secrets
from tests.collection.mixer.conftest import INVITED, SHUFFLER, Site, content, found, upload

PEOPLE = 24
HASHES = ("sha256", "sha512", "sha1", "md5", "blake2b")
PUBLIC = (b"", INVITED.digest, INVITED.key.public, SHUFFLER.public_key().public_bytes_raw())


def derived(content):
    """All that can be made of bytes by who has no key; as much as is compared."""
    yield content
    for name in HASHES:
        yield hashlib.new(name, content).digest()
        for key in PUBLIC[1:]:
            yield hmac.digest(key, content, name)
            yield hashlib.new(name, key + content).digest()


def named(contents):
    """From a digest to whose it is."""
    return {made: who for who, content in contents for made in derived(content)}


def joined(rows, uploads):
    """The people whose code and report are in one transaction, as (xmin, ctid, tag) tell."""
    codes = named((at, one.entry) for at, one in enumerate(uploads))
    reports = named((at, each) for at, one in enumerate(uploads) for each in one.sealed)
    by = {xmin: codes[tag] for xmin, _, tag in rows["codes"] if tag in codes}
    return {
        by[xmin] for xmin, _, tag in rows["reports"] if tag in reports and by.get(xmin) is not None
    }


def arrivals(rows, uploads):
    """Whose reports lie where, in the order of the places: who came when."""
    reports = named((at, each) for at, one in enumerate(uploads) for each in one.sealed)
    return [reports[tag] for _, _, tag in sorted(rows["reports"], key=place) if tag in reports]


def place(row):
    return tuple(map(int, row[1].strip("()").split(",")))


def system_columns(store):
    """Every row of both tables, with what PostgreSQL writes into it by itself."""
    wanted = "SELECT xmin::text, ctid::text, tag FROM {}"
    with store.engine.connect() as connection:
        return {
            table: [(x, c, bytes(t)) for x, c, t in connection.execute(text(wanted.format(table)))]
            for table in ("codes", "reports")
        }


def needles(uploads):
    """What a backup must not hold."""
    contents = [one.entry for one in uploads] + [each for one in uploads for each in one.sealed]
    return [made for content in contents for made in derived(content) if len(made) >= 16]


class Unkeyed(Secrets):
    """A wrong store: digests that everybody can make."""

    def tag(self, sealed):
        return hashlib.sha256(sealed).digest()

    def code_tag(self, code):
        return hashlib.sha256(code).digest()


def unkeyed():
    return mock.patch.multiple(Secrets, tag=Unkeyed.tag, code_tag=Unkeyed.code_tag)


def on_postgresql(folder, server):
    """One after the other sends; then what the columns and a physical backup hold."""
    site = Site(folder, invitations=PEOPLE, database=server.database())
    uploads = [upload(INVITED, n, 0, n) for n in range(PEOPLE)]
    for one in uploads:
        assert site.post(one) == [201]
    rows = system_columns(site.store)
    backup = server.folder / f"backup {folder.name}"
    server.run("pg_basebackup", "-h", server.folder, "-U", "tester", "-D", backup, "-X", "stream",
               "--no-sync", "-c", "fast")  # fmt: skip
    copied = content(backup)
    shutil.rmtree(backup)
    site.look_at("closes")
    site.look_at("disposes")
    assert not site.settings.secret_file.exists() and len(site.collector.heard) == 1
    site.close()
    return uploads, rows, copied, content(server.data)


@pytest.mark.slow
def test_without_the_key_no_column_and_no_backup_joins_a_code_with_a_report(tmp_path, postgres):
    uploads, rows, backup, after = on_postgresql(tmp_path / "right", postgres)
    marked = {xmin for xmin, _, _ in rows["codes"]}
    assert len(marked & {xmin for xmin, _, _ in rows["reports"]}) == PEOPLE, "xmin does join rows"
    assert joined(rows, uploads) == set() and arrivals(rows, uploads) == []
    for hay in (backup, after):
        assert found(needles(uploads), hay) == 0
    assert found([tag for _, _, tag in rows["reports"]], backup) == len(rows["reports"])


@pytest.mark.slow
def test_digests_without_a_key_give_everybody_away(tmp_path, postgres):
    with unkeyed():
        uploads, rows, backup, after = on_postgresql(tmp_path / "wrong", postgres)
    assert joined(rows, uploads) == set(range(PEOPLE))
    came = arrivals(rows, uploads)
    assert came == sorted(came) and len(came) == len(rows["reports"])
    everything = PEOPLE * (1 + INVITED.places)
    assert found(needles(uploads), backup) == everything
    assert found(needles(uploads), after) > everything // 2, "the log keeps what was deleted"


def sqlite_backup(folder):
    """A copy that was made while people send."""
    site = Site(folder, invitations=PEOPLE)
    uploads = [upload(INVITED, n, 0, n) for n in range(PEOPLE)]
    site.post(*uploads)
    copy = folder / "copy.sqlite"
    source = sqlite3.connect(site.settings.folder / "store.sqlite")
    with closing(source), closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    site.close()
    return uploads, copy.read_bytes()


@pytest.mark.parametrize("wrong", [False, True])
def test_a_backup_of_sqlite_links_nothing_without_the_key(tmp_path, wrong):
    if not wrong:
        uploads, copy = sqlite_backup(tmp_path)
        assert found(needles(uploads), copy) == 0
        return
    with unkeyed():
        uploads, copy = sqlite_backup(tmp_path)
    assert found(needles(uploads), copy) == PEOPLE * (1 + INVITED.places)
