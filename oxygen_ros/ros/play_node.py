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
Plays recorded clips of a real robot onto the topics a live one would use.

    oxygen play DIR [--clips 0,3] [--rate 5] [--loop] [--json FILE] [--ros-args -r __ns:=/robot]

DIR holds episodes.json and episodes.npz: per clip the cameras' JPEG files, the end-effector
state and the instruction. The pictures go out as they are, as CompressedImage; the node runs on
them with robot profile `widowx`.
"""

import argparse
from array import array
from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
import json
from pathlib import Path
import sys
import threading
import time
from zipfile import BadZipFile

import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy
from rclpy.qos import QoSProfile
from rclpy.qos import ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import CompressedImage
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from oxygen_ros.bags.files import is_bag
from oxygen_ros.figures import write_figures
from oxygen_ros.ros import command
from oxygen_ros.ros.audience import Audience
from oxygen_ros.ros.audience import WAIT_HELP
from oxygen_ros.ros.command import parse_before_ros
from oxygen_ros.ros.command import start_failure
from oxygen_ros.ros.command import stop_on_signals

complain = partial(command.complain, 'play', code=command.EXIT_FAILED)

# Recorded camera -> topic of robot profile `widowx`.
CAMERA_TOPICS = {'image_0': 'primary/image', 'image_1': 'secondary/image',
                 'image_2': 'wrist/image'}
STATE_NAMES = ('x', 'y', 'z', 'roll', 'pitch', 'yaw', 'gripper')
RECORDED_HZ = 5.0


class RecordingError(RuntimeError):
    """The recording cannot be read; the message names the file and the remedy."""


@dataclass(frozen=True)
class Clip:
    """One recorded episode."""

    index: int
    instruction: str
    pictures: dict[str, list[bytes]]   # camera -> JPEG files, one per step
    states: np.ndarray                 # float32 [steps, 7]

    def __len__(self):
        """Return the number of steps."""
        return len(self.states)


class Player(Node):
    """Publishes steps; every message of a step carries one stamp."""

    def __init__(self):
        super().__init__('player')
        reliable = QoSProfile(depth=20, reliability=ReliabilityPolicy.RELIABLE)
        latched = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE,
                             durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._cameras = {
            camera: self.create_publisher(CompressedImage, f'{topic}/compressed', reliable)
            for camera, topic in CAMERA_TOPICS.items()}
        self._states = self.create_publisher(JointState, 'joint_states', reliable)
        self._instruction = self.create_publisher(String, 'instruction', latched)

    @property
    def media(self) -> tuple[tuple[Publisher, ...], ...]:
        """What states and what pictures go out by."""
        return (self._states,), tuple(self._cameras.values())

    def begin(self, clip: Clip) -> None:
        """Publish what a clip's instruction is."""
        self._instruction.publish(String(data=clip.instruction))

    def play(self, clip: Clip, step: int) -> int:
        """Publish one step; returns the number of pictures."""
        stamp = self.get_clock().now().to_msg()
        for camera, files in clip.pictures.items():
            message = CompressedImage(format='jpeg')
            message.header.stamp = stamp
            message.header.frame_id = camera
            message.data = array('B', files[step])
            self._cameras[camera].publish(message)
        message = JointState(name=list(STATE_NAMES))
        message.header.stamp = stamp
        message.position = array('d', clip.states[step].astype(np.float64).tobytes())
        self._states.publish(message)
        return len(clip.pictures)


def load_clips(folder: Path, wanted: Sequence[int] = ()) -> list[Clip]:
    """Read clips by index, all of them if none is wanted; RecordingError if that fails."""
    for name in ('episodes.json', 'episodes.npz'):
        if not (folder / name).is_file():
            raise RecordingError(f'{folder / name} does not exist; give the folder that holds '
                                 f'episodes.json and episodes.npz')
    try:
        entries = json.loads((folder / 'episodes.json').read_text(encoding='utf-8'))
        known = {entry['index']: entry for entry in entries}
        missing = [index for index in wanted if index not in known]
        if missing:
            raise RecordingError(f'clip {missing[0]} does not exist; choose from '
                                 f'{min(known)} to {max(known)}')
        with np.load(folder / 'episodes.npz') as arrays:
            return [_read_clip(known[index], arrays) for index in wanted or sorted(known)]
    except (OSError, ValueError, KeyError, TypeError, BadZipFile) as error:
        raise RecordingError(f'{folder} cannot be read ({type(error).__name__}: {error}); '
                             f'get the recording again') from error


