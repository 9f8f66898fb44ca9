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
The checks of `oxygen doctor`, each a function that returns one Finding.

What needs ROS, torch or OpenGL runs in a child process: a broken installation of those can end
the process that imports it, and this one must live to say so.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from importlib.util import find_spec
import json
import os
from pathlib import Path
import shutil
import subprocess
import sys
import threading
import time

from oxygen_ros.policy.realtime import request_priority
from oxygen_ros.runtime.cpu_limits import cpu_limit

OK = 'ok'
HINT = 'hint'        # fine for most, worth knowing
SLOW = 'slow'        # the node runs, but late or slower than it could
MISSING = 'missing'  # the node cannot run

CHILD_LIMIT_S = 60.0
PRIORITY = 50
MIN_SHM_BYTES = 256 * 2 ** 20
MAX_DOMAIN_ID = 232       # what DDS has ports for
SAFE_DOMAIN_ID = 101      # above, those are ports that Linux also hands out to others
TICK_S = 0.01
NUM_TICKS = 100
LATE_MS = 2.0        # p99 above this is felt at 50 Hz and more


@dataclass(frozen=True)
class Finding:
    """What one check found, in plain words."""

    name: str
    level: str                       # OK, HINT, SLOW or MISSING
    text: str
    remedy: str = ''
    figures: Mapping[str, object] = field(default_factory=dict)   # for --json


def run_child(code: str, *, limit_s: float = CHILD_LIMIT_S) -> tuple[dict | None, str]:
    """Run Python code that prints one JSON object; return (object, '') or (None, why not)."""
    try:
        done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True,
                              timeout=limit_s, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return None, f'no answer within {limit_s:g} s'
    lines = done.stdout.strip().splitlines()
    if done.returncode == 0 and lines:
        try:
            return json.loads(lines[-1]), ''
        except ValueError:
            pass
    words = done.stderr.strip().splitlines() or [f'exit code {done.returncode}']
    return None, words[-1]


def check_python() -> Finding:
    """Compare with the versions of Python the package is made for."""
    version = '.'.join(str(part) for part in sys.version_info[:3])
    if (3, 10) <= sys.version_info[:2] <= (3, 13):
        return Finding('python', OK, f'{version} in {sys.prefix}', figures={'version': version})
    return Finding('python', HINT, f'{version} is not one of the tested versions',
                   'use Python 3.10 to 3.13', {'version': version})


def check_domain() -> Finding:
    """Say which domain is used and who can be reached."""
    wanted = os.environ.get('ROS_DOMAIN_ID', '0') or '0'
    if not wanted.isdigit() or int(wanted) > MAX_DOMAIN_ID:
        return Finding('domain', MISSING, f'ROS_DOMAIN_ID is {wanted!r}',
                       f'export ROS_DOMAIN_ID=N with N from 0 to {SAFE_DOMAIN_ID}')
    if int(wanted) > SAFE_DOMAIN_ID:
        return Finding('domain', HINT,
                       f'domain {wanted} uses ports that Linux hands out to others',
                       f'export ROS_DOMAIN_ID=N with N from 0 to {SAFE_DOMAIN_ID}')
    is_local = (os.environ.get('ROS_AUTOMATIC_DISCOVERY_RANGE', '').upper() == 'LOCALHOST'
                or os.environ.get('ROS_LOCALHOST_ONLY') == '1')
    reach = 'this machine only' if is_local else 'every machine of the network'
    figures = {'domain_id': int(wanted), 'localhost_only': is_local}
    if int(wanted) == 0 and not is_local:
        return Finding('domain', HINT, f'domain 0, shared with {reach}',
                       'export ROS_DOMAIN_ID=N to be alone, or '
                       'ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST', figures)
    return Finding('domain', OK, f'domain {wanted}, {reach}', figures=figures)


def check_ros() -> Finding:
    """Make a ROS node with the chosen middleware."""
    found, why = run_child(
        'import json, os, rclpy\n'
        'rclpy.init(args=[])\n'
        'node = rclpy.create_node("oxygen_doctor")\n'
        'from rclpy.utilities import get_rmw_implementation_identifier as rmw\n'
        'print(json.dumps({"distro": os.environ.get("ROS_DISTRO", ""), "rmw": rmw(),\n'
        '                  "rclpy": rclpy.__file__}))\n'
        'node.destroy_node(); rclpy.shutdown()')
    if found is None:
        return Finding('ros', MISSING, f'no ROS node can be made here: {why}',
                       'source /opt/ros/<distro>/setup.bash; without ROS 2: pip install -r '
                       'requirements-ros.txt; if the message names an rmw: unset '
                       'RMW_IMPLEMENTATION')
    distro = found['distro'] or 'from wheels'
    return Finding('ros', OK, f'ROS 2 {distro}, {found["rmw"]}', figures=found)


