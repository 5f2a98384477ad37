"""The proxies of deploy/, for real: nothing that they write names who sent, whatever fails.

A sender has an address of its own on the loopback network, which is looked for in every file and
every line that the proxy writes. Each test has a wrong variant, in which it must be found.
"""

import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.collection.conftest import (
    DEPLOY,
    LOOPBACK,
    MARK,
    PREVIOUS,
    SENDER,
    ask,
    free_port,
    garbage,
    nginx,
    program,
    running,
)

MEBIBYTE = 1 << 20

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs 127.0.0.77 on loopback")


class Heard(ThreadingHTTPServer):
    """In the place of a service: keeps the heads of what the proxy passes on."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Listening)
        self.heads = []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Listening(BaseHTTPRequestHandler):
    def do_POST(self):
        self.server.heads.append(str(self.headers))
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(201)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_DELETE = do_POST

    def log_message(self, *_):
        pass


def provoke(port, heard, path, host):
    """Everything that a proxy likes to write about; returns the statuses."""
    found = [ask(port, "POST", path, b"x" * 900_000, host=host)]
    found += [ask(port, "GET", "/metrics", host=host)]
    garbage(port)
    ask(port, "POST", path, b"half", length=1000, host=host, cut=True)
    if path == "/upload":
        found.append(ask(port, "POST", path, b"y" * 4 * MEBIBYTE, host=host))
    heard.shutdown()
    heard.server_close()
    found.append(ask(port, "POST", path, b"z", host=host))
    time.sleep(0.3)
    return found


def traces(folder, configuration):
    """Files that name the sender, or hold what it sent; the configuration itself does not count."""
    files = [path for path in folder.rglob("*") if path.is_file() and path != configuration]
    marks = (SENDER.encode(), MARK.encode(), b"x" * 1000)
    return [path.name for path in files if any(mark in path.read_bytes() for mark in marks)]


def with_nginx(folder, role, change=lambda text: text):
    heard = Heard()
    path, host = ("/upload", "mix.example") if role == "people" else ("/release", "count.example")
    with nginx(folder, role, heard.server_port, change) as port:
        statuses = provoke(port, heard, path, host)
    return statuses, heard.heads, traces(folder, folder / "nginx.conf")


@pytest.mark.parametrize("role", ["people", "parties"])
def test_nginx_writes_nothing_about_who_sends(role, tmp_path):
    statuses, heads, found = with_nginx(tmp_path / "n", role)
    expected = [201, 404, 413, 502] if role == "people" else [201, 404, 502]
    assert statuses == expected
    assert found == []
    assert len(heads) >= 1
    assert not any(SENDER in head for head in heads), "its address is passed on"
    assert role == "parties" or not any(MARK in head for head in heads)


@pytest.mark.parametrize("path", ["/batch", "/invitations", "/release"])
def test_nginx_admits_the_previous_party_only(path, tmp_path):
    def to_another(text):
        return text.replace(f"allow {LOOPBACK};", f"allow {PREVIOUS};")

    heard = Heard()
    with nginx(tmp_path / "admitted", "parties", heard.server_port) as port:
        assert ask(port, "POST", path, b"x", host="count.example") == 201
    with nginx(tmp_path / "refused", "parties", heard.server_port, to_another) as port:
        assert ask(port, "POST", path, b"x", host="count.example") == 403
    assert len(heard.heads) == 1
    assert traces(tmp_path / "refused", tmp_path / "refused" / "nginx.conf") == []


def test_nginx_with_its_access_log_off_alone_names_the_sender(tmp_path):
    """The wrong variant: what people do, and what the configuration says that it is not enough."""

    def change(text):
        return text.replace("error_log /dev/null emerg;", "error_log FOLDER/error.log;")

    assert with_nginx(tmp_path / "n", "people", change)[2] == ["error.log"]


def test_nginx_with_a_smaller_buffer_would_write_uploads_to_its_disk(tmp_path):
    """The other wrong variant: it is seen in the file, which nginx removes at once."""
    text = (DEPLOY / "nginx-people.conf").read_text()
    sizes = re.findall(r"client_(?:max_body|body_buffer)_size (\w+);", text)
    assert len(sizes) == 2 and sizes[0] == sizes[1]
    assert not re.search(r"^\s*(log_format|access_log (?!off))", text, re.MULTILINE)


def with_caddy(folder, role, change=lambda text: text):
    caddy, heard, port = program("caddy"), Heard(), free_port()
    folder.mkdir(parents=True)
    text = (DEPLOY / f"Caddyfile.{role}").read_text()
    site = re.search(r"^(\w+\.example) \{", text, re.MULTILINE)[1]
    text = text.replace(f"{site} {{", f"http://{site}:{port} {{", 1)
    text = re.sub(r"127\.0\.0\.1:808\d", f"127.0.0.1:{heard.server_port}", text)
    text = text.replace(PREVIOUS, LOOPBACK)
    configuration = folder / "Caddyfile"
    configuration.write_text(change(text))
    command = [caddy, "run", "--adapter", "caddyfile", "--config", str(configuration)]
    path = "/upload" if role == "people" else "/release"
    with running(["env", f"HOME={folder}", *command], folder, port):
        statuses = provoke(port, heard, path, site)
    return statuses, heard.heads, traces(folder, configuration)


@pytest.mark.parametrize("role", ["people", "parties"])
def test_caddy_writes_nothing_about_who_sends(role, tmp_path):
    statuses, heads, found = with_caddy(tmp_path / "c", role)
    assert (statuses[0], statuses[1], statuses[-1]) == (201, 404, 502)
    assert found == []
    assert not any(SENDER in head for head in heads), "its address is passed on"


def test_caddy_admits_the_previous_party_only(tmp_path):
    def to_another(text):
        return text.replace(f"remote_ip {LOOPBACK}", f"remote_ip {PREVIOUS}")

    statuses, heads, found = with_caddy(tmp_path / "c", "parties", to_another)
    assert set(statuses) == {404} and heads == [] and found == []


def test_caddy_without_leaving_out_its_loggers_names_the_sender(tmp_path):
    def change(text):
        return re.sub(r"^\s*exclude .*\n", "", text, flags=re.MULTILINE)

    assert with_caddy(tmp_path / "c", "people", change)[2] == ["output"]
