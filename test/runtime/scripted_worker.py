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

"""An engine process whose engine does what a test says: the real loop, without a model."""

import os
import sys
import time

import numpy as np

from oxygen_ros.config import ConfigError
from oxygen_ros.runtime import worker
from oxygen_ros.runtime.protocol import EngineInfo
from oxygen_ros.types import ActionChunk
from oxygen_ros.types import EndReason
from oxygen_ros.types import TokenDelta

TOKEN_S = 0.01


class ScriptedEngine:
    """
    Writes one word per step for each text; the prompt of a text may ask for trouble.

    'hang': never returns. 'sleep 3': a step of 3 s. 'raise': an exception. 'exit': ends itself.
    """

    def __init__(self, robot, emit, trouble=''):
        self._robot, self._emit, self._trouble = robot, emit, trouble
        self._texts, self._tasks, self._num_started = {}, (), 0
        self._next_word_s = 0.0

    @property
    def busy(self):
        return bool(self._texts)

    def step(self, observation=None, *, interrupted):
        if observation is not None:
            self._act(observation)
            for task in self._tasks:
                if not any(text[0].startswith(task.name) for text in self._texts.values()):
                    self._num_started += 1
                    name = f'{task.name}-{self._num_started}'
                    self._texts[name] = [task.name, task.max_tokens, 0]
        if time.monotonic() < self._next_word_s:
            return
        self._next_word_s = time.monotonic() + TOKEN_S
        for name, (task, max_tokens, index) in list(self._texts.items()):
            self._texts[name][2] += 1
            final = index + 1 == max_tokens
            self._emit(TokenDelta(name, task, 1, 1, index, f'w{index} ', 1, final=final,
                                  reason=EndReason.LENGTH if final else None))
            if final:
                del self._texts[name]

    def _act(self, observation):
        if self._trouble == 'fragile':
            os._exit(5)
        columns = len(self._robot.joints) + (self._trouble == 'wide')
        value = np.nan if self._trouble == 'nan' else observation.state[0]
        if self._trouble != 'mute':
            self._emit(ActionChunk(
                observation.frame_id, observation.stamp_ns,
                np.full((10, columns), value, np.float32), 0.05, observation.epoch))

    def next_frame_s(self, now_s):
        return now_s

    def next_work_s(self):
        return max(0.0, self._next_word_s - time.monotonic())

    def submit(self, request):
        what, _, value = request.prompt.partition(' ')
        if what == 'hang':
            while True:
                time.sleep(1)
        elif what == 'sleep':
            time.sleep(float(value))
        elif what == 'raise':
            raise RuntimeError('scripted failure')
        elif what == 'exit':
            os._exit(7)
        self._texts[request.request_id] = [request.task, request.max_tokens, 0]

    def cancel(self, request_id):
        self._end(request_id, EndReason.CANCELLED)

    def set_tasks(self, tasks):
        self._tasks = tuple(tasks)

    def set_replan_rate(self, replan_hz):
        pass    # frames are always welcome

    def reset(self, epoch):
        for name in list(self._texts):
            self._end(name, EndReason.CANCELLED)

    def close(self):
        self.reset(0)

    def _end(self, name, reason):
        if name in self._texts:
            task, _, index = self._texts.pop(name)
            self._emit(TokenDelta(name, task, 1, 1, index, '', 0, final=True, reason=reason))


def load(start, emit, on_progress):
    """
    Load as the checkpoint name says: 'scripted', or 'scripted:<trouble>'.

    'mute', 'nan', 'wide' and 'fragile' load well and fail on the first observation.
    """
    _, _, trouble = start.config.checkpoint.partition(':')
    on_progress('loading')
    if trouble.startswith('slow'):
        time.sleep(float(trouble.split()[1]))
    elif trouble == 'refuse':
        raise ConfigError('checkpoint /no/such does not exist; check the path')
    elif trouble == 'crash':
        os._exit(3)
    elif trouble.startswith('crash_if'):
        if os.path.exists(trouble.split()[1]):
            os._exit(3)
    return (ScriptedEngine(start.robot, emit, trouble),
            EngineInfo(start.config.checkpoint, False, 10, 0.001, 1))


if __name__ == '__main__':
    worker.leave(worker.main(sys.argv[1:], load=load))
