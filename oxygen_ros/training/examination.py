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

"""Closed-loop examination: success, smoothness, words; and controls that must fail."""

from collections.abc import Callable
from collections.abc import Sequence
import math

import numpy as np

from oxygen_ros.config import StandingTask
from oxygen_ros.runtime.facts import MalformedFact
from oxygen_ros.runtime.facts import parse_fact
from oxygen_ros.sim import CUBE_COLORS
from oxygen_ros.sim import TableTop
from oxygen_ros.sim import Task
from oxygen_ros.sim.expert import DECISION_S
from oxygen_ros.sim.expert import Expert
from oxygen_ros.sim.texts import parse_location
from oxygen_ros.sim.trials import MAX_SECONDS
from oxygen_ros.sim.trials import Trial
from oxygen_ros.training.closed_loop import ClosedLoop
from oxygen_ros.training.closed_loop import Episode
from oxygen_ros.training.closed_loop import jerk
from oxygen_ros.training.closed_loop import Pictures
from oxygen_ros.training.vocabulary import PROMPTS

CLOSE_M = 0.0112             # a location this near is right: one centimetre, and rounding
CONTROLS = ('none', 'swapped_color', 'frozen_camera')

OnEpisode = Callable[[int, 'Trial', Episode], None]


def standing_tasks(num_texts: int = len(PROMPTS)) -> tuple[StandingTask, ...]:
    """Return so many texts about every look, the three of the table top in turn."""
    kinds = tuple(PROMPTS)
    tasks = []
    for number in range(num_texts):
        kind = kinds[number % len(kinds)]
        name = kind if number < len(kinds) else f'{kind}_{number // len(kinds) + 1}'
        tasks.append(StandingTask(name, PROMPTS[kind], max_tokens=40))
    return tuple(tasks)


def run_trials(loop: ClosedLoop, trials: Sequence[Trial], *, control: str = 'none',
               on_episode: OnEpisode = lambda number, trial, episode: None,
               on_look: Callable[[Pictures], None] = lambda shown: None) -> list[Episode]:
    """Run every trial; a control changes what the model is told or shown."""
    episodes = []
    for number, trial in enumerate(trials):
        table, instruction, see = loop.table, trial.instruction, _as_it_is
        if control == 'frozen_camera':
            table.reset(seed=trial.seed + len(trials), task=trial.task)
            see = _frozen(loop)
        table.reset(seed=trial.seed, task=trial.task, spots=trial.spots)
        if control == 'swapped_color':
            told = _next_color(trial.task.color)
            instruction = instruction.replace(trial.task.color, told)
            table.task = Task(trial.task.verb, told)     # success: what was said, not the other
        episodes.append(loop.run(instruction, see=see, on_look=on_look))
        on_episode(number, trial, episodes[-1])
    return episodes


def run_expert(table: TableTop, trials: Sequence[Trial]) -> list[Episode]:
    """Let the teacher do the same trials."""
    expert, episodes = Expert(table), []
    for trial in trials:
        table.reset(seed=trial.seed, task=trial.task, spots=trial.spots)
        path, num_decisions = [table.joint_positions], 0
        while not table.success() and num_decisions * DECISION_S < MAX_SECONDS:
            table.command(expert.decide().target)
            table.step(DECISION_S)
            path.append(table.joint_positions)
            num_decisions += 1
        episodes.append(Episode(table.success(), num_decisions * DECISION_S,
                                jerk(path, 1 / DECISION_S), ()))
    return episodes


def summarise(episodes: Sequence[Episode]) -> dict:
    """Return the figures of some episodes, for JSON."""
    done = [episode for episode in episodes if episode.success]
    low, high = wilson(len(done), len(episodes))
    seconds = round(float(np.mean([episode.seconds for episode in done])), 3) if done else None
    return {
        'episodes': len(episodes), 'successes': len(done),
        'success': round(len(done) / len(episodes), 4),
        'interval_95': [round(low, 4), round(high, 4)],
        'seconds_to_success': seconds,
        'jerk_rms': round(float(np.mean([e.jerk for e in episodes])), 2),
        'wrong_cube_episodes': sum(bool(e.wrong_cubes) for e in episodes),
        **({'texts': score_texts(episodes)} if any(e.texts for e in episodes) else {})}


def score_texts(episodes: Sequence[Episode]) -> dict:
    """Return for each field of the texts how much of it is right."""
    right: dict[str, list[bool]] = {
        'subtask': [], 'narration_objects': [], 'memory_facts': [], 'memory_locations': []}
    errors_m = []
    for task, text, truth in (entry for episode in episodes for entry in episode.texts):
        if task == 'subtask':
            right['subtask'].append(text == truth.subtask)
        elif task == 'narrate':
            said = text.split(', ')
            right['narration_objects'] += [place in said for place in truth.narration.split(', ')]
        elif task == 'memory':
            _score_memory(text, truth.memory, right, errors_m)
    scores = {name: {'count': len(values), 'right': round(float(np.mean(values)), 4)}
              for name, values in right.items() if values}
    if errors_m:
        scores['memory_locations']['median_error_m'] = round(float(np.median(errors_m)), 4)
    return scores


def _score_memory(text: str, truth: str, right: dict[str, list[bool]],
                  errors_m: list[float]) -> None:
    said = dict(_facts(text))
    for subject, place in _facts(truth):
        where, answer = parse_location(place), parse_location(said.get(subject, ''))
        if where is None:
            right['memory_facts'].append(said.get(subject) == place)
        else:
            error_m = math.inf if answer is None else float(np.linalg.norm(answer - where))
            errors_m.append(error_m)
            right['memory_locations'].append(error_m <= CLOSE_M)


def _facts(text: str) -> list[tuple[str, str]]:
    facts = []
    for line in text.splitlines():
        try:
            subject, _, place, _ = parse_fact(line)
        except MalformedFact:
            continue
        facts.append((subject, place))
    return facts


def wilson(successes: int, count: int, *, z: float = 1.96) -> tuple[float, float]:
    """Return the 95 % confidence interval of a rate."""
    rate = successes / count
    middle = (rate + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(rate * (1 - rate) / count
                                               + z * z / (4 * count * count))
    return max(0.0, middle - half), min(1.0, middle + half)


def _as_it_is(shown: Pictures) -> Pictures:
    return shown


def _frozen(loop: ClosedLoop) -> Callable[[Pictures], Pictures]:
    """Return eyes that go on seeing the table as it is now."""
    pictures = {slot: loop.table.render(slot) for slot in loop.session.robot.camera_slots}
    return lambda shown: pictures


def _next_color(color: str) -> str:
    colors = tuple(CUBE_COLORS)
    return colors[(colors.index(color) + 1) % len(colors)]
