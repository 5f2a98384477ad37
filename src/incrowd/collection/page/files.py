"""The files of a survey page, for any host, with a strict policy and pinned digests."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from markupsafe import Markup

from incrowd.accountant.analyses import analysis
from incrowd.collection.claims import bundle_guarantee, claims_of_plan
from incrowd.collection.protocol.addresses import checked_address
from incrowd.collection.protocol.bundle import Bundle, MixersBundle
from incrowd.errors import Unfit, UsageError, unreadable
from incrowd.files import replaced
from incrowd.guarantees.collected import guarantee_of
from incrowd.guarantees.strength import GUESS, guess_after, strength
from incrowd.number_text import bound, factor
from incrowd.plans import Guarantee, Plan
from incrowd.plans.digests import read_json
from incrowd.plans.plan import check_promised
from incrowd.presentation.shell import rendered
from incrowd.survey.forms import PageField
from incrowd.survey.words import checked_tag

_HERE = files(__package__)


@dataclass(frozen=True)
class PageContent:
    """The content of a page: its questions and its promise.

    services: the addresses that the page contacts: the first has the bundle, the last takes
    uploads. digest: the digest of the bundle, in hexadecimal; "" if there is no bundle yet, and the
    promise is then for a bundle with different parties as shuffler and collector.
    """

    plan: Plan
    services: tuple[str, ...]
    guarantee: Guarantee
    digest: str = ""
    title: str = ""
    language: str = ""


def asked_in(path: Path, shuffler: str | None) -> PageContent:
    """Return the content for a bundle, or for a plan and the address of its shuffler.

    Raises UsageError for an address that is missing, invalid, or not the bundle's.
    """
    if is_bundle(path):
        bundle = Bundle.parse(path.read_bytes())
        if shuffler not in (None, bundle.upload_address):
            right = bundle.upload_address
            raise UsageError.of(
                "shuffler", "collection.address-of-bundle", value=shuffler, right=right
            )
        return content_of(bundle)
    plan = Plan.load(path)
    try:
        address = checked_address(shuffler or "")
    except Unfit as error:
        raise UsageError.of(
            "shuffler", "survey.unfit", value=shuffler or "", reason=error.reason
        ) from None
    promise = guarantee_of(plan, claims=[claims_of_plan(plan)])
    return PageContent(plan, (address,), promise, "", plan.survey.name, plan.survey.language)


def content_of(bundle: Bundle) -> PageContent:
    """Return the content of the page of a bundle."""
    words = bundle.wording
    about = bundle_guarantee(bundle), bundle.digest.hex(), words.title, words.language
    services: tuple[str, ...] = (bundle.upload_address,)
    if isinstance(bundle, MixersBundle):
        services = (bundle.inviter.address, *services)
    return PageContent(bundle.plan, services, *about)


def is_bundle(path: Path) -> bool:
    """Return whether a file declares the format of a bundle."""
    try:
        content = read_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and content.get("format") in Bundle.formats


def shipped() -> dict[str, dict[str, str]]:
    """Return the texts of the page by language, English first."""
    tables = {
        Path(file.name).stem: json.loads(file.read_text(encoding="utf-8"))
        for file in (_HERE / "strings").iterdir()
        if file.name.endswith(".json")
    }
    return {tag: tables[tag] for tag in sorted(tables, key=lambda tag: (tag != "en", tag))}


def read_strings(path: Path) -> tuple[str, dict[str, str]]:
    """Return the language (the file's name) and its texts. Raises UsageError if any is missing."""
    try:
        content = read_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError.of(
            "strings",
            "collection.strings-unreadable",
            file=str(path),
            reason=unreadable(error),
        ) from None
    except ValueError:
        raise UsageError.of("strings", "collection.strings-not-json", file=str(path)) from None
    keys = shipped()["en"]
    texts = content if isinstance(content, dict) else {}
    wrong = sorted(set(keys) ^ set(texts)) + [k for k, v in texts.items() if not isinstance(v, str)]
    if wrong:
        raise UsageError.of("strings", "collection.strings-keys", file=str(path), key=wrong[0])
    try:
        return checked_tag(path.stem), texts
    except Unfit as error:
        raise UsageError.of(
            "strings", "collection.strings-name", name=path.name, reason=error.reason
        ) from None


def page_files(content: PageContent, strings: Mapping[str, Mapping[str, str]]) -> dict[str, bytes]:
    """Return every file of a page by name. strings: the texts of the page by language.

    Raises UsageError if the plan is not a guarantee, or no policy can name an address.
    """
    check_promised(content.plan.guarantee.analysis, "plan.guarantee.analysis")
    static = {
        file.name: file.read_bytes() for file in (_HERE / "static").iterdir() if file.is_file()
    }
    integrity = {name: _integrity(data) for name, data in static.items()}
    modules = {f"./{name}": value for name, value in integrity.items() if name.endswith(".js")}
    import_map = json.dumps({"integrity": dict(sorted(modules.items()))})
    policy = _policy(content.services, import_map)
    headers = _headers(policy)
    page = rendered(
        "index.html",
        __package__,
        language=content.language,
        title=content.title,
        policy="; ".join(policy),
        integrity=integrity,
        import_map=Markup(import_map),
        config=_data(_config(content)),
        strings=_data(strings),
    )
    hosts = {name: rendered(name, __package__, headers=headers) for name in HOSTS}
    written = {name: text.encode() for name, text in ({"index.html": page} | hosts).items()}
    return static | written


def write_page(files: Mapping[str, bytes], folder: Path) -> None:
    """Write the files of a page to an existing folder. Raises UsageError if one cannot be written.

    Each file is replaced as a whole.
    """
    for name, data in sorted(files.items()):
        with replaced(folder / name) as temporary:
            temporary.write_bytes(data)


HOSTS = ("_headers", "nginx.conf", "Caddyfile")


def _config(content: PageContent) -> dict[str, Any]:
    """Return the configuration of the page: services, digests, promised figures, and fields."""
    plan, promise = content.plan, content.guarantee
    repeated = promise.reduced_by == ("permanent-responses",)
    mixed = analysis(promise.analysis).shuffled
    service = promise.service_epsilon
    more = service if service is not None and promise.epsilon < service else math.inf
    most = guess_after(promise.epsilon)
    figures = {
        "strength": strength(promise, plan.survey.crowd),
        "guess": round(100 * GUESS),
        "most": None if most is None else round(100 * most, 1),
        "factor": _factor(promise.epsilon),
        "delta": bound(promise.delta) if promise.delta else "0",
        "local_factor": _factor(promise.local_epsilon),
        "service_factor": _factor(more),
        "services": plan.by_services,
        "crowd": promise.crowd,
        "local_only": not mixed and not repeated,
        "repeated": repeated,
        "permanent": bool(plan.memoized) and not repeated,
    }
    return {
        "services": content.services,
        "digest": content.digest,
        "plan": plan.digest,
        "promise": figures,
        "fields": {each.id: _field(each.page_field) for each in plan.survey.questions},
    }


def _factor(epsilon: float) -> str | None:
    """Return the factor of an epsilon as the page reads it; None if nothing is left."""
    if epsilon == math.inf:
        return None
    text = factor(epsilon)
    return "practically-none" if text is None else text.replace(",", "")


def _field(field: PageField) -> dict[str, Any]:
    """Return what differs from a field without answers, edges and a hint."""
    empty = PageField("")._asdict()
    return {key: value for key, value in field._asdict().items() if value != empty[key]}


def _data(content: Any) -> Markup:
    """Return JSON that is safe inside an HTML element."""
    text = json.dumps(content, ensure_ascii=False)
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def _integrity(data: bytes, hashed: str = "sha384") -> str:
    digest = hashlib.new(hashed, data).digest()
    return f"{hashed}-{base64.b64encode(digest).decode()}"


def _policy(services: Sequence[str], import_map: str) -> tuple[str, ...]:
    """Return the policy: the page runs only its own scripts and connects only to its services."""
    return (
        "default-src 'none'",
        f"script-src 'self' '{_integrity(import_map.encode(), 'sha256')}'",
        "style-src 'self'",
        "img-src data:",
        f"connect-src {' '.join(map(_origin, services))}",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )


def _origin(address: str) -> str:
    """Return the origin for the policy. Raises UsageError for characters with a meaning there."""
    parts = urlsplit(address)
    if not re.fullmatch(r"[A-Za-z0-9.:\[\]-]+", parts.netloc):
        raise UsageError.of("address", "collection.unusual-host", value=address)
    return f"{parts.scheme}://{parts.netloc}"


def _headers(policy: tuple[str, ...]) -> dict[str, str]:
    """Return the headers that a host should send; a page cannot state all of them itself."""
    return {
        "Content-Security-Policy": "; ".join((*policy, "frame-ancestors 'none'")),
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=(), browsing-topics=()",
        "Cache-Control": "no-cache",
    }
