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
Other ways to run the same model, to compare with: same engine, same kernels, same results.

    isolated   every task encodes the picture for itself, one after another
    parallel   the same, actions and texts in two threads
    shared     one encode per frame; its texts decode to their end before the next frame

Here texts hold up the next action, as they do in stacks without a scheduler. None of them
looks at interrupted(): nothing is left running between their frames.
"""

from concurrent.futures import ThreadPoolExecutor

import torch

from oxygen_ros.types import Observation


def isolated(engine, observation: Observation | None) -> None:
    """Act on an own encode, then write text by text, each on an own encode."""
    if observation:
        _act(engine, observation)
        _write(engine, observation)


def parallel(engine, observation: Observation | None) -> None:
    """Do what isolated does, actions and texts at the same time."""
    if observation:
        with ThreadPoolExecutor(max_workers=2) as workers:
            tasks = [workers.submit(_in_thread, work, engine, observation)
                     for work in (_act, _write)]
        for task in tasks:
            task.result()


def shared(engine, observation: Observation | None) -> None:
    """Encode once, act, then finish every text about this frame."""
    if observation:
        with engine.encoded(observation) as prefix:
            engine.share(prefix)
            engine.act(prefix, observation)
        engine.speak_to_end()


BASELINES = {'isolated': isolated, 'parallel': parallel, 'shared': shared}


def _act(engine, observation: Observation) -> None:
    with engine.encoded(observation, shared=False) as prefix:
        engine.act(prefix, observation)


def _write(engine, observation: Observation) -> None:
    for _ in engine.language.queued:
        with engine.encoded(observation, shared=False) as prefix:
            engine.share(prefix, at_most=1)
        engine.speak_to_end()


def _in_thread(work, engine, observation: Observation) -> None:
    with torch.inference_mode():   # a setting of the thread
        work(engine, observation)
