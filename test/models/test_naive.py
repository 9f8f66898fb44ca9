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
"""Actions equal the maths written down naively; text equals a live PaliGemma of transformers."""

import json
from pathlib import Path

from naive_pi05 import naive_actions
import numpy as np
import pytest
from safetensors.torch import load_file
import torch

DATA = Path(__file__).parent / 'data'


@pytest.fixture(scope='module')
def weights():
    """Return the golden weights by openpi's names."""
    return load_file(str(DATA / 'model.safetensors'))


@pytest.fixture(scope='module')
def sizes():
    """Return the sizes of the golden model."""
    return json.loads((DATA / 'tiny_architecture.json').read_text(encoding='utf-8'))


@pytest.fixture(scope='module')
def paligemma(weights, sizes):
    """Return a PaliGemma of transformers with the golden weights."""
    from transformers import GemmaConfig
    from transformers import PaliGemmaConfig
    from transformers import PaliGemmaForConditionalGeneration
    from transformers import SiglipVisionConfig

    vision, text = sizes['vision'], sizes['text']
    config = PaliGemmaConfig(
        vision_config=SiglipVisionConfig(
            hidden_size=vision['hidden_size'], num_hidden_layers=vision['num_hidden_layers'],
            num_attention_heads=vision['num_attention_heads'],
            intermediate_size=vision['intermediate_size'], image_size=vision['image_size'],
            patch_size=vision['patch_size'], layer_norm_eps=vision['layer_norm_eps'],
            hidden_act='gelu_pytorch_tanh', projection_dim=text['width'],
            vision_use_head=False).to_dict(),
        text_config=GemmaConfig(
            hidden_size=text['width'], num_hidden_layers=text['depth'],
            intermediate_size=text['mlp_dim'], num_attention_heads=text['num_heads'],
            num_key_value_heads=text['num_kv_heads'], head_dim=text['head_dim'],
            vocab_size=text['vocab_size'], rms_norm_eps=text['rms_norm_eps'],
            hidden_activation='gelu_pytorch_tanh', max_position_embeddings=4096).to_dict(),
        image_token_index=text['vocab_size'] - 1, projection_dim=text['width'],
        hidden_size=text['width'])
    model = PaliGemmaForConditionalGeneration(config).eval()
    prefix = 'paligemma_with_expert.paligemma.'
    ours = {name.removeprefix(prefix): tensor for name, tensor in weights.items()
            if name.startswith(prefix)}
    ours['model.language_model.embed_tokens.weight'] = ours['lm_head.weight']
    plain = {name.replace('vision_tower.vision_model.', 'vision_tower.'): name for name in ours}
    state = {}
    for name in model.state_dict():
        wanted = name.replace('vision_tower.vision_model.', 'vision_tower.')
        state[name] = ours[plain[wanted]]
    model.load_state_dict(state)
    return model


@pytest.mark.parametrize('mode', ('bidirectional', 'causal_text'))
@pytest.mark.parametrize('num_cameras, num_tokens, num_steps',
                         ((2, 17, 10), (1, 40, 3), (0, 9, 10)))
def test_actions_equal_the_naive_ones(mode, num_cameras, num_tokens, num_steps, weights, sizes,
                                      runner):
    generator = torch.Generator().manual_seed(num_tokens)
    images = torch.rand(num_cameras, 3, 4, 4, generator=generator).mul(2).sub(1)
    images = images.repeat_interleave(56, 2).repeat_interleave(56, 3)
    token_ids = torch.randint(4, 1000, (num_tokens,), generator=generator).tolist()
    noise = torch.randn(10, 32, generator=generator)
    run = runner(mode)
    run.encode(images, token_ids)
    actions = run.act(noise, num_steps=num_steps)
    expected = naive_actions(weights, sizes, images, token_ids, noise, num_steps=num_steps,
                             causal_text=mode == 'causal_text')
    np.testing.assert_allclose(actions, expected, atol=1e-4)
    other = naive_actions(weights, sizes, images, token_ids, noise, num_steps=num_steps,
                          causal_text=mode != 'causal_text')
    assert np.abs(actions - other.numpy()).max() > 1e-3, 'the modes must differ to be told apart'


@pytest.mark.parametrize('num_cameras', (1, 2))
def test_text_equals_a_live_paligemma(num_cameras, paligemma, runner, golden):
    seen = golden('oxygen_causal_case')
    slots = ('base_0_rgb', 'left_wrist_0_rgb')[:num_cameras]
    images = torch.stack([torch.from_numpy(seen[f'image_224/{slot}']).permute(2, 0, 1)
                          for slot in slots]).float() / 127.5 - 1
    prompt = [2, 309, 507, 424, 451, 469]
    run = runner('bidirectional')
    tokens, logits = run.greedy(run.encode(images, prompt), 12)
    mark = paligemma.config.image_token_id
    ids = torch.tensor([[mark] * (256 * num_cameras) + prompt])
    generated = []
    with torch.inference_mode():
        for step in range(12):
            whole = torch.cat((ids, torch.tensor([generated], dtype=torch.long)), 1)
            kinds = torch.zeros_like(whole)
            kinds[:, ids.shape[1]:] = 1        # what was generated is seen causally
            expected = paligemma(input_ids=whole, pixel_values=images,
                                 attention_mask=torch.ones_like(whole),
                                 token_type_ids=kinds).logits[0, -1]
            np.testing.assert_allclose(logits[step], expected, atol=1e-4)
            generated.append(int(expected.argmax()))
    assert generated == tokens
