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
"""Same weights, same pictures: the text of OxyGen and of transformers' PaliGemma."""

import numpy as np
import pytest
import torch


@pytest.mark.parametrize('case', ('three_cameras_prompt0', 'three_cameras_prompt1'))
def test_oxygen_text(case, cases, golden, runner, pictures):
    data = golden('oxygen_causal_case')
    run = runner('causal_text')
    hidden = run.encode(pictures([data[f'image_224/{slot}'] for slot in cases['oxygen'][case]]),
                        data[f'{case}/token_ids'])
    tokens, logits = run.greedy(hidden, 12)
    np.testing.assert_allclose(logits[0], data[f'{case}/first_logits'], atol=5e-5)
    log_probs = torch.from_numpy(logits).log_softmax(-1)
    np.testing.assert_allclose(log_probs, data[f'{case}/log_probs'], atol=5e-5)
    assert tokens == data[f'{case}/greedy_tokens'].tolist()


@pytest.mark.parametrize('case', (
    'two_cameras_prompt0', 'three_cameras_prompt1', 'one_camera_prompt1'))
def test_paligemma_text(case, cases, golden, runner, pictures):
    data, seen = golden('language_bidirectional_case'), golden('oxygen_causal_case')
    run = runner('bidirectional')
    hidden = run.encode(pictures([seen[f'image_224/{slot}']
                                  for slot in cases['paligemma'][case]]),
                        data[f'{case}/token_ids'])
    tokens, logits = run.greedy(hidden, 12)
    np.testing.assert_allclose(logits[0], data[f'{case}/first_logits'], atol=1e-4)
    np.testing.assert_allclose(logits, data[f'{case}/logits'], atol=1e-3)
    assert tokens == data[f'{case}/greedy_tokens'].tolist()


def test_image_rows_are_blind_to_the_text_only_under_causal_text(cases, golden, runner, pictures):
    data = golden('oxygen_causal_case')
    images = pictures([data['image_224/base_0_rgb']])
    moved = {}
    for mode in ('bidirectional', 'causal_text'):
        keys = []
        for case in ('three_cameras_prompt0', 'three_cameras_prompt1'):
            run = runner(mode)
            run.encode(images, data[f'{case}/token_ids'][:10])
            keys.append(run.pool.keys[:, :, :256])
        moved[mode] = float((keys[0] - keys[1]).abs().max())
    assert moved['causal_text'] == 0
    assert moved['bidirectional'] > 0.1
