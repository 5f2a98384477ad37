import re
import webbrowser

import pytest

from incrowd.studio import serving
from tests.oracles.studio import ORIGIN, PORT


def test_the_address_admits_one_browser_once(stranger, keys):
    address = keys.address
    assert stranger.get("/").status_code == 403
    response = stranger.get(address)
    assert response.status_code == 303 and response.headers["location"] == "/"
    cookie = response.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie
    assert stranger.get("/").status_code == 200
    assert stranger.get(address).status_code == 303  # the same browser, the same address
    stranger.cookies.clear()
    assert stranger.get(address).status_code == 403
    assert stranger.get(keys.address).status_code == 303  # a new address was made


def test_a_new_address_is_printed_when_one_was_used(keys):
    printed = []
    keys.print_address = printed.append
    first = keys.token
    assert not keys.redeem("wrong") and printed == []
    assert keys.redeem(first) and printed == [keys.address]
    assert not keys.redeem(first)


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", f"127.0.0.1:{PORT + 1}", ""]
)
def test_another_host_is_refused_even_with_the_cookie(browser, host):
    assert browser.get("/", headers={"Host": host}).status_code == 403


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", f"https://127.0.0.1:{PORT}", ""]
)
def test_only_its_own_pages_change_anything(browser, studio, origin):
    response = browser.post("/new", data={"title": "x"}, headers={"Origin": origin})
    assert response.status_code == 403 and studio.projects.names() == ()
    del browser.headers["Origin"]
    assert browser.post("/new", data={"title": "x"}).status_code == 403
    assert browser.post("/new", data={"title": "x"}, headers={"Origin": ORIGIN}).status_code == 303
    assert studio.projects.names() == ("x",)


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("mode", ["no-cors", "cors", "navigate"])
def test_pages_of_other_sites_read_nothing(browser, site, mode):
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode}
    assert browser.get("/static/studio.css", headers=headers).status_code == 403
    assert browser.get("/", headers=headers).status_code == (200 if mode == "navigate" else 403)


def test_a_wrong_cookie_is_no_cookie(stranger, keys):
    stranger.cookies.set(keys.cookie, "x" * 43)
    assert stranger.get("/").status_code == 403


def test_every_response_has_a_strict_policy(browser):
    for path in ("/", "/static/studio.js", "/nothing"):
        headers = browser.get(path).headers
        assert re.search("default-src 'none'.*frame-ancestors", headers["content-security-policy"])
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in headers


def test_a_used_address_leads_to_instructions_in_the_language_of_the_browser(stranger, keys):
    used = keys.address
    stranger.get(used)
    stranger.cookies.clear()
    for path in (used, "/", "/p/health/design"):
        response = stranger.get(path, headers={"Accept": "text/html", "Accept-Language": "de"})
        assert response.status_code == 403
        assert "Öffnen Sie die letzte Adresse" in response.text
        assert keys.token not in response.text and keys.session not in response.text
    assert stranger.get("/static/studio.css").status_code == 200  # the look of this page
    assert stranger.get("/static/studio.js").status_code == 403


def missing(_):
    raise webbrowser.Error("could not locate runnable browser")


@pytest.mark.parametrize(
    ("opens", "printed"), [(lambda _: True, 0), (lambda _: False, 1), (missing, 1)]
)
def test_a_browser_that_cannot_be_opened_is_said(monkeypatch, opens, printed):
    lines = []
    monkeypatch.setattr(webbrowser, "open", opens)
    serving.open_browser("http://127.0.0.1:1/?token=x", lines.append)
    assert [("copy the address" in line) for line in lines] == [True] * printed
