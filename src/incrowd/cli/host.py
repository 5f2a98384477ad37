"""The command `host`: run a service from one settings file, from its first start to its end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.cli.console import say
from incrowd.cli.inviting import bundle_facts, print_bundle
from incrowd.cli.mixing import NOTHING_LEFT, listen
from incrowd.errors import quantity

if TYPE_CHECKING:
    from incrowd.collection.hosting import ServiceFolder
    from incrowd.collection.protocol.bundle import Bundle

_CONFIRMED = "keep it running until the collector has confirmed everything"
DUTIES = {  # of each service: what it does, and until when
    "shuffler": (
        "receives sealed reports, mixes them, and passes them on to the collector",
        _CONFIRMED,
    ),
    "inviter": (
        "signs tokens for people with an invitation, without seeing what they are for",
        _CONFIRMED,
    ),
    "first-mixer": (
        "receives uploads, and passes on all of them in random order",
        "keep it running until the second mixer has confirmed the batch",
    ),
    "second-mixer": (
        "opens one batch, mixes it once more, and passes it on to the collector",
        _CONFIRMED,
    ),
    "collector": ("receives releases, and opens them", "keep it running until all are opened"),
}


def host(
    settings: Annotated[
        Path, typer.Argument(metavar="SETTINGS", help="Settings, such as shuffler/shuffler.toml.")
    ],
) -> None:
    """Run a service from its settings file, until stopped.

    The name of the file is that of the service: shuffler.toml, collector.toml, inviter.toml,
    first-mixer.toml or second-mixer.toml. Its folder is that of the service; what others state is
    in the folder `given` there: plan.json and collection.toml for the service that makes the
    bundle, and bundle.json for the others. The first start creates keys and, from a plan and terms,
    the bundle. A service that still needs the bundle says so and ends. Everything is checked before
    it listens.

    \b
    Example:
      incrowd host shuffler/shuffler.toml
    """
    from incrowd.collection import hosting
    from incrowd.collection.folders import BUNDLE

    place = hosting.with_settings(settings)
    kind = hosting.kind_of(place)
    created = hosting.prepare(place)
    if not hosting.has_bundle(place):
        file = created or kind.public(place)
        say(f"send {file} to whoever makes the bundle; it is not secret")
        say(f"then put their bundle.json into {place.given}, and start again")
        return
    if created and created.name == BUNDLE:
        _show(created)
    for finding in kind.findings(place):
        if not finding.good:
            say(f"check: {finding.subject}: {finding.text}")
    with hosting.alone(place), kind.opened(place) as service:
        if service is None:
            say(NOTHING_LEFT)
            return
        listen(place, service, *_lines(place, service.bundle))


def _show(file: Path) -> None:
    """Print what to tell the others about a new bundle."""
    from incrowd.collection.claims import bundle_guarantee
    from incrowd.collection.protocol.bundle import Bundle

    bundle = Bundle.parse(file.read_bytes())
    guarantee = bundle_guarantee(bundle)
    say(f"wrote {file}: send it to all the others; it is not secret")
    print_bundle(bundle_facts(bundle, guarantee, file), bundle, guarantee)


def _lines(place: ServiceFolder, bundle: Bundle) -> tuple[str, str, str]:
    """Return what a service does, where, and until when; {} is the place of its address."""
    work, end = DUTIES[place.settings.command]
    needed = quantity(bundle.least_people, "people are")
    page = ", with the survey page" if getattr(place.settings, "page", False) else ""
    opens, closes = (f"{time[:16].replace('T', ' ')} UTC" for time in (bundle.opens, bundle.closes))
    return (
        f"{place.settings.command} of {bundle.wording.title!r}: {work}; {needed} needed",
        f"listening on {{}}{page}; bundle {bundle.digest.hex()}",
        f"opens {opens}, closes {closes}; {end}",
    )
