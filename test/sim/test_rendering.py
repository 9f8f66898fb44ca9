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


"""Pictures: real content, cheap enough, back ends in order, clear words where none works."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from oxygen_ros.sim import CAMERAS
from oxygen_ros.sim import TableTop

RENDER_ONCE = """
from oxygen_ros.sim import TableTop
table = TableTop(seed=3)
picture = table.render('front')
print(table.backend, int(picture.std()))
"""


@pytest.fixture(scope='module')
def table():
    """One scene at seed 3."""
    table = TableTop(seed=3)
    yield table
    table.close()


def run_python(code, **environment):
    """Run code in a fresh interpreter, as the choice of a back end is once per process."""
    clean = {key: value for key, value in os.environ.items()
             if key not in ('MUJOCO_GL', 'PYOPENGL_PLATFORM')}
    return subprocess.run([sys.executable, '-c', code], env={**clean, **environment}, text=True,
                          capture_output=True, timeout=60, check=False)


def test_each_camera_gives_its_size_and_sees_something(table):
    for camera in CAMERAS:
        picture = table.render(camera.slot)
        assert picture.shape == (camera.size, camera.size, 3)
        assert picture.dtype == np.uint8
        assert picture.flags.c_contiguous
        assert picture.std() > 20, f'{camera.slot} camera shows one flat colour'


def test_cubes_are_seen_in_their_colours(table):
    for channel, color in enumerate(('red', 'green', 'blue')):
        table.place_cube(color, (0.28, -0.1 + 0.08 * channel, 0.015))
    picture = table.render('front').astype(int)
    for channel, color in enumerate(('red', 'green', 'blue')):
        others = np.delete(picture, channel, axis=2).max(axis=2)
        assert (picture[..., channel] > others + 40).sum() > 20, f'no {color} cube in the picture'


def test_moving_the_arm_changes_both_pictures(table):
    table.reset(seed=3)
    before = {camera.slot: table.render(camera.slot) for camera in CAMERAS}
    table.command(table.joint_positions + [0.6, 0.3, 0, 0, 0, 0.4])
    table.step(1.0)
    for slot, picture in before.items():
        assert np.abs(table.render(slot).astype(int) - picture).mean() > 1, slot


def test_larger_picture_shows_the_same_view(table):
    small, large = table.render('front'), table.render('front', size=192)
    assert large.shape == (192, 192, 3)
    shrunk = large.reshape(96, 2, 96, 2, 3).mean(axis=(1, 3))
    assert np.abs(shrunk - small).mean() < 4


def test_pair_of_pictures_leaves_the_processor_to_the_model(table):
    def pair_s():
        start = time.process_time()
        table.render('front')
        table.render('wrist')
        return time.process_time() - start

    pair_s()
    assert sorted(pair_s() for _ in range(15))[7] < 0.020


def test_unknown_camera_and_size_are_refused(table):
    with pytest.raises(ValueError, match='front, wrist'):
        table.render('rear')
    with pytest.raises(ValueError, match='1 to 256'):
        table.render('front', size=2000)


def test_rendering_from_another_thread_is_refused(table):
    table.render('front')
    errors = []

    def render():
        try:
            table.render('front')
        except RuntimeError as error:
            errors.append(str(error))

    thread = threading.Thread(target=render)
    thread.start()
    thread.join()
    assert 'only on the thread that made it' in errors[0]


def test_process_ends_quietly_without_close():
    result = run_python(RENDER_ONCE)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ''
    assert result.stdout.split()[0] in ('egl', 'osmesa')


def test_osmesa_serves_where_egl_has_no_driver():
    result = run_python(RENDER_ONCE, __EGL_VENDOR_LIBRARY_FILENAMES='/does/not/exist')
    if 'RenderingError' in result.stderr and 'libosmesa6' in result.stderr:
        pytest.skip('libosmesa6 is not installed')
    assert result.returncode == 0, result.stderr
    assert result.stdout.split()[0] == 'osmesa'


def test_machine_without_any_back_end_is_told_the_package():
    result = run_python(RENDER_ONCE, MUJOCO_GL='egl',
                        __EGL_VENDOR_LIBRARY_FILENAMES='/does/not/exist')
    assert result.returncode != 0
    assert 'sudo apt-get install libegl1' in result.stderr.splitlines()[-1]
