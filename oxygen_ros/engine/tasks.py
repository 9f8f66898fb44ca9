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

"""Standing tasks: which texts the engine starts by itself on a new frame."""

from collections.abc import Callable
from collections.abc import Sequence

import numpy as np

from oxygen_ros.config import StandingTask
from oxygen_ros.config.prompts import standing_prompt
from oxygen_ros.types import LanguageRequest
from oxygen_ros.types import Observation
from oxygen_ros.types import Sampling

# Pictures are compared on a grid of cells, each the mean of CELL_POINTS x CELL_POINTS pixels:
# enough to see an object move, little enough to cost nothing, and noise averages out.
GRID_CELLS, CELL_POINTS = 24, 4
# Mean change over the grid (of 255) that counts as another scene; sensor noise stays below.
SCENE_CHANGE = 3.0


class TaskTriggers:
    """
    Turns standing tasks into requests, each with an id never used before.

    A task has at most one text running or queued unless it allows overlap, so that a slow
    machine writes fewer texts instead of ever more late ones.
    """

    def __init__(self, tasks: Sequence[StandingTask] = (), *, seed: int = 0):
        self._seed = seed
        self._count = 0                              # of texts started, over all tasks
        self._due_s: dict[str, float] = {}           # of the next text of every_s, by task
        self._due_scene: dict[str, tuple] = {}      # what the last text was about, by task
        self.tasks = tuple(tasks)

    def set(self, tasks: Sequence[StandingTask]) -> None:
        """Replace the tasks; those whose trigger stays the same keep their rhythm."""
        def when(task: StandingTask) -> tuple:
            return task.name, task.trigger, task.period_s

        stay = {when(task) for task in self.tasks} & {when(task) for task in tasks}
        names = {name for name, *_ in stay}
        self.tasks = tuple(tasks)
        for memory in (self._due_s, self._due_scene):
            for name in [name for name in memory if name not in names]:
                del memory[name]

    def reset(self) -> None:
        """Forget when and about what tasks last spoke: a new episode starts."""
        self._due_s.clear()
        self._due_scene.clear()

    def due(self, observation: Observation, now_s: float,
            is_open: Callable[[str], bool]) -> list[LanguageRequest]:
        """Return the requests to start on this frame; is_open(task) says whether one is open."""
        requests = []
        for task in self.tasks:
            if is_open(task.name) and not task.overlap:
                continue
            if self._triggered(task, observation, now_s):
                requests.append(self._request(task, observation.instruction))
        return requests

    def _triggered(self, task: StandingTask, observation: Observation, now_s: float) -> bool:
        if task.trigger == 'every_s':
            due_s = self._due_s.get(task.name, now_s)
            if now_s < due_s:
                return False
            # On the grid of the period, so that frame jitter does not slow the rhythm down;
            # what was missed is not made up for.
            missed = int((now_s - due_s) / task.period_s + 1e-6)
            self._due_s[task.name] = due_s + (missed + 1) * task.period_s
        elif task.trigger == 'on_change':
            scene = (observation.instruction, _thumbnails(observation))
            if not _changed(self._due_scene.get(task.name), scene):
                return False
            self._due_scene[task.name] = scene
        return True

    def _request(self, task: StandingTask, instruction: str) -> LanguageRequest:
        self._count += 1
        return LanguageRequest(
            request_id=f'{task.name}-{self._count}', task=task.name,
            prompt=standing_prompt(task.prompt, instruction), max_tokens=task.max_tokens,
            priority=task.priority, stop=task.stop, expiry_s=task.expiry_s,
            sampling=Sampling(task.temperature, task.top_p, seed=self._seed + self._count),
            target_tokens_per_s=task.target_tokens_per_s, choices=task.choices)


def _thumbnails(observation: Observation) -> dict[str, np.ndarray]:
    """Return a coarse copy of every picture; a view would change with the shared memory."""
    small = {}
    for slot, image in observation.images.items():
        steps = [max(1, size // (GRID_CELLS * CELL_POINTS)) for size in image.shape[:2]]
        points = image[::steps[0], ::steps[1]].astype(np.float32)
        cells = [max(1, size // CELL_POINTS) for size in points.shape[:2]]
        width = [size // count for size, count in zip(points.shape[:2], cells)]
        points = points[:cells[0] * width[0], :cells[1] * width[1]]
        small[slot] = points.reshape(cells[0], width[0], cells[1], width[1], -1).mean(axis=(1, 3))
    return small


def _changed(last: tuple | None, scene: tuple) -> bool:
    if last is None or last[0] != scene[0] or last[1].keys() != scene[1].keys():
        return True
    for slot, image in scene[1].items():
        before = last[1][slot]
        if before.shape != image.shape or np.abs(before - image).mean() > SCENE_CHANGE:
            return True
    return False
