"""A project of the studio whose collection is published, and invites people."""

from incrowd.collection.invitations import InvitationFiles, write_invitations
from incrowd.collection.mixer import setup
from incrowd.collection.settings import ShufflerSettings
from incrowd.studio.document import version
from incrowd.studio.publication import Publication, save_publication
from tests.oracles.make_vectors import SHUFFLER

SURVEY = 'name = "Trial"\ncrowd = 1000\n[privacy]\nepsilon = 1.0\ndelta = 1e-6\n'
SITE = "https://survey.example"


def published(project, bundle, here="shuffler", invitations=8):
    """A project in which this person runs a service, with the bundle and its invitations."""
    publication = Publication(
        here=here, survey_page=SITE, invitations=invitations, organizations={"shuffler": "Uni"}
    )
    save_publication(project, publication, version(""))
    folder = project.path / here
    if here != "shuffler":
        folder.mkdir()
        (folder / "bundle.json").write_bytes(bundle.encoded)
        return project
    settings = ShufflerSettings(folder=folder)
    folder.mkdir(mode=0o700)
    setup.install(settings, bundle, SHUFFLER)
    if invitations:
        store = setup.open_store(settings)
        write_invitations(store, invitations, InvitationFiles(project.path / "codes.csv"), SITE)
        store.engine.dispose()
    return project
