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

"""When standing tasks start a text by themselves."""

from dataclasses import replace

import numpy as np
import pytest

from oxygen_ros.config import StandingTask
from oxygen_ros.engine.tasks import TaskTriggers
from oxygen_ros.types import Observation


def scene(brightness=100, *, instruction='tidy up', noise_seed=None):
    """Return an observation of an even picture, with a little sensor noise if wanted."""
    image = np.full((120, 160, 3), brightness, np.int16)
    if noise_seed is not None:
        image += np.random.default_rng(noise_seed).integers(-6, 7, image.shape, np.int16)
    return Observation(1, 1, {'primary': image.clip(0, 255).astype(np.uint8)},
                       np.zeros(6, np.float32), instruction)


def starts(triggers, observations, *, hz=10.0, is_open=lambda name: False):
    """Return the frames on which a text started."""
    return [frame for frame, observation in enumerate(observations)
            if triggers.due(observation, frame / hz, is_open)]


def test_every_frame_waits_for_its_last_text_unless_it_may_overlap():
    """A slow text is not followed by a pile of late ones."""
    for overlap, expected in ((False, []), (True, [0, 1, 2])):
        triggers = TaskTriggers([StandingTask('talk', 'x', overlap=overlap)])
        assert starts(triggers, [scene()] * 3, is_open=lambda name: True) == expected
    assert starts(TaskTriggers([StandingTask('talk', 'x')]), [scene()] * 3) == [0, 1, 2]


def test_every_s_keeps_its_period_on_average():
    """Frames do not fall on the period: the mean rate holds; after a pause nothing piles up."""
    triggers = TaskTriggers([StandingTask('talk', 'x', trigger='every_s', period_s=0.35)])
    times = starts(triggers, [scene()] * 141)
    assert len(times) == pytest.approx(1 + 14.0 / 0.35, abs=1)
    assert set(np.diff(times)) <= {3, 4}
    assert len(triggers.due(scene(), 100.0, lambda name: False)) == 1
    assert not triggers.due(scene(), 100.05, lambda name: False)


def test_on_change_of_instruction_or_scene():
    """Sensor noise is no change; another instruction, picture, size or camera is."""
    triggers = TaskTriggers([StandingTask('talk', 'x', trigger='on_change')])
    still = [scene(noise_seed=seed) for seed in range(5)]
    other_camera = replace(scene(130), images={**scene(130).images, 'wrist': scene().images[
        'primary']})
    assert starts(triggers, [*still, scene(instruction='stop'), scene(instruction='stop'),
                             scene(130, instruction='stop'), scene(130), other_camera,
                             other_camera]) == [0, 5, 7, 8, 9]


def test_a_picture_that_is_overwritten_in_place_is_still_compared_with_what_was_seen():
    """Pictures may be views of memory that the next frame is written to."""
    triggers = TaskTriggers([StandingTask('talk', 'x', trigger='on_change')])
    observation = scene()
    assert triggers.due(observation, 0.0, lambda name: False)
    observation.images['primary'][:] = 200
    assert triggers.due(observation, 0.1, lambda name: False)


def test_ids_are_never_used_twice_and_seeds_differ():
    """Not over tasks, resets or replaced task lists."""
    tasks = [StandingTask('one', 'x', temperature=0.5), StandingTask('two', 'y')]
    triggers = TaskTriggers(tasks, seed=7)
    requests = []
    for frame in range(6):
        requests += triggers.due(scene(), frame, lambda name: False)
        triggers.reset() if frame % 2 else triggers.set(tasks)
    assert len({request.request_id for request in requests}) == 12
    assert len({request.sampling.seed for request in requests}) == 12
    assert {request.task for request in requests} == {'one', 'two'}


def test_replacing_tasks_keeps_the_rhythm_of_those_that_stay():
    """Only a reset starts a period anew."""
    task = StandingTask('talk', 'x', trigger='every_s', period_s=10.0)
    triggers = TaskTriggers([task])
    assert triggers.due(scene(), 0.0, lambda name: False)
    triggers.set([replace(task, prompt='other')])
    assert not triggers.due(scene(), 5.0, lambda name: False)
    triggers.reset()
    request, = triggers.due(scene(), 6.0, lambda name: False)
    assert request.prompt == 'other'
    # A new period counts at once, not after the old one.
    triggers.set([replace(task, period_s=1.0)])
    assert triggers.due(scene(), 6.1, lambda name: False)


def test_a_prompt_may_name_the_instruction_and_a_subtask_is_no_change_of_it():
    """Else a subtask on change would start itself anew by what it said."""
    triggers = TaskTriggers([StandingTask('talk', 'Task: {instruction}', trigger='on_change')])
    request, = triggers.due(scene(instruction='tidy  up'), 0.0, lambda name: False)
    assert request.prompt == 'Task: tidy up'
    told = replace(scene(instruction='tidy  up'), subtask='grasp the cup')
    assert not triggers.due(told, 0.1, lambda name: False)
    assert triggers.due(scene(instruction='stop'), 0.2, lambda name: False)
