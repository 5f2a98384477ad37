"""Scripts of a survey page on another host may ask the shuffler: what browsers want to hear."""

import pytest

from tests.collection.mixer.conftest import INVITED, OCTETS, Site, upload

PAGE = {"origin": "https://survey.example"}


@pytest.fixture
def site(tmp_path):
    made = Site(tmp_path, invitations=100)
    yield made
    made.close()


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_a_page_may_send_and_withdraw(site, method):
    wanted = {"access-control-request-method": method}
    wanted["access-control-request-headers"] = "content-type"
    answer = site.request("OPTIONS", "/upload", b"", PAGE | wanted)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "*"
    assert method in answer.headers["access-control-allow-methods"]
    assert "content-type" in answer.headers["access-control-allow-headers"].lower()
    assert "access-control-allow-credentials" not in answer.headers


def test_a_page_may_read_what_is_answered(site):
    """Refusals too, and when to come back; not that it may send a cookie."""
    sent = upload(INVITED, 1, 0, 1).encoded(INVITED)
    answers = [
        site.request("GET", "/bundle", b"", PAGE),
        site.request("POST", "/upload", sent, PAGE | OCTETS),
        site.request("POST", "/upload", b"", PAGE | OCTETS),
        site.request("GET", "/nothing", b"", PAGE),
    ]
    assert [answer.status_code for answer in answers] == [200, 201, 400, 404]
    for answer in answers:
        assert answer.headers["access-control-allow-origin"] == "*"
        assert answer.headers["access-control-expose-headers"] == "Retry-After"
        assert "access-control-allow-credentials" not in answer.headers
