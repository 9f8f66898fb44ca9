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

"""Sizes of a pi0.5 model: frozen, checked, and three presets from milliseconds to 3.35 B."""

from dataclasses import asdict
from dataclasses import dataclass
import json
from pathlib import Path

from oxygen_ros.config import ConfigError

PREFIX_MODES = ('bidirectional', 'causal_text')


@dataclass(frozen=True)
class VisionArchitecture:
    """A SigLIP encoder without pooling head; one picture becomes num_tokens rows."""

    width: int
    depth: int
    num_heads: int
    mlp_dim: int
    image_size: int = 224
    patch_size: int = 14
    layer_norm_eps: float = 1e-6

    @property
    def num_tokens(self) -> int:
        """Rows per picture."""
        return (self.image_size // self.patch_size) ** 2


@dataclass(frozen=True)
class TextArchitecture:
    """A Gemma decoder; the same fields describe the action expert's decoder."""

    width: int
    depth: int
    mlp_dim: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    vocab_size: int = 0
    rope_theta: float = 10000.0
    rms_norm_eps: float = 1e-6

    def __post_init__(self):
        """Check what the attention relies on."""
        if self.num_heads % self.num_kv_heads:
            raise ConfigError(f'{self.num_heads} heads cannot share {self.num_kv_heads} KV heads; '
                              'give a multiple')
        if self.head_dim % 2:
            raise ConfigError(f'head_dim is {self.head_dim}; rotary positions need an even one')


class ExpertArchitecture(TextArchitecture):
    """The action expert: a decoder without vocabulary, modulated by the denoising time."""


@dataclass(frozen=True)
class Architecture:
    """A whole model. Expert and text agree in depth and KV shape: they share the KV pool."""

    vision: VisionArchitecture
    text: TextArchitecture
    expert: ExpertArchitecture
    action_dim: int = 32
    horizon: int = 10
    prefix_mode: str = 'bidirectional'   # who sees whom inside the prefix: one of PREFIX_MODES
    min_period: float = 4e-3             # of the time embedding
    max_period: float = 4.0

    def __post_init__(self):
        """Check that the parts fit together."""
        if self.prefix_mode not in PREFIX_MODES:
            raise ConfigError(f'prefix_mode is {self.prefix_mode!r}; choose one of: '
                              f'{", ".join(PREFIX_MODES)}')
        for key in ('depth', 'num_kv_heads', 'head_dim', 'rope_theta'):
            text, expert = getattr(self.text, key), getattr(self.expert, key)
            if text != expert:
                raise ConfigError(f'{key} is {text} in text and {expert} in expert; the expert '
                                  'reads the KV of the text layer by layer, so they must agree')


def tiny(*, image_size: int = 56) -> Architecture:
    """Return the test size: 16 rows per camera, a few milliseconds per frame on a CPU."""
    return Architecture(
        vision=VisionArchitecture(48, 2, 4, 96, image_size=image_size),
        text=TextArchitecture(64, 2, 128, 8, 1, 16, vocab_size=1024),
        expert=ExpertArchitecture(32, 2, 64, 8, 1, 16))


def mid() -> Architecture:
    """Return the benchmark size: 72 M parameters, 256 rows per camera."""
    return Architecture(
        vision=VisionArchitecture(384, 6, 6, 1536),
        text=TextArchitecture(512, 6, 4096, 8, 1, 64, vocab_size=20480),
        expert=ExpertArchitecture(256, 6, 1024, 8, 1, 64))


def full(*, horizon: int = 50, action_dim: int = 32,
         prefix_mode: str = 'bidirectional') -> Architecture:
    """Return the size of the public pi0.5 checkpoints: 3.35 B parameters."""
    return Architecture(
        vision=VisionArchitecture(1152, 27, 16, 4304),
        text=TextArchitecture(2048, 18, 16384, 8, 1, 256, vocab_size=257152),
        expert=ExpertArchitecture(1024, 18, 4096, 8, 1, 256),
        horizon=horizon, action_dim=action_dim, prefix_mode=prefix_mode)


def from_json(path: Path) -> Architecture:
    """Read the sizes of a model that is not one of the public ones, as `to_json` writes them."""
    data = json.loads(path.read_text(encoding='utf-8'))
    try:
        vision, decoders = data['vision'], []
        for kind, part in ((TextArchitecture, data['text']),
                           (ExpertArchitecture, data['action_expert'])):
            decoders.append(kind(
                part['width'], part['depth'], part['mlp_dim'], part['num_heads'],
                part['num_kv_heads'], part['head_dim'], vocab_size=part.get('vocab_size', 0),
                rope_theta=part['rope_theta'], rms_norm_eps=part['rms_norm_eps']))
        return Architecture(
            vision=VisionArchitecture(
                vision['hidden_size'], vision['num_hidden_layers'], vision['num_attention_heads'],
                vision['intermediate_size'], image_size=vision['image_size'],
                patch_size=vision['patch_size'], layer_norm_eps=vision['layer_norm_eps']),
            text=decoders[0], expert=decoders[1], action_dim=data['action_dim'],
            horizon=data['action_horizon'],
            prefix_mode=data.get('prefix_mode', PREFIX_MODES[0]),
            min_period=data['min_period'], max_period=data['max_period'])
    except KeyError as error:
        raise ConfigError(f'{path} lacks {error}; it must describe every size') from error


def to_json(architecture: Architecture) -> str:
    """Return the sizes as `from_json` reads them."""
    vision = architecture.vision
    parts = {}
    for name, part in (('text', architecture.text), ('action_expert', architecture.expert)):
        parts[name] = {key: value for key, value in asdict(part).items()
                       if key != 'vocab_size' or value}
    return json.dumps({
        'vision': {
            'hidden_size': vision.width, 'num_hidden_layers': vision.depth,
            'num_attention_heads': vision.num_heads, 'intermediate_size': vision.mlp_dim,
            'patch_size': vision.patch_size, 'image_size': vision.image_size,
            'layer_norm_eps': vision.layer_norm_eps},
        **parts,
        'action_dim': architecture.action_dim, 'action_horizon': architecture.horizon,
        'prefix_mode': architecture.prefix_mode,
        'min_period': architecture.min_period, 'max_period': architecture.max_period},
        indent=2) + '\n'