def check_messages() -> Finding:
    """Import the messages, which must be built for this Python."""
    found, why = run_child(
        'import json, oxygen_ros.msg, oxygen_ros.srv, oxygen_ros.action\n'
        'from rclpy.type_support import check_for_type_support as check\n'
        'for name in ("ActionChunk", "Deadline", "EngineStatus", "MemoryFact", "TokenDelta"):\n'
        '    check(getattr(oxygen_ros.msg, name))\n'
        'print(json.dumps({"path": oxygen_ros.msg.__file__}))')
    if found is None:
        return Finding('messages', MISSING, f'cannot be used: {why}',
                       'pip install . in the source folder, or colcon build and '
                       'source install/setup.bash')
    return Finding('messages', OK, f'built, in {Path(found["path"]).parent}', figures=found)


def check_model_libraries() -> tuple[Finding, Finding]:
    """Look for the libraries of the engine, and a GPU."""
    found, why = run_child(
        'import json, torch, transformers, tokenizers, safetensors\n'
        'gpus = [(p.name, p.total_memory) for p in map(torch.cuda.get_device_properties,\n'
        '        range(torch.cuda.device_count()))] if torch.cuda.is_available() else []\n'
        'print(json.dumps({"torch": torch.__version__, "gpus": gpus, "cuda": torch.version.cuda,\n'
        '                  "transformers": transformers.__version__}))')
    if found is None:
        return (Finding('model', MISSING, f'the engine cannot start: {why}',
                        "pip install '.[torch]', or the single packages torch, transformers, "
                        'tokenizers, safetensors'),
                Finding('gpu', HINT, 'not looked for, because torch is missing'))
    libraries = Finding('model', OK, f'torch {found["torch"]}, transformers '
                        f'{found["transformers"]}', figures=found)
    if found['gpus']:
        names = ', '.join(f'{name} ({memory / 2 ** 30:.0f} GiB)' for name, memory in found['gpus'])
        return libraries, Finding('gpu', OK, names, 'give the parameter device:=cuda',
                                  {'gpus': found['gpus']})
    why = 'torch was built without CUDA' if not found['cuda'] else 'torch sees no CUDA device'
    return libraries, Finding('gpu', HINT, f'none: {why}; the tiny model runs on the CPU',
                              '' if not found['cuda'] else 'check nvidia-smi', {'gpus': []})


def measure_lateness(priority: int) -> tuple[str, float]:
    """Return (why no real-time priority or '', p99 lateness in ms of a 100 Hz loop)."""
    result = ['', 0.0]

    def loop():
        result[0] = request_priority(priority)
        late_ms = []
        due = time.monotonic()
        for _ in range(NUM_TICKS):
            due += TICK_S
            time.sleep(max(0.0, due - time.monotonic()))
            late_ms.append((time.monotonic() - due) * 1e3)
        result[1] = sorted(late_ms)[int(0.99 * NUM_TICKS)]

    thread = threading.Thread(target=loop)   # the priority goes with the thread
    thread.start()
    thread.join()
    return result[0], result[1]


def check_realtime() -> Finding:
    """Try SCHED_FIFO for a timer, and measure how late it is right now."""
    why, late_ms = measure_lateness(PRIORITY)
    figures = {'realtime_priority': not why, 'lateness_p99_ms': round(late_ms, 3)}
    measured = f'a 100 Hz timer is {late_ms:.2f} ms late at p99'
    if why:
        return Finding('real-time', SLOW, f'priority not permitted; {measured}',
                       f'add "@realtime - rtprio {PRIORITY}" and "@realtime - memlock unlimited" '
                       f'to /etc/security/limits.conf, join that group and log in again; in a '
                       f'systemd unit: LimitRTPRIO={PRIORITY}; in a container: --cap-add=sys_nice '
                       f'--ulimit rtprio={PRIORITY}', figures)
    if late_ms > LATE_MS:
        return Finding('real-time', SLOW, f'priority {PRIORITY} granted, yet {measured}',
                       'a PREEMPT_RT kernel, or fewer virtual machines on this host', figures)
    return Finding('real-time', OK, f'priority {PRIORITY} granted; {measured}', figures=figures)


