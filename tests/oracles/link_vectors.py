"""Vectors of addresses, links, and what people type: what every client accepts or rejects alike."""

from incrowd.collection.protocol.addresses import Link, short
from incrowd.collection.protocol.upload import code_field

# An address, its host, whether it is on this machine.
ADDRESSES = [
    ("https://mix.example", "mix.example", False),
    ("https://mix.example:8443/a/B-c_d.e~f", "mix.example", False),
    ("https://xn--mx-fka.example", "xn--mx-fka.example", False),
    ("https://shuffler", "shuffler", False),
    ("https://3.mix-4.example", "3.mix-4.example", False),
    ("https://mix.example/..a/...", "mix.example", False),
    ("https://192.0.2.1:65535", "192.0.2.1", False),
    ("https://[2001:db8::1]/survey", "[2001:db8::1]", False),
    ("https://127.0.0.1", "127.0.0.1", True),
    ("http://127.255.0.9:80", "127.255.0.9", True),
    ("http://localhost:8000/a", "localhost", True),
    ("http://[::1]:8", "[::1]", True),
]
WRONG_ADDRESSES = {
    "in the clear": "http://mix.example",
    "in the clear, on a host that begins like this machine": "http://127.0.0.1.example",
    "in the clear, in a short form of this machine": "http://127.1",
    "another scheme": "ftp://mix.example",
    "no scheme": "mix.example",
    "a scheme in capitals": "HTTPS://mix.example",
    "no host": "https://",
    "a host in capitals": "https://Mix.example",
    "a host that ends with a period": "https://mix.example.",
    "two periods": "https://mix..example",
    "an underscore in a host": "https://mix_er.example",
    "a last label that begins with a hyphen": "https://mix.-example",
    "a last label that begins with a digit": "https://mix.0x7f",
    "a host outside of ASCII": "https://m\u00fcx.example",
    "an IPv4 address with a leading zero": "https://192.0.2.01",
    "an IPv4 address of three numbers": "https://192.0.513",
    "an IPv4 address with a number above 255": "https://192.0.2.256",
    "an IPv6 address with a group of zeros": "https://[2001:db8:0:0::1]",
    "an IPv6 address in capitals": "https://[2001:DB8::1]",
    "an IPv4 address as IPv6": "https://[::ffff:c000:201]",
    "an IPv4 address in an IPv6 address": "https://[::ffff:192.0.2.1]",
    "a zone": "https://[fe80::1%25eth0]",
    "no bracket at the end": "https://[::1",
    "a user": "https://user@mix.example",
    "an empty port": "https://mix.example:",
    "port 0": "https://mix.example:0",
    "a port with a leading zero": "https://mix.example:0443",
    "a port above 65535": "https://mix.example:65536",
    "a / at the end": "https://mix.example/",
    "an empty part of the path": "https://mix.example/a//b",
    "a part of two periods": "https://mix.example/a/../b",
    "a part of one period at the end": "https://mix.example/.",
    "a percent sign": "https://mix.example/%61",
    "a query": "https://mix.example/?a=1",
    "an empty query": "https://mix.example?",
    "a fragment": "https://mix.example/a#b",
    "a space": "https://mix.example/a b",
    "a line feed at the end": "https://mix.example\n",
}
TYPED = ["abcd-efgh-jkmn-pqrs", " ilo0 1111 OOOO\tllll ", "0123456789ABCDEF"]
NOT_TYPED = {
    "too few": "ABCD-EFGH-JKMN-PQR",
    "too many": "ABCD-EFGH-JKMN-PQRST",
    "a letter that no code has": "UBCD-EFGH-JKMN-PQRS",
    "outside of ASCII": "\u00c4BCD-EFGH-JKMN-PQRS",
}


def links(digest, code):
    """digest: of a bundle. code: of an invitation."""
    text = str(Link("https://mix.example/survey", digest, code))
    address, fragment = text.split("#")
    right = [text, f"{address}#{digest.hex()}", f" {address}/#{fragment}\n"]
    right += [f"{address}/index.html#{fragment}", f"https://mix.example/#{digest.hex()}"]
    wrong = {
        "no digest": address,
        "an empty digest": f"{address}#",
        "a digest that was cut": text[: -len(code) - 2],
        "a digest in capitals": f"{address}#{digest.hex().upper()}",
        "a code that was cut": text[:-1],
        "a code with hyphens": f"{address}#{digest.hex()}.ABCD-EFGH-JKMN-PQRS",
        "a code in lower case": f"{address}#{digest.hex()}.{code.lower()}",
        "a letter that no code has": f"{address}#{digest.hex()}.U{code[1:]}",
        "a period without a code": f"{address}#{digest.hex()}.",
        "another fragment": f"{text}#a",
        "two / at the end": f"{address}//#{fragment}",
        "an address in the clear": text.replace("https", "http"),
    }
    return {
        "addresses": {
            "right": [
                {"address": address, "host": host, "this_machine": here}
                for address, host, here in ADDRESSES
            ],
            "wrong": WRONG_ADDRESSES,
        },
        "links": {"right": [parsed(text) for text in right], "wrong": wrong},
        "codes": {
            "right": [{"typed": typed, "code": code_field(typed).decode()} for typed in TYPED],
            "wrong": NOT_TYPED,
        },
        "short": {"digest": digest.hex(), "text": short(digest)},
    }


def parsed(text):
    link = Link.parse(text)
    return {
        "text": text,
        "address": link.address,
        "digest": link.digest.hex(),
        "code": link.code,
    }
