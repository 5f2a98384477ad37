"""What is said of choices, uploads and downloads on the page of results."""

import asyncio
from types import SimpleNamespace
from unittest import mock

from markupsafe import Markup
from starlette.datastructures import QueryParams, UploadFile

from incrowd.errors import TableError
from incrowd.estimation.regression.results import Regression
from incrowd.methods import METHODS, Method, MethodOption
from incrowd.presentation.pictures import Picture
from incrowd.studio import results
from incrowd.studio.calculations import Cache, CalculationOrder, computed
from incrowd.studio.calls import Call, CallChoice, choice_of
from incrowd.studio.projects import Project
from incrowd.studio.sources import ReportSource, plan_path, sources
from incrowd.studio.work import Job
from incrowd.views import Sheet, View
from tests.messages.shared import command, file, plan_file, reports_file
from tests.messages.studio_design import request

REPORTS = "reports.parquet"
DRAWN = SimpleNamespace(
    pictures=(Picture("", Markup(), Markup()),), result=SimpleNamespace(invented=False)
)


def studio(folder, job=None):
    return SimpleNamespace(
        project=lambda _: Project(folder), jobs=mock.Mock(get=lambda _: job, start=lambda *_: job)
    )


def query(**choices):
    return SimpleNamespace(
        query_params=QueryParams(choices), path_params={}, cookies={}, headers={}
    )


def with_reports(folder):
    """A project with a plan, and reports or a tally that nobody has looked at."""
    plan_file(folder).rename(folder / "plan.json")
    file(folder, REPORTS)
    return ReportSource(REPORTS, "Reports", None, plan="")


def asked(handler, job=None, **choices):
    """What the page, or a file, of a choice says. The result itself is not computed."""

    def asking(folder):
        chosen = with_reports(folder)
        large = mock.patch.object(results, "LARGE", 0 if job else 1 << 20)
        with (
            large,
            mock.patch.object(results, "sources", lambda _: (chosen,)),
            mock.patch.object(results, "computed", lambda *_: "a result"),
            mock.patch.object(results, "_drawn", lambda *_: DRAWN),
        ):
            handler(Cache(), studio(folder, job), query(**choices))

    return asking


def of_no_coefficients(_):
    model = mock.Mock(spec=Regression)
    model.long_table.return_value = Sheet("coefficients", (), ())
    model.view.return_value = View("", notes=("cannot be estimated: nobody said yes",))
    model.invented = False
    named = SimpleNamespace(name="health", view="regress")
    called = (named, named, SimpleNamespace(result=model))
    with mock.patch.object(results, "_called", lambda *_, **__: called):
        results._download(Cache(), None, query(format="csv"))


def other_margins(folder):
    file(folder, "margins.csv")
    call = Call("estimate", margins="margins-2.csv")
    results._order(Project(folder), SimpleNamespace(plan_path=None, reports=None), call)


def failed(folder):
    """An error of the work in a process."""
    chosen = with_reports(folder)
    choice = CallChoice(tables=("a",))
    desk = results._desk(Project(folder), chosen, choice)
    order = results._order(Project(folder), desk, choice.call)
    job = Job(
        state="failed",
        error=TableError.of("table", "shared.use-one-of", value="x", choices=["a", "b"]),
    )
    cache = Cache()
    cache.put((folder, "results"), order.key)
    with mock.patch.object(results, "LARGE", 0):
        results._result(cache, studio(folder, job), Project(folder), order)


def unusable(folder):
    file(folder, REPORTS)
    (chosen,) = sources(Project(folder))
    results._desk(Project(folder), chosen, CallChoice())


def gone(folder):
    """A link to a file that is not there any more."""
    (folder / REPORTS).symlink_to(folder / "nothing.parquet")
    (chosen,) = sources(Project(folder))
    results._desk(Project(folder), chosen, CallChoice())


def regression_of_a_tally(folder):
    plan, tally = plan_file(folder), folder / "tally.json"
    command("tally", plan, reports_file(folder), "-o", tally)
    computed(
        lambda _: None,
        CalculationOrder(plan, tally, None, Call("regress", ("a",), (("on", ("b",)),))),
    )


def uploaded(handler, name="", content=b"", size=None):
    """What a handler says of a file that is uploaded."""

    def uploading(folder):
        sent = mock.AsyncMock(spec=UploadFile, filename=name, size=size)
        sent.read.return_value = content
        form = request(file=sent) if name else request(file="")
        form.query_params = QueryParams()
        asyncio.run(handler(studio(folder), form))

    return uploading


def no_figure(_):
    """An option of a declared method."""
    option = MethodOption("at", "figure", "Share.", {"en": "Share", "de": "Anteil"})
    method = Method("odds", "estimation.odds", {"en": "Odds", "de": "Chancen"}, options=(option,))
    with mock.patch.dict(METHODS, odds=method):
        return CallChoice(view="odds", typed=(("at", ("half",)),)).call


CASES = {
    "a figure that is no number": no_figure,
    "an unknown view": lambda _: choice_of(QueryParams("view=pie")),
    "a formula without predictors": lambda _: CallChoice(view="regress", formula="smokes").call,
    "reports that are none": unusable,
    "reports that are gone": gone,
    "reports without a plan": lambda folder: plan_path(
        Project(folder), ReportSource(REPORTS, "Reports", None)
    ),
    "margins that are not there": lambda folder: results._order(
        Project(folder),
        SimpleNamespace(plan_path=None, reports=None),
        Call("estimate", margins="margins.csv"),
    ),
    "other margins than those that are there": other_margins,
    "an error of a process": failed,
    "a regression of a tally": regression_of_a_tally,
    "a file of an unknown format": asked(results._download, format="exe"),
    "a file of no coefficients": of_no_coefficients,
    "a file of what is being counted": asked(results._download, Job(), tables="a", format="csv"),
    "a file of nothing": asked(results._download, view="compare", format="csv"),
    "a picture that is not there": asked(results._picture, tables="a", number="2"),
    "a picture of an unknown format": asked(results._picture, tables="a", format="gif"),
    "an upload of nothing": uploaded(results.add_reports),
    "an upload of something else": uploaded(results.add_reports, "a.exe"),
    "an upload that is too large": uploaded(results.add_reports, REPORTS, size=1 << 40),
    "an upload that is no reports": uploaded(results.add_reports, REPORTS, b"xy"),
}
