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

"""A real headless Chromium, driven over its debugging pipe; needs nothing but the browser."""

import base64
import json
import os
from pathlib import Path
import selectors
import shutil
import signal
import subprocess
import time

PROGRAMS = ('chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable')
START_S = 60.0


def find_chromium() -> str:
    """Return the path of the browser, '' where there is none."""
    return next((path for name in PROGRAMS if (path := shutil.which(name))), '')


class Chromium:
    """One browser with one tab."""

    def __init__(self, profile: Path, *, width: int = 1440, height: int = 1100):
        # The browser reads commands from its descriptor 3 and writes answers to 4.
        command_read, self._write = os.pipe()
        self._read, answer_write = os.pipe()

        def give_pipes():
            os.setsid()
            first, second = os.dup(command_read), os.dup(answer_write)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self._process = subprocess.Popen(
            [find_chromium(), '--headless=new', '--no-sandbox', '--disable-gpu',
             '--disable-dev-shm-usage', '--hide-scrollbars', '--no-first-run',
             '--disable-extensions', '--disable-background-networking',
             f'--window-size={width},{height}', f'--user-data-dir={profile}',
             '--remote-debugging-pipe', 'about:blank'],
            preexec_fn=give_pipes, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(command_read)
        os.close(answer_write)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._read, selectors.EVENT_READ)
        self._unread = b''
        self._number = 0
        self._session = None
        target = self._call('Target.createTarget', url='about:blank')['targetId']
        self._session = self._call(
            'Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        self.resize(width, height)

    def resize(self, width: int, height: int) -> None:
        """Give the page another size, px."""
        self._call('Emulation.setDeviceMetricsOverride', width=width, height=height,
                   deviceScaleFactor=1, mobile=False)

    def open(self, url: str) -> None:
        """Go to a page."""
        self._call('Page.navigate', url=url)

    def value(self, script: str):
        """Return what a JavaScript expression is, promises waited for."""
        answer = self._call('Runtime.evaluate', expression=script, returnByValue=True,
                            awaitPromise=True)
        assert 'exceptionDetails' not in answer, f'{script}: {answer["exceptionDetails"]}'
        return answer['result'].get('value')

    def wait_for(self, script: str, *, timeout_s: float = 30.0):
        """Return a JavaScript expression once it is true."""
        give_up_s = time.monotonic() + timeout_s
        while not (value := self.value(script)):
            assert time.monotonic() < give_up_s, f'not within {timeout_s} s: {script}'
            time.sleep(0.1)
        return value

    def prefer_dark(self, dark: bool) -> None:
        """Choose the theme as a person's system settings would."""
        self._call('Emulation.setEmulatedMedia', features=[
            {'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}])

    def screenshot(self, path: Path) -> None:
        """Write what is seen as PNG."""
        data = self._call('Page.captureScreenshot', format='png')['data']
        path.write_bytes(base64.b64decode(data))

    def close(self) -> None:
        """End the browser with all its processes."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._selector.close()
        os.close(self._read)
        os.close(self._write)

    def _call(self, method: str, **parameters) -> dict:
        self._number += 1
        message = {'id': self._number, 'method': method, 'params': parameters}
        if self._session:
            message['sessionId'] = self._session
        os.write(self._write, json.dumps(message).encode() + b'\0')
        give_up_s = time.monotonic() + START_S
        while True:
            *answers, self._unread = self._unread.split(b'\0')
            for position, text in enumerate(answers):
                answer = json.loads(text)
                if answer.get('id') == self._number:
                    self._unread = b'\0'.join((*answers[position + 1:], self._unread))
                    assert 'error' not in answer, f'{method}: {answer["error"]}'
                    return answer['result']
            assert self._selector.select(give_up_s - time.monotonic()), \
                f'the browser did not answer {method} within {START_S} s'
            data = os.read(self._read, 1 << 20)
            assert data, f'the browser ended at {method}'
            self._unread += data
