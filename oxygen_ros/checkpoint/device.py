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
"""Where a model goes: whether that device is there, has the precision, and has the memory."""

import math
from pathlib import Path

import torch

from oxygen_ros.config import ConfigError
from oxygen_ros.config import EngineConfig
from oxygen_ros.models.architecture import Architecture
from oxygen_ros.models.pi05 import Pi05

WORKSPACE_BYTES = 500_000_000   # pictures, activations and libraries while a model runs
_CGROUP = Path('/sys/fs/cgroup')
_DTYPES = {'float32': torch.float32, 'bfloat16': torch.bfloat16, 'float16': torch.float16,
           'int8': torch.float32}   # int8 is made from float32 after loading


def torch_dtype(config: EngineConfig) -> torch.dtype:
    """Return the precision of the weights; ConfigError where the device lacks it."""
    device = torch.device(config.device)
    if device.type == 'cuda' and not torch.cuda.is_available():
        raise ConfigError(f"device is {config.device!r}, and this torch sees no GPU; set device "
                          "to 'cpu', or install a torch with CUDA")
    if config.weights == 'bfloat16' and device.type == 'cuda' and (
            not torch.cuda.is_bf16_supported()):
        raise ConfigError(f'weights is bfloat16, which {torch.cuda.get_device_name(device)} '
                          "cannot compute; choose 'float16'")
    return _DTYPES[config.weights]


def weight_bytes(architecture: Architecture, weights: str) -> int:
    """Return the memory a model's weights take in one precision, while it loads."""
    model = Pi05.empty(architecture, dtype=_DTYPES[weights], device='meta')
    return sum(weight.numel() * weight.element_size() for weight in model.parameters())


def require_memory(architecture: Architecture, config: EngineConfig, *, name: str) -> None:
    """Raise ConfigError, saying what it needs, if a model will not fit on its device."""
    needed = WORKSPACE_BYTES + weight_bytes(architecture, config.weights)
    free = free_bytes(torch.device(config.device))
    if needed > free:
        raise ConfigError(f'{name} needs {needed / 1e9:.1f} GB of memory on {config.device} and '
                          f'{free / 1e9:.1f} GB are free; end other programs, choose weights of '
                          'lower precision, or another device')


def free_bytes(device: torch.device) -> float:
    """Return how much memory may still be used there, inf where nobody says."""
    if device.type == 'cuda':
        return torch.cuda.mem_get_info(device)[0]
    return min(_free_of_machine(), _free_of_group())


def _free_of_machine() -> float:
    try:
        for line in Path('/proc/meminfo').read_text(encoding='ascii').splitlines():
            if line.startswith('MemAvailable:'):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return math.inf


def _free_of_group() -> float:
    """Return what the limit of this process's container leaves, file cache not counted."""
    try:
        limit = (_CGROUP / 'memory.max').read_text(encoding='ascii').strip()
        used = int((_CGROUP / 'memory.current').read_text(encoding='ascii'))
        statistics = dict(line.split() for line in
                          (_CGROUP / 'memory.stat').read_text(encoding='ascii').splitlines())
        return math.inf if limit == 'max' else int(limit) - used + int(statistics['file'])
    except (OSError, ValueError, KeyError):
        return math.inf
