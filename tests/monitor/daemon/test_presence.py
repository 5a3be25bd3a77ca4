"""What others hear of the daemon, and what it hears of them."""

import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from monitor.daemon.presence import ping


def test_a_failure_is_told_below_the_path_and_not_in_the_query():
    """`/fail` ends the path of the address; what follows it stays behind it."""
    heard = []

    class Listener(BaseHTTPRequestHandler):
        def do_GET(self):
            heard.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Listener)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        place = f"http://127.0.0.1:{server.server_port}/ping"
        for url in (place, f"{place}/", f"{place}?key=a/b&more=1"):
            assert ping(url, well=False) is None
        assert ping(f"{place}?key=a/b", well=True) is None
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert heard == ["/ping/fail", "/ping/fail", "/ping/fail?key=a/b&more=1", "/ping?key=a/b"]


@pytest.mark.parametrize("well", [True, False])
def test_an_answer_that_is_no_http_is_told_without_the_address(well):
    """Any process may listen there: that is reported, and ends nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"220 mail.example.org ESMTP\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        said = ping(f"http://127.0.0.1:{server.getsockname()[1]}/secret", well=well)
        thread.join()
    assert said == "the heartbeat URL cannot be reached (BadStatusLine)"
