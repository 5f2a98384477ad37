"""What is said by the frame of the studio: its languages, its processes, and its own mistakes."""

from types import SimpleNamespace

from incrowd.studio import app, work
from tests.messages.studio_design import handled


def raised(error):
    raise error


def ended(_):
    """A process that ends without a word."""
    job = work.Job(process=SimpleNamespace(join=lambda: None))

    def received():
        raise EOFError

    work._follow(job, SimpleNamespace(recv=received, close=lambda: None))
    raise job.error


CASES = {
    "an unknown language": handled(app.choose_language, language="tlh"),
    "a bug": lambda _: raised(work.fault(KeyError("name"))),
    "a process that ended": ended,
}
