"""Addresses as people type them: what is wrong is named, and what would work."""

import pytest

from incrowd.collection.protocol.addresses import as_address, checked_address
from incrowd.errors import Unfit

# As typed, and as clients compare it.
RIGHT = [
    ("mix.example", "https://mix.example"),
    (" https://mix.example/ ", "https://mix.example"),
    ("HTTPS://Mix.Example/Survey/", "https://mix.example/Survey"),
    ("https:/mix.example", "https://mix.example"),
    ("https//mix.example", "https://mix.example"),
    ("https:mix.example", "https://mix.example"),
    ("https://mix.example:", "https://mix.example"),
    ("mix.example:8443/survey", "https://mix.example:8443/survey"),
    ("http.example", "https://http.example"),
    ("192.0.2.1", "https://192.0.2.1"),
    ("https://[2001:DB8::1]", "https://[2001:db8::1]"),
    ("localhost:8000", "http://localhost:8000"),
    ("http://127.0.0.1:8000/", "http://127.0.0.1:8000"),
]
# As typed, the code of the message, and what it names.
WRONG = [
    ("", "no-address", {}),
    ("https://", "no-address", {}),
    ("http://mix.example", "no-https", {}),
    ("HTTP://Mix.example/", "no-https", {}),
    ("ftp://mix.example", "no-https", {}),
    ("javascript:alert(1)", "no-https", {}),
    ("https://mix example", "address-space", {}),
    ("anna@mix.example", "address-user", {}),
    ("https://user:secret@mix.example", "address-user", {}),
    ("mix.example/a?x=1", "address-mark", {"mark": "?", "address": "https://mix.example/a"}),
    ("https://mix.example/#ab", "address-mark", {"mark": "#", "address": "https://mix.example"}),
    ("https://mix.example:99999", "address-port", {"port": "99999", "most": 65535}),
    ("https://mix.example:08", "address-port", {"port": "08", "most": 65535}),
    ("https://müller.example", "address-letters", {"host": "müller.example"}),
    ("https://mix_1.example", "address-host", {"host": "mix_1.example"}),
    ("https://300.1.2.3", "address-host", {"host": "300.1.2.3"}),
    ("https://mix.example.", "address-host", {"host": "mix.example."}),
    ("https://mix.example/a//b", "address-path", {"path": "/a//b"}),
    ("https://mix.example/umfrage/ä", "address-path", {"path": "/umfrage/ä"}),
    ("https://mix.example/../x", "address-path", {"path": "/../x"}),
]


@pytest.mark.parametrize(("typed", "address"), RIGHT)
def test_what_is_meant_is_understood(typed, address):
    assert checked_address(as_address(typed)) == address
    if typed != address:
        with pytest.raises(Unfit) as raised:  # every client compares addresses letter by letter
            checked_address(typed)
        assert raised.value.reason.code == "collection.address-as"
        assert raised.value.reason.arguments == {"address": address}


@pytest.mark.parametrize(("typed", "code", "named"), WRONG)
def test_what_is_wrong_is_named(typed, code, named):
    for address in (typed, as_address(typed)):
        with pytest.raises(Unfit) as raised:
            checked_address(address)
        assert raised.value.reason.code == f"collection.{code}"
        assert raised.value.reason.arguments == named
        assert "secret" not in str(raised.value)
