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

"""Learning: losses fall, runs repeat to the last bit, a stopped run goes on as if it were not."""

import threading
import time

import numpy as np
import pytest
import torch

from oxygen_ros.sim import TableTop
from oxygen_ros.sim import Task
from oxygen_ros.sim.trials import FIRST_SEED
from oxygen_ros.training import recipe
from oxygen_ros.training.closed_loop import ClosedLoop
from oxygen_ros.training.examination import standing_tasks
from oxygen_ros.training.learn import Course
from oxygen_ros.training.learn import make_meeting_point
from oxygen_ros.training.learn import Stage
from oxygen_ros.training.learn import Team


def learn(student, data, path, *, name='act', num_steps=12, stop=None):
    """Run a stage in this process, to its end or as if stopped; return (course, mean)."""
    stage = Stage(name, num_steps, batch_size=4, rate=1e-3, seed=5)
    course = Course(student, stage, Team(0, 1), range(len(data)))
    if stop is None:
        return course, course.run(data, path, lambda text: None)
    for _ in range(stop):
        course._learn(data)
        course.step += 1
    course._save(path)
    return course, None


def weights(module):
    return torch.cat([weight.detach().flatten() for weight in module.parameters()])


def test_a_run_repeats_to_the_last_bit(run, data, tmp_path):
    means = [weights(learn(recipe.new_student(run, recipe.Recipe()), data,
                           tmp_path / f'{number}.pt', num_steps=4)[1]) for number in range(2)]
    assert torch.equal(*means)


def test_a_stopped_run_goes_on_where_it_was(run, data, tmp_path):
    def fresh():
        return recipe.new_student(run, recipe.Recipe())

    _, whole = learn(fresh(), data, tmp_path / 'whole.pt', num_steps=6)
    learn(fresh(), data, tmp_path / 'parts.pt', num_steps=6, stop=3)
    course, mean = learn(fresh(), data, tmp_path / 'parts.pt', num_steps=6)
    assert course.step == 6
    assert torch.equal(weights(whole), weights(mean))


@pytest.mark.parametrize('name', ['see', 'act'])
def test_losses_fall(student, data, tmp_path, name):
    course, _ = learn(student, data, tmp_path / 'run.pt', name=name, num_steps=30)
    parts = torch.tensor(course.recent)
    first, last = parts[:6].mean(dim=0), parts[-6:].mean(dim=0)
    assert last[0] < 0.9 * first[0], f'{first.tolist()} -> {last.tolist()}'
    if name == 'act':
        assert last[1] < 0.92 * first[1]     # texts: slower, only some steps have any


def test_the_rate_warms_up_and_comes_down():
    stage = Stage('act', 1000, batch_size=4, rate=1.0, seed=0)
    rates = [stage.rate_at(step) for step in range(1000)]
    assert rates[0] < 0.02 and max(rates) == 1.0 and rates[400] == 1.0
    assert rates[-1] == pytest.approx(0.02) and rates[800] == pytest.approx(0.5)


def test_a_team_takes_the_mean_whoever_comes_first(tmp_path):
    meeting_point = tmp_path / 'meeting'
    make_meeting_point(meeting_point, num_processes=3, num_weights=6)
    results = {}

    def member(rank):
        team = Team(rank, 3, meeting_point)
        weights = [torch.nn.Parameter(torch.full((2, 2), float(rank))),
                   torch.nn.Parameter(torch.tensor([10.0 * rank]))]
        for turn in range(20):
            time.sleep(0.001 * ((rank + turn) % 3))
            team.average(weights)
            for weight in weights:
                weight.data += rank - 1        # zero on average
        results[rank] = [weight.tolist() for weight in weights]

    threads = [threading.Thread(target=member, args=(rank,)) for rank in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert results[1] == [[[1.0, 1.0], [1.0, 1.0]], [10.0]]
    assert results[0] == [[[0.0, 0.0], [0.0, 0.0]], [9.0]]


def test_the_whole_way_ends_in_a_checkpoint_that_acts_and_speaks(run, data, tmp_path):
    """Two processes end with the same weights; what they learnt runs in closed loop."""
    tiny = recipe.Recipe(num_episodes=6, num_see_steps=8, num_act_steps=8, num_tell_steps=8,
                         num_corrected=1, num_correct_steps=8, see_batch=2, batch=2,
                         num_processes=2)
    folder = tmp_path / 'run'
    folder.mkdir()
    for name in ('demonstrations', 'demonstrations.pt'):
        (folder / name).symlink_to(run / name)
    reports = []
    checkpoint = recipe.train(folder, tiny, report=reports.append)
    assert (checkpoint / 'model.safetensors').is_file()
    for stage in ('act', 'correct'):
        states = [torch.load(folder / f'{stage}_{rank}.pt', weights_only=True)['student']
                  for rank in range(2)]
        assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    assert recipe.train(folder, tiny, report=reports.append) == checkpoint
    assert 'there already' in reports[-1]
    table = TableTop()
    loop = ClosedLoop(str(checkpoint), table, tasks=standing_tasks())
    table.reset(seed=FIRST_SEED, task=Task('pick', 'red'))
    episode = loop.run('pick up the red cube', max_seconds=0.4)
    loop.close()
    table.close()
    assert len(episode.actions) == 2
    assert np.isfinite(episode.actions).all()
    assert {task for task, _, _ in episode.texts} == {'subtask', 'narrate', 'memory'}
