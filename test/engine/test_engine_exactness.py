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
What is computed does not depend on what else is computed.

Pins KVM-02 (denoising changes the prefix), KVM-05 (hit for another picture), KVM-09 (text
depends on the batch), and the first token read from a masked camera's row.
"""

from dataclasses import replace
import random

from engine_bench import Bench
from engine_bench import POLICIES
from engine_bench import request
from engine_bench import tiny_policy
import numpy as np
import pytest
import torch

from oxygen_ros.types import ActionChunk
from oxygen_ros.types import EndReason
from oxygen_ros.types import Sampling

FRAMES = range(1, 9)


def run(policy='oxygen', *, with_text, steps=2, prefix_mode='bidirectional', cancel=False):
    """Run eight frames, with texts of several lengths joining on some of them."""
    bench = Bench(kind=policy, prefix_mode=prefix_mode, steps=steps)
    for frame in FRAMES:
        texts = [request(f'{frame}-{index}', 'Narrate:' * index, 3 + 5 * index)
                 for index in range(frame % 4)] if with_text else []
        bench.step(frame, *texts)
        if cancel and frame % 2:
            bench.engine.cancel(f'{frame}-0')
    return bench


@pytest.mark.parametrize('prefix_mode', ['bidirectional', 'causal_text'])
def test_actions_do_not_change_by_one_bit_whatever_text_runs(prefix_mode):
    """Text added, interleaved, cancelled, more or less of it per frame: same chunks."""
    silent = run(with_text=False, prefix_mode=prefix_mode)
    assert len(set(silent.chunks.values())) == len(FRAMES)   # the control: scenes differ
    for steps, cancel in ((0, False), (1, False), (1, True), (3, True)):
        talking = run(with_text=True, steps=steps, prefix_mode=prefix_mode, cancel=cancel)
        assert len(talking.texts) >= 5
        assert talking.chunks == silent.chunks


@pytest.mark.parametrize('policy', POLICIES)
def test_actions_and_texts_are_the_same_under_every_policy(policy):
    """The baselines differ in when and how often, never in what."""
    reference, other = run(with_text=True), run(policy, with_text=True)
    reference.drain()
    assert all(other.chunks[frame] == reference.chunks[frame] for frame in FRAMES)
    assert other.texts == {name: text for name, text in reference.texts.items()
                           if name in other.texts}
    assert len(other.texts) == 12 if policy != 'oxygen' else len(other.texts) >= 5


def test_a_text_is_the_same_alone_and_in_any_batch():
    """Frames, prompts, cameras and lengths differ; batches of 1, 2, 5 and all, shuffled."""
    bench = Bench()
    slots = bench.robot.camera_slots
    cases = []
    for index, words in enumerate((1, 5, 20, 45, 60, 9)):
        scene = {'instruction': ' '.join(['pick up the cube'] * words),
                 'cameras': slots[:1 + index % len(slots)]}
        asked = request(f'text-{index}', ('', 'Answer:', '\nNarrate: the red cup ')[index % 3],
                        3 + 4 * index)
        cases.append((index + 1, asked, scene))
    alone = {asked.request_id: bench.alone(asked, seed, **scene) for seed, asked, scene in cases}
    assert len(set(alone.values())) == len(cases)
    for max_batch in (1, 2, 5, 32):
        random.Random(max_batch).shuffle(cases)
        mixed = Bench(steps=1 if max_batch > 2 else 4, max_batch=max_batch)
        for frame, asked, scene in cases:
            mixed.step(frame, asked, **scene)
        mixed.drain()
        assert mixed.texts == alone


def test_sampled_text_depends_on_its_own_seed_only():
    """Temperature and seed belong to the request."""
    def asked(name, seed):
        return request(name, max_tokens=12, sampling=Sampling(1.0, 0.9, seed))

    bench = Bench()
    bench.step(1, asked('a', 1), asked('b', 2), asked('c', 1), request('d'))
    assert bench.texts['a'] == bench.texts['c'] == bench.alone(asked('a', 1), 1)
    assert bench.texts['a'] != bench.texts['b']


@pytest.mark.parametrize('prefix_mode', ['bidirectional', 'causal_text'])
def test_the_first_token_comes_from_the_true_last_row(prefix_mode):
    """With a camera absent, logits equal those of a full pass without any shared state."""
    bench = Bench(policy=tiny_policy(prefix_mode))
    slots = bench.robot.camera_slots
    policy = bench.engine.policy
    for seed, cameras in enumerate((slots, slots[:1], slots[-1:], ()), start=1):
        scene = bench.scene(seed, cameras=cameras)
        bench.step(seed, request(f'r{seed}', '', 1), cameras=cameras)
        inputs = policy.prepare(scene, bench.robot)
        with torch.inference_mode():
            hidden = policy.model.embed_prefix(inputs.images, list(inputs.token_ids))
            kv = Bench(policy=policy).engine.kv
            segment = policy.model.prefix_segment(
                inputs.num_rows, num_image_rows=inputs.num_image_rows, write=0)
            rows = policy.model.backbone.forward(hidden, (segment,), kv.pool)
            logits = policy.model.backbone.logits(rows[inputs.num_rows - 1:inputs.num_rows])[0]
            logits[list(policy.suppressed_ids)] = -torch.inf
            token = int(logits.argmax())
        expected = '' if token in policy.end_ids else policy.tokenizer.decode([token])
        assert bench.texts[f'r{seed}'][0] == expected


def test_an_empty_prompt_is_the_prefix_alone():
    """A suffix split off the prompt changes nothing: the causal continuation is the same."""
    bench = Bench(policy=tiny_policy('causal_text'))
    long, short = request('long', '', 12), request('short', '', 5)
    bench.step(1, long, short)
    assert bench.texts['long'][0].startswith(bench.texts['short'][0])


def test_denoising_reads_the_prefix_and_never_writes_it():
    """Prefix rows are the same before and after; the same observation gives the same chunk."""
    bench = Bench()
    observation = bench.scene(1)
    with torch.inference_mode(), bench.engine.encoded(observation) as prefix:
        begin, end = prefix.rows
        before = bench.engine.kv.pool.keys[:, :, begin:end].clone()
        for _ in range(3):
            bench.engine.act(prefix, observation)
            assert torch.equal(bench.engine.kv.pool.keys[:, :, begin:end], before)
            assert prefix.rows == (begin, end)
    assert len({chunk.actions.tobytes() for chunk in bench.of(ActionChunk)}) == 1


def changed(observation, **fields):
    """Return an observation with other fields."""
    return replace(observation, **fields)


def test_another_picture_or_state_is_never_taken_for_a_known_one():
    """A, B, A with B differing in one patch; cameras exchanged; joints moved; same frame id."""
    bench = Bench()
    first = bench.scene(1, frame_id=7)
    patched = {slot: image.copy() for slot, image in first.images.items()}
    slot = bench.robot.camera_slots[0]
    patched[slot][8:24, 8:24] ^= 255
    other_slot = bench.robot.camera_slots[-1]
    swapped = dict(first.images)
    swapped[slot], swapped[other_slot] = swapped[other_slot], swapped[slot]
    variants = [first, changed(first, images=patched), first, changed(first, images=swapped),
                changed(first, state=first.state + np.float32(0.3)),
                changed(first, instruction='wipe the table'), first]
    results = []
    for index, observation in enumerate(variants):
        bench.engine.submit(request(f'hold-{index}', max_tokens=200))   # keeps prefixes alive
        bench.engine.step(observation, interrupted=lambda: True)
        results.append(bench.of(ActionChunk)[-1].actions)
    encodes = bench.reports[-1].encodes
    assert encodes == 5   # the same observation again is found: its texts still read it
    for index in (2, 6):
        assert np.array_equal(results[index], results[0])
    for index in (1, 3, 4, 5):
        assert np.abs(results[index] - results[0]).max() > 1e-3


def test_many_frames_in_reused_memory_equal_a_fresh_run():
    """Rows freed and used again by other frames and texts leave nothing behind."""
    bench = Bench(steps=3, num_texts=3)
    rng = random.Random(0)
    for frame in range(1, 49):
        cameras = bench.robot.camera_slots[:rng.randint(1, 2)]
        bench.step(frame, request(f'r{frame}', max_tokens=rng.randint(1, 9)), cameras=cameras)
        if frame % 6 == 0:
            fresh = Bench()
            fresh.step(frame, cameras=cameras)
            assert fresh.chunks[frame] == bench.chunks[frame]
    bench.drain()
    assert all(reason in (EndReason.LENGTH, EndReason.EOS) for _, reason in bench.texts.values())


def test_static_shapes_give_the_same_actions_and_texts():
    """The path for GPUs, run on this CPU: fixed sizes, masks, idle rows."""
    plain, static = Bench(steps=2, num_texts=8), Bench(steps=2, num_texts=8)
    static.engine.language.use_static_shapes()
    for bench in (plain, static):
        for frame in FRAMES:
            bench.step(frame, *(request(f'{frame}-{index}', 'Narrate:' * 5 * index, 3 + 5 * index)
                                for index in range(frame % 4)))
        bench.drain()
        bench.engine.idle_check()
    assert static.texts == plain.texts
    assert [static.chunks[frame] for frame in FRAMES] == [plain.chunks[frame] for frame in FRAMES]
