"""The files of a survey page, for any host: what they may load is stated, and pinned by digests."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from markupsafe import Markup

from incrowd.accountant.analyses import analysis
from incrowd.collection.claims import bundle_guarantee, claims_of_plan
from incrowd.collection.protocol.addresses import checked_address
from incrowd.collection.protocol.bundle import FORMAT, Bundle
from incrowd.errors import IncrowdError, UsageError, unreadable
from incrowd.guarantees import guarantee_of
from incrowd.plans import Guarantee, Plan
from incrowd.plans.digests import read_json
from incrowd.presentation.number_text import bound, factor
from incrowd.presentation.shell import rendered
from incrowd.survey.words import checked_tag

LANGUAGE = "language"  # the key of a page's texts that holds the language's own name
_HERE = files(__package__)


@dataclass(frozen=True)
class PageContent:
    """What a page asks, and what it promises.

    digest: of the bundle, in hexadecimal, if it is known; else empty, and the promise is that of a
    bundle in which two parties mix and open.
    """

    plan: Plan
    shuffler: str
    guarantee: Guarantee
    digest: str = ""
    title: str = ""
    language: str = ""


def asked_in(path: Path, shuffler: str | None) -> PageContent:
    """What a file asks: a bundle, or a plan with the address of its shuffler.

    Raises UsageError for an address that is missing, is none, or is not the bundle's.
    """
    if is_bundle(path):
        bundle = Bundle.parse(path.read_bytes())
        own, words = bundle.addresses.shuffler, bundle.wording
        if shuffler not in (None, own):
            raise UsageError.of("shuffler", shuffler, f"should be the bundle's, {own}, or left out")
        about = bundle_guarantee(bundle), bundle.digest.hex(), words.title, words.language
        return PageContent(bundle.plan, own, *about)
    plan = Plan.load(path)
    try:
        address = checked_address(shuffler or "")
    except ValueError as error:
        raise UsageError.of("shuffler", shuffler or "", str(error)) from None
    promise = guarantee_of(plan, claims=[claims_of_plan(plan)])
    return PageContent(plan, address, promise, "", plan.survey.name, plan.survey.language)


def is_bundle(path: Path) -> bool:
    """Whether a file is a bundle, or says that it is."""
    try:
        content = read_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and content.get("format") == FORMAT


def shipped() -> dict[str, dict[str, str]]:
    """The texts of the page by language, English first."""
    found = {
        Path(file.name).stem: json.loads(file.read_text(encoding="utf-8"))
        for file in (_HERE / "strings").iterdir()
        if file.name.endswith(".json")
    }
    return {tag: found[tag] for tag in sorted(found, key=lambda tag: (tag != "en", tag))}


def read_strings(path: Path) -> tuple[str, dict[str, str]]:
    """The language, which names the file, and its texts. Raises UsageError unless all are there."""
    try:
        found = read_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _no_strings(path, unreadable(error)) from None
    except ValueError:
        raise _no_strings(path, "it is not JSON") from None
    known = shipped()["en"]
    texts = found if isinstance(found, dict) else {}
    wrong = sorted(set(known) ^ set(texts)) + [
        k for k, v in texts.items() if not isinstance(v, str)
    ]
    if wrong:
        raise _no_strings(
            path, f"it should have the keys of en.json, each with a text; {wrong[0]} is wrong"
        )
    try:
        return checked_tag(path.stem), texts
    except ValueError as error:
        raise UsageError.of(
            "strings", path.name, f"the name {error}, with .json behind it"
        ) from None


def _no_strings(path: Path, why: str) -> IncrowdError:
    return UsageError.of("strings", str(path), f"{why}; name a JSON file such as fr.json")


def page_files(asked: PageContent, strings: Mapping[str, Mapping[str, str]]) -> dict[str, bytes]:
    """Every file of a page by its name. strings: the texts of the page by language."""
    static = {
        file.name: file.read_bytes() for file in (_HERE / "static").iterdir() if file.is_file()
    }
    integrity = {name: _integrity(data) for name, data in static.items()}
    modules = {f"./{name}": value for name, value in integrity.items() if name.endswith(".js")}
    import_map = json.dumps({"integrity": dict(sorted(modules.items()))})
    policy = _policy(asked.shuffler, import_map)
    headers = _headers(policy)
    page = rendered(
        "index.html",
        __package__,
        language=asked.language,
        title=asked.title,
        policy="; ".join(policy),
        integrity=integrity,
        import_map=Markup(import_map),
        config=_data(_config(asked)),
        strings=_data(strings),
    )
    hosts = {name: rendered(name, __package__, headers=headers) for name in HOSTS}
    made = {name: text.encode() for name, text in ({"index.html": page} | hosts).items()}
    return static | made


HOSTS = ("_headers", "nginx.conf", "Caddyfile")


def _config(asked: PageContent) -> dict[str, Any]:
    """What the page knows of its survey before it asks anybody."""
    plan, promise = asked.plan, asked.guarantee
    repeated = promise.reduced_by == ("permanent-responses",)
    mixed = analysis(promise.analysis).shuffled
    figures = {
        "factor": factor(promise.epsilon).replace(",", ""),
        "delta": bound(promise.delta) if promise.delta else "0",
        "local_factor": factor(promise.local_epsilon).replace(",", ""),
        "crowd": promise.crowd,
        "local_only": not mixed and not repeated,
        "repeated": repeated,
        "permanent": bool(plan.memoized) and not repeated,
    }
    return {
        "shuffler": asked.shuffler,
        "digest": asked.digest,
        "plan": plan.digest,
        "promise": figures,
    }


def _data(content: Any) -> Markup:
    """JSON that can stand in an element of HTML, whatever texts are in it."""
    text = json.dumps(content, ensure_ascii=False)
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def _integrity(data: bytes, hashed: str = "sha384") -> str:
    digest = hashlib.new(hashed, data).digest()
    return f"{hashed}-{base64.b64encode(digest).decode()}"


def _policy(shuffler: str, import_map: str) -> tuple[str, ...]:
    """The page runs its own scripts alone, and speaks to nobody but the shuffler."""
    return (
        "default-src 'none'",
        f"script-src 'self' '{_integrity(import_map.encode(), 'sha256')}'",
        "style-src 'self'",
        "img-src data:",
        f"connect-src {_origin(shuffler)}",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )


def _origin(shuffler: str) -> str:
    """What a policy names. Raises UsageError for what would say something else in there."""
    parts = urlsplit(shuffler)
    if not re.fullmatch(r"[A-Za-z0-9.:\[\]-]+", parts.netloc):
        allowed = "should have a host of letters, digits, points and hyphens"
        raise UsageError.of("shuffler", shuffler, allowed)
    return f"{parts.scheme}://{parts.netloc}"


def _headers(policy: tuple[str, ...]) -> dict[str, str]:
    """What a host should say beside it: some of this no page can say of itself."""
    return {
        "Content-Security-Policy": "; ".join((*policy, "frame-ancestors 'none'")),
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=(), browsing-topics=()",
        "Cache-Control": "no-cache",
    }
