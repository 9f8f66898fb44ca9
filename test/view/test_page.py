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

"""The page over HTTP: its files, its stream of events, and who may press a button."""

import socket
import threading
import time

from page_client import get
from page_client import post
from page_client import Stream
import pytest
import view_helpers as make

from oxygen_ros.view import Board
from oxygen_ros.view import Feed
from oxygen_ros.view import Page
from oxygen_ros.view import PageError
from oxygen_ros.view.page import STATIC


@pytest.fixture
def board():
    """Return an empty board."""
    return Board(now_s=time.monotonic)


@pytest.fixture
def pressed():
    """Return the requests that reached a button."""
    return []


@pytest.fixture
def page(board, pressed):
    """Serve the board with a stop button and one that does not work."""
    def stop(request):
        pressed.append(request)
        return 'stopped: operator'

    def broken(request):
        raise PageError('the node is not there')

    page = Page(board, port=0, actions={'stop': stop, 'broken': broken})
    yield page
    page.close()


@pytest.fixture
def feed(board):
    """Return what fills the board."""
    return Feed(board, now_s=time.monotonic, node_name='/oxygen')


def test_every_file_of_the_page_is_served_and_nothing_else(page):
    assert b'<title>oxygen view' in get(page.port, '/').read()
    for path in STATIC.iterdir():
        response = get(page.port, f'/{path.name}?x=1')
        assert response.status == 200
        assert response.read() == path.read_bytes()
        assert "default-src 'self'" in response.getheader('Content-Security-Policy')
    for path in ('/page.py', '/../page.py', '/static/../page.py', '/%2e%2e/page.py',
                 '//etc/passwd'):
        assert get(page.port, path).status == 404


def test_page_needs_nothing_from_elsewhere():
    for path in STATIC.iterdir():
        text = path.read_text(encoding='utf-8').replace('http://www.w3.org/2000/svg', '')
        assert 'http://' not in text and 'https://' not in text, path.name


def test_stream_brings_pictures_words_and_figures_as_they_come(page, feed):
    with Stream(page.port) as stream:
        feed.take(make.FRONT, make.picture(1.0, grey=10))
        first = stream.until(lambda update: 'camera front' in update.get('values', {}))
        feed.take(make.FRONT, make.picture(1.1, grey=200))
        second = stream.until(lambda update: 'camera front' in update.get('values', {}))
        jpegs = [update['values']['camera front']['value']['jpeg'] for update in (first, second)]
        assert jpegs[0] != jpegs[1]
        for index, word in enumerate(('red ', 'cube')):
            feed.take(make.other('piece'), make.piece(1.0, index, word))
            update = stream.until(lambda update: 'pieces' in update)
            assert [entry['text'] for entry in update['pieces']] == [word]
        feed.take(make.other('engine'), make.engine())
        values = stream.until(lambda update: 'engine' in update.get('values', {}))['values']
        assert values['engine']['value']['kv_prefixes'] == 2


def test_stopped_camera_grows_old_while_the_stream_lives(page, feed):
    with Stream(page.port) as stream:
        feed.take(make.FRONT, make.picture(1.0))
        seen = stream.until(lambda update: 'camera front' in update.get('values', {}))
        later = stream.until(lambda update: update['now'] > seen['now'] + 1.5)
        assert 'camera front' not in later.get('values', {})


def test_browser_that_comes_back_misses_nothing_and_gets_nothing_twice(page, feed):
    feed.take(make.other('fact'), make.fact(1, 'left'))
    with Stream(page.port) as stream:
        first = stream.next()
    feed.take(make.other('fact'), make.fact(2, 'right'))
    with Stream(page.port, path=f'/events?run={first["run"]}&since={first["number"]}') as stream:
        assert [entry['fact_id'] for entry in stream.next()['facts']] == [2]
    with Stream(page.port, path='/events?run=another&since=999') as stream:
        assert [entry['fact_id'] for entry in stream.next()['facts']] == [1, 2]


def test_board_knows_whether_anybody_looks(page, board):
    assert not board.is_watched
    with Stream(page.port) as stream:
        stream.next()
        assert board.is_watched
    deadline_s = time.monotonic() + 5
    while board.is_watched:                # noticed at the next thing to send
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


def test_page_that_closes_ends_its_streams_at_once(board):
    page = Page(board, port=0)
    ended = threading.Event()

    def read():
        with Stream(page.port) as stream, pytest.raises(AssertionError):
            while True:
                stream.next()
        ended.set()

    thread = threading.Thread(target=read)
    thread.start()
    while not board.is_watched:
        time.sleep(0.01)
    page.close()
    assert ended.wait(3)
    thread.join()


def test_stop_works_from_the_page(page, pressed):
    assert post(page.port, '/stop') == (200, 'stopped: operator')
    assert pressed == [{}]


@pytest.mark.parametrize('headers', [
    {'Origin': 'http://evil.example'}, {'Origin': ''}, {'Origin': 'null'},
    {'Origin': 'https://127.0.0.1'}])
def test_another_site_in_the_same_browser_cannot_press_a_button(page, pressed, headers):
    assert post(page.port, '/stop', **headers)[0] == 403
    assert pressed == []


def test_name_that_was_pointed_at_this_machine_gets_nothing(page, pressed):
    name = f'evil.example:{page.port}'
    assert get(page.port, '/', Host=name).status == 403
    assert get(page.port, '/events', Host=name).status == 403
    assert post(page.port, '/stop', Host=name, Origin=f'http://{name}')[0] == 403
    assert pressed == []


def test_only_buttons_that_are_there_and_only_by_post(page, pressed):
    assert get(page.port, '/stop').status == 404
    assert post(page.port, '/resume')[0] == 404
    assert post(page.port, '/stop', body='[1]')[0] == 400
    assert post(page.port, '/stop', body='{"x": ' + '1' * 5000 + '}')[0] == 400
    assert pressed == []


def test_button_that_fails_says_why(page):
    assert post(page.port, '/broken') == (503, 'the node is not there')


def test_taken_port_is_said_and_the_usual_one_gives_way(board, monkeypatch):
    with socket.create_server(('127.0.0.1', 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PageError, match=rf'cannot open port {port} of 127\.0\.0\.1.*--port 0'):
            Page(board, port=port)
        monkeypatch.setattr('oxygen_ros.view.page.DEFAULT_PORT', port)
        page = Page(board)
        assert page.port != port
        page.close()


def test_address_that_is_not_ours_is_said(board):
    with pytest.raises(PageError, match='203.0.113.1'):
        Page(board, host='203.0.113.1', port=0)
