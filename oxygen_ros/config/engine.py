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

"""Configuration of the engine process."""

from dataclasses import dataclass
from dataclasses import field

from oxygen_ros.config.errors import ConfigError
from oxygen_ros.config.errors import require_choice
from oxygen_ros.config.errors import require_range

WEIGHTS = ('float32', 'bfloat16', 'float16', 'int8')
POLICIES = ('oxygen', 'shared', 'isolated', 'parallel')


@dataclass(frozen=True)
class SchedulerConfig:
    """When decode steps may run."""

    replan_hz: float = 10.0            # chunks per second wanted; observations beyond it wait
    cost_quantile: float = 0.95        # predicted cost of a stage = this quantile of recent ones
    margin_s: float = 0.001            # kept free before the next action work
    max_batch: int = 16                # texts in one decode step
    # 0: as many decode steps as fit in time. k: exactly k after every frame, frames as fast as
    # they come; for benchmarks that compare policies at equal work, without any deadline.
    steps_per_frame: int = 0

    def __post_init__(self):
        """Check every field."""
        require_range('replan_hz', self.replan_hz, 0.1, 500, 'Hz')
        require_range('cost_quantile', self.cost_quantile, 0.5, 0.999)
        require_range('margin_s', self.margin_s, 0, 1, 's')
        require_range('max_batch', self.max_batch, 1, 256, 'texts')
        require_range('steps_per_frame', self.steps_per_frame, 0, 10_000, 'steps')


@dataclass(frozen=True)
class EngineConfig:
    """What the engine process loads and how much it may use."""

    checkpoint: str = 'builtin:tiny'   # 'builtin:<size>', a directory or a hub id
    asset_id: str = ''                 # whose statistics, where an openpi checkpoint has several
    tokenizer: str = ''                # file, folder or hub id; '' = as the checkpoint says
    policy: str = 'oxygen'
    seed: int = 0                      # flow-matching noise and builtin weights
    num_denoise_steps: int = 10
    num_threads: int = 1               # torch threads
    pool_tokens: int = 0               # KV pool; 0 = fits num_texts texts about num_texts frames
    num_texts: int = 16                # texts that may run at once
    max_text_tokens: int = 64          # longest text, prompt suffix not counted
    piggyback: bool = False            # running texts get a token inside the next frame's encode
    draft_tokens: int = 0              # guessed per step from the last text of the task; 0 = off
    device: str = 'cpu'
    weights: str = 'float32'           # precision, doc/explanation/precision.md
    scheduler: SchedulerConfig = field(default_factory=SchedulerConfig)

    def __post_init__(self):
        """Check every field."""
        require_choice('policy', self.policy, POLICIES)
        require_range('num_denoise_steps', self.num_denoise_steps, 1, 100)
        require_range('num_threads', self.num_threads, 1, 1024)
        require_range('num_texts', self.num_texts, 1, 256)
        require_range('max_text_tokens', self.max_text_tokens, 1, 4096, 'tokens')
        require_range('pool_tokens', self.pool_tokens, 0, 1 << 24, 'tokens')
        require_range('draft_tokens', self.draft_tokens, 0, 64, 'tokens')
        require_choice('piggyback', self.piggyback, (False, True))
        require_choice('weights', self.weights, WEIGHTS)
        if self.weights == 'int8' and self.device != 'cpu':
            raise ConfigError(f"weights is 'int8' and device is {self.device!r}; int8 is for the "
                              "CPU: choose weights 'float32' or device 'cpu'")
        if self.weights == 'float16' and self.device == 'cpu':
            raise ConfigError("weights is 'float16' and device is 'cpu'; float16 is for a GPU: "
                              "choose weights 'float32' or device 'cuda'")
        if not self.checkpoint:
            raise ConfigError("checkpoint is empty; give a directory or 'builtin:tiny'")
