"""Links in the place of keys, and permissions: whatever the umask, and whatever the folder."""

import pytest

from incrowd.collection.collector.places import CollectorPlaces, new_key
from incrowd.collection.inviter import setup as inviter_setup
from incrowd.collection.mixer import setup as mixer_setup
from incrowd.collection.mixer.second.keeper import make_keys
from incrowd.collection.settings import InviterSettings, SecondMixerSettings, ShufflerSettings
from incrowd.collection.taking import Taking
from incrowd.errors import UsageError
from incrowd.files import destroy, private_folder
from tests.oracles import mixers
from tests.oracles.inviting import KEYS
from tests.oracles.mixing import INVITED, SHUFFLER, two_mixers


@pytest.mark.usefixtures("no_umask")
def test_every_folder_on_the_way_is_private(tmp_path):
    private_folder(tmp_path / "a" / "b" / "c")
    for path in ("a", "a/b", "a/b/c"):
        assert (tmp_path / path).stat().st_mode & 0o777 == 0o700


@pytest.mark.usefixtures("no_umask")
def test_what_a_collector_writes_is_private(tmp_path):
    places, bundle = CollectorPlaces(tmp_path / "collector"), two_mixers()
    new_key(places)
    with Taking(bundle, places.invitations) as taking:
        taking.add(mixers.invitations(bundle, 3, 2).encoded)
        taking.done()
    paths = [places.root, *places.root.rglob("*")]
    assert places.root / "invitations" / "starts" in paths
    assert {path: oct(path.stat().st_mode & 0o077) for path in paths} == dict.fromkeys(paths, "0o0")


def collector(folder):
    return lambda: new_key(CollectorPlaces(folder)), "private.key"


def second_mixer(folder):
    return lambda: make_keys(SecondMixerSettings(folder=folder)), "private.key"


def shuffler(folder):
    settings = ShufflerSettings(folder=folder)
    return lambda: mixer_setup.install(settings, INVITED, SHUFFLER), "signing.key"


def inviter(folder):
    settings = InviterSettings(folder=folder)
    return lambda: inviter_setup.install(settings, two_mixers(), KEYS), "tokens.key"


@pytest.mark.parametrize("service", [collector, second_mixer, shuffler, inviter])
def test_a_link_to_a_missing_file_is_not_replaced_by_a_key(tmp_path, service):
    """Such as to a volume that is not mounted."""
    init, name = service(tmp_path)
    (tmp_path / name).symlink_to(tmp_path / "volume" / name)
    with pytest.raises(UsageError, match="already"):
        init()
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_the_target_of_a_link_is_destroyed_with_it(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(bytes(32))
    link.symlink_to(target)
    destroy(link)
    assert list(tmp_path.iterdir()) == []
