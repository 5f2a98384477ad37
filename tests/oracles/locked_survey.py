"""A survey that was published, with everything that the steps write."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

import incrowd
from incrowd.studio.document import version
from incrowd.studio.preparation import perform
from incrowd.studio.projects import Projects
from incrowd.studio.publication import parsed, save_publication

SURVEY = """name = "Smoking"  # a comment
crowd = 1000

[privacy]
epsilon = 1.0
delta = 1e-6

[[question]]
id = "smokes"
type = "yesno"
text = "Do you smoke?"
shares = { yes = 0.2 }

[[question]]
id = "drinks"
type = "choice"
text = "What do you drink?"
options_file = "drinks.txt"
"""
CHOICES = {
    "here": "both",
    "organizations": {"collector": "Institute"},
    "addresses": {"shuffler": "https://mix.example", "collector": "https://count.example"},
    "introduction": "Thank you.",
    "period": "March 2027",
    "opens": "2027-03-01T08:00:00Z",
    "closes": "2027-03-31T20:00:00Z",
    "invitations": 1200,
}


@cache
def folder():
    """The folder of the published survey, made once."""
    temporary = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, temporary)
    (drinks := Path(temporary, "drinks")).write_text("tea\ncoffee\n")
    project = Projects(Path(temporary)).create("Smoking", SURVEY, {"drinks.txt": drinks})
    publish(project)
    return project.path


def published_survey(projects):
    """Return a project with the survey, in a folder of projects."""
    shutil.copytree(folder(), projects.folder / "smoking")
    return projects.open("smoking")


def publish(project, **choices):
    """Publish a survey by the steps of the page, with some of the choices replaced."""
    package(project, **choices)
    perform(project, "bundle", "en")


def package(project, **choices):
    """Certify a survey, and write the packages."""
    project.plan_path.write_text(incrowd.plan(project.survey()).dumps())
    save_publication(project, parsed(CHOICES | choices), version(""))
    for step in ("collector-key", "package"):
        perform(project, step, "en")