def check_memory_lock() -> Finding:
    """Try to lock memory, so that a tick never waits for the disk."""
    found, why = run_child('import json\nfrom oxygen_ros.policy.realtime import lock_memory\n'
                           'print(json.dumps({"why": lock_memory()}))')
    why = found['why'] if found else why
    if why:
        return Finding('memory lock', SLOW, why.split(';')[0],
                       '"@realtime - memlock unlimited" in /etc/security/limits.conf; in a '
                       'systemd unit: LimitMEMLOCK=infinity; in a container: --ulimit memlock=-1')
    return Finding('memory lock', OK, 'permitted')


def check_shared_memory(path: str = '/dev/shm') -> Finding:
    """Measure the room for what DDS passes between processes of this machine."""
    try:
        free = shutil.disk_usage(path).free
    except OSError as error:
        return Finding('shared memory', SLOW, f'{path}: {error.strerror}', 'mount a tmpfs there')
    figures = {'free_bytes': free}
    if free < MIN_SHM_BYTES:
        return Finding('shared memory', SLOW, f'{free / 2 ** 20:.0f} MiB free in {path}: pictures '
                       f'may be lost', 'in a container: --shm-size=1g or --ipc=host; else remove '
                       'fastdds_* files that killed processes left there', figures)
    return Finding('shared memory', OK, f'{free / 2 ** 20:.0f} MiB free', figures=figures)


def check_cpus() -> Finding:
    """Count usable CPUs; the control timer wants one that the engine leaves free."""
    usable, present = cpu_limit(), os.cpu_count() or 1
    load = os.getloadavg()[0]
    figures = {'usable': usable, 'present': present, 'load': round(load, 2)}
    text = f'{usable} of {present} usable'
    if usable < 2:
        return Finding('cpus', SLOW, f'{text}: engine and control timer share one',
                       'give the process two CPUs: taskset, docker --cpus, CPUQuota=', figures)
    if load > present:
        return Finding('cpus', SLOW, f'{text}, but the load is {load:.1f}: others are using them',
                       'end what else is running', figures)
    governor = _read('/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor')
    if governor == 'powersave':
        return Finding('cpus', HINT, f'{text}; they save power between ticks',
                       'sudo cpupower frequency-set -g performance', figures)
    return Finding('cpus', OK, f'{text}; num_threads up to {usable - 1} leaves one for the '
                   f'control timer', figures=figures)


def check_transport() -> Finding:
    """Warn that large raw pictures over best-effort DDS lose fragments."""
    transports = os.environ.get('FASTDDS_BUILTIN_TRANSPORTS', '')
    figures = {'fastdds_builtin_transports': transports}
    if transports.upper() in ('LARGE_DATA', 'SHM'):
        return Finding('transport', OK, f'FASTDDS_BUILTIN_TRANSPORTS={transports}',
                       figures=figures)
    return Finding('transport', HINT, 'fine up to 0.5 MB a picture (about 400x400 raw)',
                   'for larger raw pictures use compressed:=true or reliable in the profile, or '
                   'export FASTDDS_BUILTIN_TRANSPORTS=LARGE_DATA for camera and node', figures)


def check_rendering() -> Finding:
    """Try offscreen pictures of the simulated robot; a real one does not need them."""
    found, why = run_child(
        'import json\nfrom oxygen_ros.sim.rendering import open_context, RenderingError\n'
        'try:\n    print(json.dumps({"backend": open_context(16)[0]}), flush=True)\n'
        'except RenderingError as error:\n    raise SystemExit(str(error))\n'
        'import os; os._exit(0)')
    if found is None:
        return Finding('rendering', HINT, f'the demo cannot run: {why}',
                       "sudo apt install libosmesa6, and pip install '.[sim]'; not needed on a "
                       'real robot')
    return Finding('rendering', OK, f'simulated cameras through {found["backend"]}',
                   figures=found)


def check_kinematics() -> Finding:
    """Look for the library behind end-effector deltas; other action spaces do without."""
    if find_spec('pinocchio') is None:
        return Finding('kinematics', HINT, 'no end-effector deltas on robots that take joints: '
                       'Pinocchio is not installed', 'pip install "pin>=3,<5", or apt install '
                       'ros-$ROS_DISTRO-pinocchio; other action spaces do without')
    return Finding('kinematics', OK, 'Pinocchio is installed')


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding='ascii').strip()
    except OSError:
        return ''
