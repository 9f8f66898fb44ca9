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

"""A browser's side of the page of `oxygen view`, without a browser."""

import http.client
import json


class Stream:
    """A browser's side of the stream of events; a context manager."""

    def __init__(self, port: int, *, path: str = '/events'):
        self._connection = http.client.HTTPConnection('127.0.0.1', port, timeout=10)
        self._connection.request('GET', path)
        self._response = self._connection.getresponse()
        assert self._response.getheader('Content-Type').startswith('text/event-stream')

    def __enter__(self):
        """Return the open stream."""
        return self

    def __exit__(self, *exception) -> None:
        """Leave as a closed tab does."""
        self._response.close()
        self._connection.close()

    def next(self) -> dict:
        """Wait for the next update."""
        lines = []
        while (line := self._response.readline().decode()) != '\n':
            assert line, 'the server ended the stream'
            lines.append(line)
        return json.loads(''.join(lines).removeprefix('data: '))

    def until(self, condition, *, most: int = 300):
        """Return the first update for which the condition is true."""
        for _ in range(most):
            if condition(update := self.next()):
                return update
        raise AssertionError(f'not in {most} updates')


def post(port: int, path: str, *, body: str = '', **headers) -> tuple[int, str]:
    """Press a button as the page itself does, unless headers say otherwise."""
    address = f'127.0.0.1:{port}'
    connection = http.client.HTTPConnection('127.0.0.1', port, timeout=10)
    connection.request('POST', path, body=body, headers={
        name.replace('_', '-'): value
        for name, value in {'Host': address, 'Origin': f'http://{address}', **headers}.items()
        if value})
    response = connection.getresponse()
    answer = response.status, response.read().decode()
    connection.close()
    return answer


def get(port: int, path: str, **headers) -> http.client.HTTPResponse:
    """Fetch a file of the page."""
    connection = http.client.HTTPConnection('127.0.0.1', port, timeout=10)
    connection.request('GET', path, headers=headers)
    return connection.getresponse()
