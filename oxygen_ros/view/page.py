# Copyright 2026 The oxygen_ros Authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The page: a small web server on this machine, one stream of events per browser."""

from collections.abc import Callable
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from http.server import ThreadingHTTPServer
import json
import logging
from pathlib import Path
import socket
import sys
import threading
import time
from urllib.parse import parse_qs
from urllib.parse import urlsplit

from oxygen_ros.view.board import Board

DEFAULT_PORT = 8600
PERIOD_S = 0.1                 # between two looks at the board
HEARTBEAT_S = 1.0              # without news the browser still hears that we live
MAX_BODY_BYTES = 1000
STATIC = Path(__file__).parent / 'static'
LOOPBACK = ('127.0.0.1', 'localhost', '::1')
_TYPES = {'.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript',
          '.svg': 'image/svg+xml'}
# Nothing from elsewhere is loaded, and no other page may show this one in a frame.
_POLICY = "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'"

_logger = logging.getLogger(__name__)

# What a button does: takes the parameters of the request, returns what came of it in words.
Action = Callable[[dict], str]


class PageError(RuntimeError):
    """The page cannot be served, or a button did not work; the message says why."""


class Page:
    """
    Serves the board to browsers until `close`.

    actions: name of a button -> what it does; they are all that can be done from outside. A
    request for one must come from the page itself, not from another site open in the browser.
    """

    def __init__(self, board: Board, *, host: str = '127.0.0.1', port: int | None = None,
                 actions: Mapping[str, Action] | None = None):
        """Open the port; None: the usual one, or any free one if that is taken."""
        self.board = board
        self.actions = dict(actions or {})
        self.is_local = host in LOOPBACK
        self.closing = threading.Event()
        self._server = _open(host, port, self)
        self.port = self._server.server_address[1]
        shown = f'[{host}]' if ':' in host else host
        self.address = f'http://{shown}:{self.port}/'
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={'poll_interval': 0.1},
            name='oxygen_page', daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Say goodbye to the browsers and free the port."""
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def is_our_host(self, host: str) -> bool:
        """
        Return whether a Host header names this page.

        On loopback this keeps out other sites whose name was pointed at this machine.
        """
        name = urlsplit(f'//{host}').hostname
        return not self.is_local or name in LOOPBACK


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address, handler, page: Page):
        self.page = page
        if ':' in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, handler)

    def handle_error(self, request, client_address):
        """Report what went wrong; a browser that left in the middle is no error."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            _logger.exception('request of %s failed', client_address[0])


def _open(host: str, port: int | None, page: Page) -> _Server:
    for candidate in (DEFAULT_PORT, 0) if port is None else (port,):
        try:
            return _Server((host, candidate), _Handler, page)
        except (OSError, OverflowError) as error:
            reason = error
    raise PageError(f'cannot open port {port if port is not None else DEFAULT_PORT} of {host}: '
                    f'{getattr(reason, "strerror", None) or reason}; choose another --port, or '
                    f'--port 0 for any free one')


class _Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    server: _Server

    def do_GET(self) -> None:
        """Answer with a file of the page, or with the stream of events."""
        page, url = self.server.page, urlsplit(self.path)
        if not page.is_our_host(self.headers.get('Host', '')):
            self._answer(HTTPStatus.FORBIDDEN, 'this page answers to its own address only')
        elif url.path == '/events':
            self._stream(parse_qs(url.query))
        else:
            # Only names that are there: nothing in the request becomes part of a path.
            files = {'/': STATIC / 'index.html', **{f'/{path.name}': path
                                                    for path in STATIC.iterdir()}}
            path = files.get(url.path)
            if path is None:
                self._answer(HTTPStatus.NOT_FOUND, 'no such page')
            else:
                self._answer(HTTPStatus.OK, path.read_bytes(), _TYPES[path.suffix])

    def do_POST(self) -> None:
        """Do what a button says."""
        page, host = self.server.page, self.headers.get('Host', '')
        body = self._body()
        action = page.actions.get(urlsplit(self.path).path.strip('/'))
        if not page.is_our_host(host) or self.headers.get('Origin') != f'http://{host}':
            self._answer(HTTPStatus.FORBIDDEN, 'buttons work from the page itself only')
        elif action is None:
            self._answer(HTTPStatus.NOT_FOUND, 'no such button')
        elif not isinstance(body, dict):
            self._answer(HTTPStatus.BAD_REQUEST, 'the request is no JSON object')
        else:
            try:
                self._answer(HTTPStatus.OK, action(body))
            except PageError as error:
                self._answer(HTTPStatus.SERVICE_UNAVAILABLE, str(error))

    def log_message(self, format, *args):
        """Log requests for who debugs."""
        _logger.debug(format, *args)

    def _body(self):
        """Return the JSON of the request, {} without one, None if it is none."""
        length = self.headers.get('Content-Length', '0')
        if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
            self.close_connection = True
            return None
        try:
            return json.loads(self.rfile.read(int(length)) or b'{}')
        except ValueError:
            return None

    def _answer(self, status: HTTPStatus, content: str | bytes,
                content_type: str = 'text/plain') -> None:
        data = content.encode() if isinstance(content, str) else content
        self._head(status, content_type)
        self.send_header('Content-Length', str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _head(self, status: HTTPStatus, content_type: str) -> None:
        self.send_response(status)
        self.send_header('Content-Type', f'{content_type}; charset=utf-8')
        self.send_header('Cache-Control', 'no-store')
        self.send_header('Content-Security-Policy', _POLICY)
        self.send_header('X-Content-Type-Options', 'nosniff')

    def _stream(self, query: dict) -> None:
        """Send what is new until the browser leaves or the page closes."""
        page, board = self.server.page, self.server.page.board
        self._head(HTTPStatus.OK, 'text/event-stream')
        self.send_header('Connection', 'close')
        self.end_headers()
        self.close_connection = True
        run, since = query.get('run', [''])[0], query.get('since', ['0'])[0]
        since = int(since) if run == board.run and since.isdecimal() else 0
        run, sent_s = board.run, 0.0
        with board.reader():
            while not page.closing.wait(PERIOD_S):
                if board.run != run:
                    run, since = board.run, 0
                update, newest = board.update(since)
                if newest > since or time.monotonic() - sent_s > HEARTBEAT_S:
                    since, sent_s = newest, time.monotonic()
                    update['number'] = newest
                    try:
                        self.wfile.write(f'data: {json.dumps(update)}\n\n'.encode())
                    except OSError:
                        return          # the browser left
