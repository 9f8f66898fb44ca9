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
Offscreen rendering: back ends tried in order, one GL context for all cameras.

Threads: a GL context belongs to the thread that made it, so does a Renderer.
"""

import atexit
import importlib
import logging
import os
import sys
import threading
import weakref

import mujoco
import numpy as np
from numpy.typing import NDArray

BACKENDS = {                # name -> Debian and Ubuntu package that brings it
    'egl': 'libegl1',
    'osmesa': 'libosmesa6',
}
MAX_SIZE = 256              # px, largest picture
# Each picture is drawn at twice its size and averaged. On a CPU that costs 6 ms for a front and
# wrist pair where OpenGL's own multi-sampling costs 12, and looks the same.
SUPERSAMPLING = 2

logger = logging.getLogger(__name__)


class RenderingError(RuntimeError):
    """No back end can render on this machine; the message names the package to install."""


class Renderer:
    """Pictures of a simulated scene, made on the thread that constructed it."""

    def __init__(self, model: mujoco.MjModel):
        self._model = model
        self._thread = threading.get_ident()
        buffer_size = MAX_SIZE * SUPERSAMPLING
        model.vis.global_.offwidth = model.vis.global_.offheight = buffer_size
        model.vis.quality.offsamples = 0
        self.backend, context = open_context(buffer_size)
        self._scene = mujoco.MjvScene(model, maxgeom=200)
        self._options = mujoco.MjvOption()
        self._camera = mujoco.MjvCamera()
        self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED
        self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_50)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        # Also at interpreter exit, and then before the back end shuts its display.
        self._free = weakref.finalize(self, _free, self._context, context)
        atexit.register(self._free)

    def render(self, data: mujoco.MjData, camera: str, *, size: int) -> NDArray[np.uint8]:
        """Return the picture of a named camera, [size, size, 3] RGB."""
        self._check_thread()
        if not 1 <= size <= MAX_SIZE:
            raise ValueError(f'picture size is {size} px; give 1 to {MAX_SIZE}')
        self._camera.fixedcamid = self._model.camera(camera).id
        mujoco.mjv_updateScene(self._model, data, self._options, None, self._camera,
                               mujoco.mjtCatBit.mjCAT_ALL, self._scene)
        drawn_size = size * SUPERSAMPLING
        viewport = mujoco.MjrRect(0, 0, drawn_size, drawn_size)
        drawn = np.empty((drawn_size, drawn_size, 3), np.uint8)
        mujoco.mjr_render(viewport, self._scene, self._context)
        mujoco.mjr_readPixels(drawn, None, viewport, self._context)
        return _average(drawn[::-1])  # OpenGL begins with the bottom row

    def close(self) -> None:
        """Free the context; a second call does nothing."""
        if self._free.alive:
            self._check_thread()
            self._free()

    def _check_thread(self) -> None:
        if not self._free.alive:
            raise RuntimeError('the renderer is closed')
        if threading.get_ident() != self._thread:
            raise RuntimeError('a renderer works only on the thread that made it; '
                               'make one per thread')


def _free(context: mujoco.MjrContext, gl_context) -> None:
    context.free()
    gl_context.free()


def _average(drawn: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return each block of SUPERSAMPLING x SUPERSAMPLING pixels as its mean."""
    step = SUPERSAMPLING
    total = sum(drawn[row::step, column::step].astype(np.uint16)
                for row in range(step) for column in range(step))
    return ((total + step * step // 2) // (step * step)).astype(np.uint8)


def open_context(size: int) -> tuple[str, object]:
    """
    Return (name, GL context) of the first back end that works.

    MUJOCO_GL=egl or MUJOCO_GL=osmesa restricts the choice. Raises RenderingError with the
    remedy where none works.
    """
    wanted = os.environ.get('MUJOCO_GL', '').lower()
    names = (wanted,) if wanted in BACKENDS else tuple(BACKENDS)
    failures = []
    for name in names:
        try:
            context = _load(name).GLContext(size, size)
            context.make_current()
            return name, context
        # The bindings raise whatever their library loader met: ImportError, AttributeError,
        # OSError, RuntimeError or a GL error.
        except Exception as error:
            logger.debug('back end %s failed', name, exc_info=True)
            failures.append(f'{name}: {type(error).__name__}: {error}'.splitlines()[0])
    packages = ' '.join(BACKENDS[name] for name in names[-1:])
    raise RenderingError('cannot render pictures offscreen; install one package: '
                         f'sudo apt-get install {packages} ({"; ".join(failures)})')


def _load(name: str):
    """Import MuJoCo's bindings of a back end; PyOpenGL serves only one at a time."""
    os.environ.pop('PYOPENGL_PLATFORM', None)
    os.environ['MUJOCO_GL'] = name  # MuJoCo's own loader picks its GL functions by this
    if f'mujoco.{name}' not in sys.modules:
        for module in [m for m in sys.modules if m.split('.')[0] == 'OpenGL']:
            del sys.modules[module]
    return importlib.import_module(f'mujoco.{name}')
