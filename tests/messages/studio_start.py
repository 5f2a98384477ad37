"""What is said where surveys are begun, kept, and put away."""

import asyncio
from types import SimpleNamespace

from incrowd.studio import managing, ready_surveys
from tests.messages.studio_design import handled, project, request


def deleted_with_keys(folder):
    of = project(folder)
    (of.path / "collector").mkdir()
    form = request(shown=managing.shown(managing.parts_of(of)))
    asyncio.run(managing.delete(SimpleNamespace(project=lambda _: of), form))


CASES = {
    "an unknown template": lambda _: ready_surveys.ready_survey("opinions"),
    "a survey without a new name": handled(managing.rename, title=""),
    "keys that are not to be deleted": deleted_with_keys,
}
