"""What is said where surveys are begun, kept, and put away."""

import asyncio
from types import SimpleNamespace

from starlette.datastructures import FormData

from incrowd.studio import history, managing, question_bank, ready_surveys
from tests.messages.studio_design import handled, project, request


def deleted_with_keys(folder):
    of = project(folder)
    (of.path / "collector").mkdir()
    form = request(shown=managing.shown(managing.parts_of(of)))
    asyncio.run(managing.delete(SimpleNamespace(any_project=lambda _: of), form))


def nothing_chosen(folder):
    form = FormData()

    async def read():
        return form

    bank = SimpleNamespace(form=lambda **_: read())
    asyncio.run(question_bank.insert(SimpleNamespace(project=lambda _: project(folder)), bank))


CASES = {
    "a version that is not kept": lambda folder: history.version_of(project(folder), "x"),
    "no question of the bank": nothing_chosen,
    "an unknown question of the bank": lambda _: question_bank.item_of("opinions"),
    "an unknown template": lambda _: ready_surveys.ready_survey("opinions"),
    "a survey without a new name": handled(managing.rename, title=""),
    "keys that are not to be deleted": deleted_with_keys,
}
