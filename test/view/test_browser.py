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

"""
The page in a real headless Chromium, as a person sees it.

A robot that is played here moves, speaks and keeps facts; then one camera stops, then the robot.
"""

import math
import threading
import time

from chromium import Chromium
from chromium import find_chromium
import pytest
import view_helpers as make

from oxygen_ros.view import Board
from oxygen_ros.view import Feed
from oxygen_ros.view import Page

pytestmark = pytest.mark.skipif(
    not find_chromium(), reason='no Chromium here; apt-get install chromium')

WORDS = ('the ', 'red ', 'cube ', 'is ', 'on ', 'the ', 'left ')
PIXELS = ("[...document.getElementById('{}').getContext('2d').getImageData(0, 0, 400, 100).data]"
          ".filter((value, index) => index % 4 === 3 && value).length")


class PlayedRobot:
    """Sends what a running robot sends, 10 times a second."""

    def __init__(self):
        self.board = Board(now_s=time.monotonic)
        self.wrist_works = True
        self.is_stopped = self.is_gone = False
        self.page = Page(self.board, port=0, actions={'stop': self._stop})
        self._feed = Feed(self.board, now_s=time.monotonic, node_name='/oxygen')
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def end(self) -> None:
        """End everything."""
        self._ending.set()
        self._thread.join()
        if not self.page.closing.is_set():
            self.page.close()

    def _stop(self, request) -> str:
        self.is_stopped = True
        return 'stopped: operator'

    def _run(self) -> None:
        self.board.put('source', {'mode': 'live', 'title': '/oxygen', 'can_stop': True})
        step = 0
        while not self._ending.wait(0.1):
            if not self.is_gone:
                self._send(step)
            step += 1

    def _send(self, step: int) -> None:
        now_s, feed = time.monotonic(), self._feed
        feed.take(make.FRONT, make.picture(now_s, grey=step * 7 % 256))
        if self.wrist_works:
            feed.take(make.WRIST, make.picture(now_s, grey=step * 5 % 256))
        feed.take(make.STATE, make.joint_state((math.sin(step / 5), 0.2)))
        feed.take(make.other('chunk'), make.chunk(now_s))
        text, index = divmod(step, len(WORDS) + 1)
        final = index == len(WORDS)
        feed.take(make.other('piece'), make.piece(
            now_s, index, '' if final else WORDS[index], request=f'narrate-{text}', final=final,
            full_text=''.join(WORDS) if final else ''))
        if step % 10 == 0:
            feed.take(make.other('fact'), make.fact(step, f'<b>place {step}</b>'))
            feed.take(make.other('engine'), make.engine())
            feed.take(make.other('diagnostics'), make.diagnostics())
            feed.take(make.other('deadline'), make.deadline(
                verdict='stopped' if self.is_stopped else 'fresh',
                cause='stop_requested' if self.is_stopped else ''))


@pytest.fixture(scope='module')
def robot():
    """Play a robot for the whole module."""
    robot = PlayedRobot()
    yield robot
    robot.end()


@pytest.fixture(scope='module')
def browser(robot, tmp_path_factory):
    """Open the page in a browser."""
    browser = Chromium(tmp_path_factory.mktemp('chromium'))
    try:
        browser.open(robot.page.address)
        browser.wait_for("document.querySelectorAll('#chips li').length > 1", timeout_s=60)
        yield browser
    finally:
        browser.close()


def test_pictures_move(browser):
    for camera in ('front', 'wrist'):
        source = f"document.querySelector('[data-camera={camera}] img').src"
        first = browser.value(source)
        assert first.startswith('data:image/jpeg;base64,')
        browser.wait_for(f'{source} !== {first!r}')
        assert browser.value(f"document.querySelector('[data-camera={camera}] img').naturalWidth")


def test_words_stream(browser):
    text = "document.querySelector('[data-task=narrate] .running')?.textContent ?? ''"
    lengths = set()
    give_up_s = time.monotonic() + 20
    while len(lengths) < 4 and time.monotonic() < give_up_s:
        lengths.add(len(browser.value(text)))
    assert len(lengths) >= 4, 'the text grows word by word'
    whole = browser.wait_for("document.querySelector('[data-task=narrate] .done')?.textContent")
    assert whole == ''.join(WORDS).strip()


