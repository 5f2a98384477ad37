"""The package for a colleague who runs a service: all that her machine needs, and no secret.

A package is a folder of the project, and a zip archive of it. It contains the folder of the
service, with its settings and what is stated to it; a container with a proxy; a unit of systemd;
and a sheet of instructions.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib.metadata import version
from importlib.resources import files as resources
from typing import Any
from urllib.parse import urlsplit

from incrowd.collection.hosting import GIVEN, PLAN, TERMS
from incrowd.collection.inviter.keeper import INVITATIONS
from incrowd.collection.page.files import HOSTS
from incrowd.collection.protocol.addresses import host, is_by_hand, is_loopback
from incrowd.collection.protocol.bundle import as_time
from incrowd.collection.settings import SERVICES as KINDS
from incrowd.collection.settings import ServiceSettings, StoreSettings
from incrowd.plans import Plan
from incrowd.plans.slots import invented
from incrowd.presentation.letters import LetterStyle
from incrowd.presentation.shell import rendered
from incrowd.studio.language import in_language
from incrowd.studio.publication import (
    FOLDERS,
    NAMES,
    Publication,
    ServiceRole,
    needed_people,
)
from incrowd.survey import Survey

SHEET = "sheet.html"
STATED = "For what others state: plan.json, collection.toml, bundle.json.\n"
UNIT = "incrowd@.service"
# What is sent to each service, and what people read from it.
PATHS: Mapping[ServiceRole, tuple[str, ...]] = {
    "shuffler": ("/bundle", "/count", "/upload"),
    "inviter": ("/bundle", "/tokens"),
    "first": ("/bundle", "/count", "/upload"),
    "second": ("/batch",),
    "collector": ("/release", INVITATIONS),
}


def kind_of(service: ServiceRole) -> type[ServiceSettings]:
    """Return the class of a service's settings."""
    [kind] = [each for each in KINDS if each.command == FOLDERS[service]]
    return kind


def settings_text(publication: Publication, service: ServiceRole) -> str:
    """Return the settings file of a service: its port on this machine, and whether it shows the
    page."""
    lines = []
    if port := local_port(publication, service):
        lines.append(f"port = {port}\n")
    if shows_page(publication, service):
        lines.append("page = true  # it also shows the survey page, under its own address\n")
    return "".join(lines)


def local_port(publication: Publication, service: ServiceRole) -> int | None:
    """Return the port of a service whose address is on this machine: nobody else can reach it."""
    address = publication.addresses.get(service, "")
    if not address or not is_loopback(address):
        return None
    return urlsplit(address).port or 80


def shows_page(publication: Publication, service: ServiceRole) -> bool:
    """Return whether a service shows the survey page."""
    address = publication.addresses.get(service)
    return service == publication.maker and bool(address) and publication.survey_page == address


def package_files(
    publication: Publication, survey: Survey, plan: Plan, service: ServiceRole, language: str
) -> dict[str, str]:
    """Return the texts of a package by path, without what is stated to the service."""
    folder, kind = FOLDERS[service], kind_of(service)
    address = urlsplit(publication.addresses[service])
    paths = PATHS[service]
    if shows_page(publication, service):
        paths = (*paths, *_page_paths())
    secret = getattr(kind, "secret_name", None)
    port = local_port(publication, service)
    if is_by_hand(publication.addresses[service]):
        port = kind.model_fields["port"].default
    parts: dict[str, Any] = {
        "folder": folder,
        "prefix": kind.prefix(),
        "secret": secret,
        "port": port,
        "host": address.netloc,
        "version": version("incrowd"),
    }
    proxy = parts | {
        "people": issubclass(kind, StoreSettings),
        "paths": paths,
        "prefix": address.path,
    }
    unit = resources(__package__) / "templates" / f"package_{UNIT}"
    texts = {
        SHEET: sheet_of(publication, survey, plan, service, language),
        "compose.yaml": rendered("package_compose.yaml", __package__, **parts),
        "Containerfile": rendered("package_Containerfile", __package__, **parts),
        UNIT: unit.read_text(encoding="utf-8"),
        f"{folder}/{folder}.toml": settings_text(publication, service),
        f"{folder}/{GIVEN}/README.txt": STATED,
    }
    if port is None:
        texts["Caddyfile"] = rendered("package_Caddyfile", __package__, **proxy)
    return texts


def package_names(service: ServiceRole) -> frozenset[str]:
    """Return the paths of all files that a package can have. Its folder can have others, such as
    keys, if somebody has started the service there."""
    folder = FOLDERS[service]
    outside = (SHEET, "compose.yaml", "Containerfile", "Caddyfile", UNIT)
    stated = (f"{folder}/{GIVEN}/{name}" for name in ("README.txt", PLAN, TERMS))
    return frozenset((*outside, f"{folder}/{folder}.toml", *stated))


def _page_paths() -> tuple[str, ...]:
    """Return the paths of the files of a survey page."""
    static = resources("incrowd.collection.page") / "static"
    names = sorted(each.name for each in static.iterdir() if each.name not in HOSTS)
    return ("/", "/index.html", *(f"/{name}" for name in names))


def sheet_of(
    publication: Publication, survey: Survey, plan: Plan, service: ServiceRole, language: str
) -> str:
    """Return the page for the colleague who runs a service: what to promise, what to do."""
    address, style = publication.addresses[service], LetterStyle(language, publication.time_zone)
    parts: dict[str, Any] = {
        "_": partial(in_language_of, language),
        "language": language,
        "title": f"{survey.name}: {in_language(NAMES[service], language)}",
        "survey": survey,
        "service": service,
        "services": publication.services,
        "name": NAMES[service],
        "names": NAMES,
        "folder": FOLDERS[service],
        "folders": FOLDERS,
        "publication": publication,
        "opens": style.date(as_time(publication.opens)),
        "closes": style.date(as_time(publication.closes)),
        "plan": plan,
        "least": needed_people(survey, plan),
        "invented": invented(plan),
        "host": host(address),
        "version": version("incrowd"),
        "given": GIVEN,
        "by_hand": is_by_hand(publication.addresses.get("collector", "")),
        "passes_on": service in ("shuffler", "second", "inviter"),
        "page": shows_page(publication, service),
        "local": local_port(publication, service),
    }
    return rendered("publish_sheet.html", __package__, **parts)


def page_sheet(survey: Survey, publication: Publication, language: str) -> str:
    """Return the instructions for whoever hosts the survey page."""
    parts = {
        "_": partial(in_language_of, language),
        "language": language,
        "title": survey.name,
        "survey": survey,
        "publication": publication,
    }
    return rendered("publish_page_sheet.html", __package__, **parts)


def in_language_of(language: str, text: Any, **values: Any) -> str:
    """Return the text in a language; the function `_` of templates."""
    return in_language(text, language, **values)