def _read_clip(entry: dict, arrays) -> Clip:
    prefix = f'{entry["index"]:02d}'
    states = arrays[f'{prefix}/state']
    pictures = {}
    for camera in entry['cameras']:
        data = arrays[f'{prefix}/{camera}/jpeg'].tobytes()
        offsets = arrays[f'{prefix}/{camera}/offsets']
        pictures[camera] = [data[start:end] for start, end in
                            zip(offsets[:-1], offsets[1:], strict=True)]
        if camera not in CAMERA_TOPICS or len(pictures[camera]) != len(states):
            raise ValueError(f'clip {entry["index"]}: camera {camera} does not fit its states')
    return Clip(index=entry['index'], instruction=entry['instruction'], pictures=pictures,
                states=states)


def run(player: Player, clips: Sequence[Clip], options: argparse.Namespace,
        stopping: threading.Event) -> dict:
    """Play clips at the given rate on a grid of absolute time; return the figures."""
    missing = Audience(player.media).wait(options.wait, stopping)
    if missing and not stopping.is_set():
        player.get_logger().warning(f'{missing} after {options.wait:g} s; playing anyway')
    num_clips = num_steps = num_pictures = 0
    start_s = next_s = time.monotonic()
    for clip in endless(clips) if options.loop else iter(clips):
        player.begin(clip)
        player.get_logger().info(f'clip {clip.index}: {clip.instruction}')
        for step in range(len(clip)):
            if stopping.wait(max(0.0, next_s - time.monotonic())):
                break
            num_pictures += player.play(clip, step)
            num_steps += 1
            next_s = max(next_s, time.monotonic() - 1 / options.rate) + 1 / options.rate
        if stopping.is_set():
            break
        num_clips += 1
    stopping.wait(max(0.0, next_s - time.monotonic()))
    return {'seconds': round(time.monotonic() - start_s, 3), 'clips': num_clips,
            'steps': num_steps, 'pictures': num_pictures}


def endless(clips: Sequence[Clip]) -> Iterator[Clip]:
    """Repeat clips for ever."""
    while True:
        yield from clips


def main(argv: Sequence[str] | None = None) -> int:
    """Play until the end, SIGINT or SIGTERM; return the exit code."""
    argv = list(sys.argv[1:] if argv is None else argv)
    if '--robot' in argv or any(is_bag(Path(argument)) for argument in argv):
        from oxygen_ros.ros import bag_player  # needs rosbags, clips do not
        return bag_player.main(argv)
    stopping = stop_on_signals()
    options, ros_arguments = parse(argv)
    try:
        clips = load_clips(Path(options.folder), options.clips)
    except RecordingError as error:
        return complain(str(error))
    try:
        rclpy.init(args=ros_arguments, signal_handler_options=SignalHandlerOptions.NO)
        player = Player()
    except Exception as error:
        rclpy.try_shutdown()
        return complain(start_failure(error))
    try:
        figures = run(player, clips, options, stopping)
    finally:
        player.destroy_node()
        rclpy.try_shutdown()
    failure = write_figures(options.json, figures) if options.json else ''
    return complain(failure) if failure else 0


def parse(argv: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return our options and the arguments for ROS."""
    parser = argparse.ArgumentParser(
        prog='oxygen play', description='Play recorded clips of a real robot onto ROS topics.',
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog='A rosbag2 recording is played too: oxygen play BAG --robot PROFILE --help\n\n'
               'example:\n  oxygen play my_clips --clips 0,4 --loop\n'
               '  oxygen node --ros-args -p robot:=widowx -p autostart:=true')
    parser.add_argument('folder', metavar='DIR', help='folder with episodes.json and episodes.npz')
    parser.add_argument('--clips', type=clip_numbers, default=(), metavar='N,N,...',
                        help='clips to play, in this order (default: all)')
    parser.add_argument('--rate', type=rate, default=RECORDED_HZ, metavar='HZ',
                        help=f'steps per second (default: {RECORDED_HZ:g}, as recorded)')
    parser.add_argument('--loop', action='store_true', help='begin again at the end')
    parser.add_argument('--wait', type=float, default=10.0, metavar='S',
                        help=WAIT_HELP)
    parser.add_argument('--json', metavar='FILE', default='', help='write the figures at the end')
    return parse_before_ros(parser, argv)


def clip_numbers(text: str) -> tuple[int, ...]:
    """Read '0,3,4'."""
    try:
        return tuple(int(part) for part in text.split(','))
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f'{text!r} is no list of clip numbers such as 0,3,4') from error


def rate(text: str) -> float:
    """Read a rate that can be kept."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.1 <= value <= 200.0:
        raise argparse.ArgumentTypeError(f'{text!r} is no rate from 0.1 to 200 Hz')
    return value


if __name__ == '__main__':
    sys.exit(main())
