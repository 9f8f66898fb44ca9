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
"""What LeRobot 0.6.1 makes of an observation and of model actions, bit for bit where it can be."""

import logging

import numpy as np
import pytest

from oxygen_ros.checkpoint.directory import describe
from oxygen_ros.checkpoint.images import prepare_images
from oxygen_ros.checkpoint.prompt import state_bins
from oxygen_ros.checkpoint.trained import open_prompt

CASES = ('q_all_cameras', 'q_missing_middle_camera', 'q_long_prompt', 'q_over_limit_prompt',
         'ms_two_cameras_one_empty', 'ms_one_camera', 'ms_long_prompt')


@pytest.fixture(params=CASES)
def golden(request, shared_checkpoints, lerobot_cases, arrays):
    """Return (description, case, its arrays by short name)."""
    case = lerobot_cases[request.param]
    data = arrays('lerobot_pi05_case')
    own = {name.removeprefix(f'{case["id"]}/'): data[name] for name in data.files
           if name.startswith(f'{case["id"]}/')}
    return describe(shared_checkpoints / case['checkpoint']), case, own


def test_state_and_bins(golden):
    description, case, own = golden
    normalised = description.normalisation.state.normalise(own['state'])
    np.testing.assert_array_equal(normalised, own['state_normalised'])
    assert state_bins(normalised) == case['bins']


def test_final_actions(golden):
    description, _, own = golden
    actions = description.normalisation.actions.restore(own['model_actions'][:, :7])
    np.testing.assert_array_equal(actions, own['final_actions'])
    again = description.normalisation.actions.normalise(own['final_actions'])
    np.testing.assert_allclose(again, own['model_actions'][:, :7], atol=1e-4)


def test_prompt_and_tokens(golden, caplog):
    description, case, own = golden
    prompt = open_prompt(description, '')
    expected = own['token_ids'][own['token_mask']].tolist()
    with caplog.at_level(logging.WARNING):
        text, ids = prompt.build(case['task'], case['bins'])
    if case['num_tokens_without_limit'] <= 200:
        assert (text, ids) == (case['prompt'], expected)
        assert not caplog.records
        return
    # LeRobot cuts the cue off; here the task loses words and the rest stays whole.
    whole = [prompt.tokenizer.bos_id] + prompt.tokenizer.encode(case['prompt'])
    assert whole[:200] == expected and len(whole) == case['num_tokens_without_limit']
    end = case['prompt'][case['prompt'].index(', State'):]
    assert len(ids) <= 200 and text.endswith(end)
    assert case['prompt'].startswith(text.removesuffix(end))
    assert '8 tokens too many' in caplog.text


def test_pictures(golden, arrays):
    description, case, own = golden
    # Cameras that are not there come last in LeRobot, masked; here they are left out.
    assert [slot for slot in description.cameras if slot in case['pictures']] == list(
        case['pictures'])
    for index, raw in enumerate(case['pictures'].values()):
        picture = arrays('lerobot_pi05_case')[f'image/{raw}']
        prepared = prepare_images([picture], 224, antialias=description.antialias)[0]
        np.testing.assert_allclose(prepared[:, ::8, ::8], own[f'image_prep_every8/{index}'],
                                   atol=1e-6)


def test_family(golden):
    description = golden[0]
    assert not description.problems
    assert description.with_state and not description.antialias
    assert description.architecture.prefix_mode == 'bidirectional'
    assert (description.architecture.horizon, description.max_tokens) == (10, 200)
