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

"""Messages with the fields that the view reads."""

import dataclasses
from types import SimpleNamespace

import numpy as np

from oxygen_ros.view import Channel

FRONT = Channel('camera', 'front', '/front/image', 'sensor_msgs/msg/Image')
WRIST = Channel('camera', 'wrist', '/wrist/image', 'sensor_msgs/msg/Image')
STATE = Channel('state', 'state', '/joint_states', 'sensor_msgs/msg/JointState')
COMMAND = Channel('command', 'command', '/command', 'trajectory_msgs/msg/JointTrajectory')
JOINTS = ('arm', 'gripper')


def other(kind: str) -> Channel:
    """Return the channel of a topic that the node sends."""
    return Channel(kind, kind, f'/oxygen/{kind}', '')


def message(**fields):
    """Return a message as rosbags makes them: a dataclass."""
    return dataclasses.make_dataclass('Message', fields)(**fields)


def stamp(time_s: float):
    """Return a builtin_interfaces/Time."""
    return message(sec=int(time_s), nanosec=round(time_s % 1 * 1e9))


def picture(time_s: float, *, grey: int = 100, width: int = 32, height: int = 24):
    """Return a plain grey sensor_msgs/Image."""
    return message(header=message(stamp=stamp(time_s)), width=width, height=height, step=width * 3,
                   encoding='rgb8', is_bigendian=0,
                   data=np.full(width * height * 3, grey, np.uint8))


def joint_state(positions=(0.1, 0.2)):
    """Return a sensor_msgs/JointState."""
    return message(name=list(JOINTS), position=np.array(positions, float))


def chunk(time_s: float, *, encode: float = 0.03, act: float = 0.05):
    """Return an oxygen_ros/ActionChunk of two rows."""
    return message(
        header=message(stamp=stamp(time_s)), observation_stamp=stamp(time_s - 0.1), frame_id=3,
        joint_names=list(JOINTS), horizon=2, dt=0.05, encode_time=encode, denoise_time=act,
        positions=np.array([0.1, 0.2, 0.3, 0.4], np.float32))


def piece(time_s: float, index: int, text: str, *, request: str = 'narrate-1',
          task: str = 'narrate', final: bool = False, full_text: str = ''):
    """Return an oxygen_ros/TokenDelta."""
    return message(
        stamp=stamp(time_s), observation_stamp=stamp(time_s), frame_id=3, request_id=request,
        task=task, index=index, text=text, num_tokens=1, final=final,
        reason='eos' if final else '', detail='', full_text=full_text, time_to_first_token=0.1,
        duration=0.5)


def fact(number: int, place: str):
    """Return an oxygen_ros/MemoryFact about the red cube."""
    return message(stamp=stamp(50.0), fact_id=number, frame_id=3, request_id='memory-1',
                   subject='red cube', relation='is', object=place, confidence=float('nan'),
                   superseded=False)


def deadline(*, verdict: str = 'fresh', cause: str = ''):
    """Return an oxygen_ros/Deadline."""
    return message(
        header=message(stamp=stamp(0)), rate=50.0, ticks=100, commands=100, missed=0, fresh=90,
        carried=4, fallback=6, stopped=0, clamped=2, causes=['camera_stale'], cause_counts=[6],
        lateness_p50=1e-4, lateness_p99=1e-3, lateness_max=2e-3, lateness_edges=[1e-4, 1e-3],
        lateness_counts=[80, 15, 5], realtime_priority=True, verdict=verdict, cause=cause,
        frame_id=3)


def engine():
    """Return an oxygen_ros/EngineStatus."""
    return message(
        header=message(stamp=stamp(0)), state=1, detail='', checkpoint='builtin:tiny',
        trained=False, pid=7, restarts=0, frames=10, encodes=10, chunks=10,
        dropped_observations=0, replan_rate=5.0, action_frequency=80.0, action_latency_p50=0.1,
        action_latency_p99=0.2, encode_time_p50=0.03, denoise_time_p50=0.05,
        decode_time_p50=0.01, tokens=50, token_rate=20.0, time_to_first_token_p50=0.1,
        token_gap_p50=0.05, token_gap_p99=0.2, texts_finished=3, texts_running=1, texts_queued=0,
        facts=2, malformed_facts=0, kv_pages_used=12, kv_pages_total=40, kv_prefixes=2,
        kv_generations=3, kv_bytes_peak=1_000_000, kv_bytes_copied=0, rates_met=True)


def diagnostics(node: str = '/oxygen', state: str = 'active'):
    """Return a diagnostic_msgs/DiagnosticArray of one part."""
    return message(status=[SimpleNamespace(
        name=f'{node}: node', level=b'\0', message=state, hardware_id='bench',
        values=[SimpleNamespace(key='state', value=state)])])