def test_joints_cycles_lateness_and_pages_are_drawn(browser):
    assert browser.wait_for("[...document.querySelectorAll('.joint b')].map(b => b.textContent)"
                            ".join()") == 'arm,gripper'
    for canvas in ('timeline', 'histogram', 'grid'):
        assert browser.wait_for(PIXELS.format(canvas)) > 200, canvas
    value = "document.querySelector('.joint span').textContent"
    first = browser.wait_for(value)
    browser.wait_for(f'{value} !== {first!r}')
    assert browser.value("document.getElementById('pages').textContent") == '12 of 40 pages'


def test_facts_are_a_table_and_their_text_is_only_text(browser):
    rows = "[...document.querySelectorAll('#facts tr')].map(row => row.lastChild.textContent)"
    browser.wait_for(f'{rows}.length > 3')
    assert '<b>place ' in browser.value(rows)[1]
    assert browser.value("document.querySelectorAll('#facts b').length") == 0
    assert browser.value("document.getElementById('fact-count').textContent").startswith('1 hold')


def test_camera_that_stops_is_seen_as_stopped_and_seen_to_come_back(browser, robot):
    wrist = "document.querySelector('[data-camera=wrist]').classList.contains('stopped')"
    assert not browser.value(wrist)
    robot.wrist_works = False
    browser.wait_for(wrist)
    badge = browser.value("document.querySelector('[data-camera=wrist] .badge').textContent")
    assert badge.startswith('stopped, last picture 1.')
    assert not browser.value(wrist.replace('wrist', 'front')), 'the other one goes on'
    robot.wrist_works = True
    browser.wait_for(f'!{wrist}')


def test_both_themes_are_readable(browser):
    colours = []
    for dark in (False, True):
        browser.prefer_dark(dark)
        colours.append(browser.value(
            '(() => { const style = getComputedStyle(document.body);'
            ' return [style.color, style.backgroundColor] })()'))
    assert colours[0][0] != colours[1][0] and colours[0][1] != colours[1][1]


def test_page_is_not_wider_than_a_small_window(browser):
    browser.resize(700, 900)
    assert browser.value('document.documentElement.scrollWidth') <= 700
    browser.resize(1440, 1100)


def test_stop_button_stops(browser, robot):
    browser.value("document.getElementById('stop').click()")
    browser.wait_for("document.getElementById('answer').textContent === 'stopped: operator'")
    assert robot.is_stopped
    browser.wait_for("[...document.querySelectorAll('#chips li')]"
                     ".some(chip => chip.textContent === 'stopped: stop requested')")


def test_node_that_goes_silent_is_shown_as_absent(browser, robot):
    robot.is_gone = True
    chip = "document.querySelector('#chips .bad')?.textContent"
    browser.wait_for(f"{chip} === 'node absent: it has stopped reporting'")
    robot.is_gone = False
    browser.wait_for(f"{chip} !== 'node absent: it has stopped reporting'")


def test_server_that_ends_is_said(browser, robot):
    robot.page.close()
    browser.wait_for("!document.getElementById('lost').hidden")


def test_recording_has_a_bar_to_pause_and_jump_and_no_stop_button(browser):
    requests = []
    board = Board(now_s=time.monotonic)
    page = Page(board, port=0, actions={'play': lambda request: requests.append(request) or 'ok'})

    def wait_for_request(wanted):
        give_up_s = time.monotonic() + 10
        while not requests:
            assert time.monotonic() < give_up_s
            time.sleep(0.05)
        assert requests.pop() == wanted and not requests

    try:
        board.put('source', {'mode': 'recording', 'title': 'my_bag', 'can_stop': False})
        board.put('player', {'position': 65.0, 'duration': 130.0, 'paused': False})
        browser.open(page.address)
        browser.wait_for("document.getElementById('node')?.textContent === 'my_bag'")
        browser.wait_for("document.getElementById('time').textContent === '1:05 of 2:10'")
        assert browser.value("document.getElementById('stop').hidden")
        browser.value("document.getElementById('play').click()")
        wait_for_request({'paused': True})
        browser.value("(() => { const slider = document.getElementById('position');"
                      " slider.value = 20; slider.dispatchEvent(new Event('change')) })()")
        wait_for_request({'position': 20})
    finally:
        page.close()
