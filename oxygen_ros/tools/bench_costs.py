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

"""`oxygen bench costs`: what the stages of the engine take here, for simulations elsewhere."""

import argparse
from collections.abc import Sequence
import json
from pathlib import Path
import sys
import time

import numpy as np

from oxygen_ros.config import ConfigError
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import load_robot
from oxygen_ros.config import RobotProfile
from oxygen_ros.config import SchedulerConfig
from oxygen_ros.config.engine import WEIGHTS
from oxygen_ros.evaluation.costs import FORMAT
from oxygen_ros.runtime.inline import load_engine
from oxygen_ros.runtime.protocol import Start
from oxygen_ros.tools.bench_machine import processor_name
from oxygen_ros.types import LanguageRequest
from oxygen_ros.types import Observation

EXIT_FAILED, EXIT_USAGE = 1, 2
BATCHES = (1, 2, 4, 8, 16)     # texts that decode together
NUM_TOKENS = 8                 # per text
PICTURE = (224, 224)
EPILOG = """
Run it on the machine in question, with the model and the robot in question; then anywhere:

  oxygen eval my_bag --robot my_robot.yaml --timing simulated --costs FILE

example: oxygen bench costs orin.json --robot so101 --checkpoint /path/to/checkpoint --device cuda
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and write; return the exit code."""
    options = _parser().parse_args(argv)
    try:
        robot = load_robot(options.robot)
        config = EngineConfig(checkpoint=options.checkpoint, device=options.device,
                              num_threads=options.threads, num_denoise_steps=options.denoise_steps,
                              weights=options.weights, num_texts=max(BATCHES),
                              scheduler=SchedulerConfig(steps_per_frame=NUM_TOKENS + 1))
        costs = measure(robot, config, num_frames=options.frames)
    except ConfigError as error:
        print(f'oxygen bench costs: {error}', file=sys.stderr)
        return EXIT_USAGE
    machine = processor_name() if options.device == 'cpu' else options.device
    document = {'format': FORMAT, 'machine': options.name or machine,
                'checkpoint': options.checkpoint, 'robot': robot.name,
                'denoise_steps': options.denoise_steps, 'weights': options.weights,
                'stages': costs}
    try:
        Path(options.file).write_text(json.dumps(document, indent=1) + '\n', encoding='utf-8')
    except OSError as error:
        print(f'oxygen bench costs: {options.file} cannot be written: {error.strerror}',
              file=sys.stderr)
        return EXIT_FAILED
    for stage, sizes in costs.items():
        print(f'{stage}: ' + ', '.join(f'{rows} rows {1e3 * np.median(values):.2f} ms'
                                       for rows, values in sizes.items()))
    return 0


def measure(robot: RobotProfile, config: EngineConfig, *,
            num_frames: int) -> dict[str, dict[str, list[float]]]:
    """Return the newest durations of each stage by rows, from frames with 1 to 16 texts each."""
    engine, _ = load_engine(Start(robot, config, (), 0), lambda event: None, lambda text: None)
    rng = np.random.default_rng(0)
    for index in range(num_frames):
        for number in range(BATCHES[index % len(BATCHES)]):
            engine.submit(LanguageRequest(f'{index}-{number}', 'costs', ' Subtask:',
                                          max_tokens=NUM_TOKENS))
        engine.step(Observation(
            index + 1, time.monotonic_ns(),
            {slot: rng.integers(0, 256, (*PICTURE, 3), np.uint8) for slot in robot.camera_slots},
            np.zeros(len(robot.joints), np.float32), robot.instruction))
    engine.close()
    return {stage: dict(sorted(sizes.items(), key=lambda size: int(size[0])))
            for stage, sizes in engine.costs.to_dict().items()}


def _parser() -> argparse.ArgumentParser:
    engine = EngineConfig()
    parser = argparse.ArgumentParser(
        prog='oxygen bench costs', formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=EPILOG, description='Write what encode, denoise and decode take on this machine.')
    add = parser.add_argument
    add('file', metavar='FILE', help='JSON to write')
    add('--robot', metavar='PROFILE', default='so101', help='default: so101')
    add('--checkpoint', default=engine.checkpoint, metavar='DIR',
        help=f'default: {engine.checkpoint}')
    add('--device', default=engine.device, help=f'of torch (default: {engine.device})')
    add('--weights', choices=WEIGHTS, default=engine.weights, help=f'default: {engine.weights}')
    add('--threads', type=int, default=engine.num_threads, metavar='N',
        help=f'of torch (default: {engine.num_threads})')
    add('--denoise-steps', type=int, default=engine.num_denoise_steps, metavar='N',
        help=f'per chunk (default: {engine.num_denoise_steps})')
    add('--frames', type=int, default=50, metavar='N', help='measured (default: 50)')
    add('--name', default='', help='of the machine, for the report (default: its processor)')
    return parser
