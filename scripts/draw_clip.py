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
Draw the clip of the README: python scripts/draw_clip.py doc/images/table_top.gif.

The shipped model does two tasks on the simulated table, five looks per second as the demo has it;
under each picture stands what it was told, and what it wrote about that very picture.
"""

import argparse
import sys

import numpy as np
from PIL import Image
from PIL import ImageDraw
from PIL import ImageFont

from oxygen_ros.sim import TableTop
from oxygen_ros.sim import Task
from oxygen_ros.training.closed_loop import ClosedLoop
from oxygen_ros.training.closed_loop import REPLAN_HZ
from oxygen_ros.training.examination import standing_tasks

PICTURE_SIZE, SIZE, TEXT_HEIGHT, LINE_HEIGHT, MARGIN = 256, 384, 70, 22, 8
LAST_PICTURE_S = 1.2
TASKS = (Task('pick', 'blue'), Task('put', 'red'))
BACKGROUND, FAINT, CLEAR = (18, 20, 24), (150, 156, 166), (240, 242, 245)


def main() -> int:
    """Draw; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('file')
    parser.add_argument('--seed', type=int, default=2 ** 32 + 11)
    parser.add_argument('--checkpoint', default='builtin:tabletop')
    options = parser.parse_args()
    table = TableTop()
    loop = ClosedLoop(options.checkpoint, table, tasks=standing_tasks())
    pictures, durations_ms = [], []
    for task in TASKS:
        table.reset(seed=options.seed, task=task)
        seen: list[np.ndarray] = []
        episode = loop.run(task.instruction, on_look=lambda shown, seen=seen: seen.append(
            table.render('front', size=PICTURE_SIZE)))
        print(f'{task.instruction}: {"done" if episode.success else "NOT done"}')
        subtasks, narrations = ([text for kind, text, _ in episode.texts if kind == wanted]
                                for wanted in ('subtask', 'narrate'))
        pictures += [draw(picture, task.instruction, subtask, narration)
                     for picture, subtask, narration in zip(seen, subtasks, narrations)]
        durations_ms += [1000 / REPLAN_HZ] * (len(pictures) - len(durations_ms))
        durations_ms[-1] = 1000 * LAST_PICTURE_S
    loop.close()
    table.close()
    pictures[0].save(options.file, save_all=True, append_images=pictures[1:],
                     duration=durations_ms, loop=0, optimize=True)
    return 0


def draw(picture: np.ndarray, told: str, subtask: str, narration: str) -> Image.Image:
    """Return a picture with three lines of words below."""
    image = Image.new('RGB', (SIZE, SIZE + TEXT_HEIGHT), BACKGROUND)
    image.paste(Image.fromarray(picture).resize((SIZE, SIZE), Image.Resampling.LANCZOS))
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(size=13)
    for row, (name, text) in enumerate((('told', told), ('does', subtask), ('sees', narration))):
        top = SIZE + MARGIN // 2 + row * LINE_HEIGHT
        pen.text((MARGIN, top), name, FAINT, font=font)
        pen.text((MARGIN + 36, top), text, CLEAR, font=font)
    return image.quantize(64)


if __name__ == '__main__':
    sys.exit(main())
