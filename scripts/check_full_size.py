#!/usr/bin/env python3
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
Builds pi0.5 in full size with random weights, saves it in both layouts, and runs each once.

    .venv/bin/python scripts/check_full_size.py /path/with/16/GB --dtype bfloat16

For each layout: seconds and peak memory of loading, then one chunk of actions and ten tokens.
Every layout is loaded in a process of its own, so that its peak is its own. Needs 7 GB of disk
(one layout is deleted before the next is written) and 9 GB of memory in bfloat16. `--model tiny`
tries the script itself in seconds.
"""

import argparse
import json
from pathlib import Path
import resource
import shutil
import subprocess
import sys
import time

import numpy as np
import torch

import oxygen_ros
from oxygen_ros.checkpoint.builtin import TOKENIZER_FILE
from oxygen_ros.checkpoint.save import LAYOUTS
from oxygen_ros.checkpoint.save import save
from oxygen_ros.models.architecture import full
from oxygen_ros.models.architecture import tiny
from oxygen_ros.models.pi05 import Pi05

CAMERAS = ('front', 'wrist')
STATISTICS = {part: {'q01': np.full(6, -1.0), 'q99': np.full(6, 1.0)}
              for part in ('state', 'actions')}
SIZES = {'full': full, 'tiny': tiny}


def build(size: str, layout: str, directory: Path) -> None:
    """Write a checkpoint with random weights."""
    model = Pi05.empty(SIZES[size](), dtype=torch.bfloat16)
    torch.manual_seed(0)
    for weight in model.parameters():
        weight.normal_(std=0.02)
    save(model, directory, layout=layout, statistics=STATISTICS, tokenizer=TOKENIZER_FILE,
         cameras=CAMERAS, dtype=torch.bfloat16)


def run(directory: Path, dtype: str) -> dict:
    """Load a checkpoint, act and speak once; return the figures."""
    before_kb, start_s = peak_kb(), time.monotonic()
    policy = oxygen_ros.load_policy(str(directory), dtype=dtype)
    load_s, loaded_kb = time.monotonic() - start_s, peak_kb()
    pictures = {slot: np.full((480, 640, 3), 90, np.uint8) for slot in CAMERAS}
    start_s = time.monotonic()
    acted = policy.act(pictures, np.zeros(6), 'pick up the cube')
    act_s, start_s = time.monotonic() - start_s, time.monotonic()
    spoken = policy.speak(pictures, None, 'Task: pick up the cube. Subtask: ', 10)
    return {
        'file_gb': (directory / 'model.safetensors').stat().st_size / 1e9,
        'load_s': load_s, 'load_peak_gb': (loaded_kb - before_kb) * 1024 / 1e9,
        'act_s': act_s, 'speak_s': time.monotonic() - start_s,
        'peak_gb': peak_kb() * 1024 / 1e9, 'actions': list(acted.actions.shape),
        'finite': bool(np.isfinite(acted.actions).all()), 'tokens': len(spoken.token_ids)}


def peak_kb() -> int:
    """Return the most memory this process has had resident."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> int:
    """Run the whole check, or one step of it in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('folder', type=Path, help='where there is room')
    parser.add_argument('--dtype', default='bfloat16')
    parser.add_argument('--model', choices=SIZES, default='full')
    parser.add_argument('--step', choices=('build', 'run'), help=argparse.SUPPRESS)
    parser.add_argument('--layout', choices=LAYOUTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step == 'build':
        build(options.model, options.layout, options.folder)
        return 0
    if options.step == 'run':
        print(json.dumps(run(options.folder, options.dtype)))
        return 0
    for layout in LAYOUTS:
        directory = options.folder / f'full_size_{layout}'
        try:
            for step in ('build', 'run'):
                command = [sys.executable, __file__, str(directory), '--step', step, '--layout',
                           layout, '--dtype', options.dtype, '--model', options.model]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            print(layout, json.dumps({name: round(value, 2) if isinstance(value, float) else value
                                      for name, value in json.loads(done.stdout).items()}))
        finally:
            shutil.rmtree(directory, ignore_errors=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
