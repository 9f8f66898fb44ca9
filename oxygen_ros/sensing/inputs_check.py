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

"""Checks of one input each: pictures, joint states, poses."""

from collections import Counter
from typing import Any

import numpy as np

from oxygen_ros.config import Camera
from oxygen_ros.config import RobotProfile
from oxygen_ros.config.robot import POSE_AXES
from oxygen_ros.sensing.convert import BadPicture
from oxygen_ros.sensing.convert import ImageDecoder
from oxygen_ros.sensing.findings import Finding
from oxygen_ros.sensing.findings import NOTE
from oxygen_ros.sensing.findings import OK
from oxygen_ros.sensing.findings import timing
from oxygen_ros.sensing.findings import WRONG
from oxygen_ros.sensing.joints import BadJoints
from oxygen_ros.sensing.joints import JointReader
from oxygen_ros.sensing.joints import PoseReader
from oxygen_ros.sensing.topic_record import TopicRecord

LARGE_BYTES = 500_000      # a raw picture that best effort over the default transport loses
_LIMIT_SLACK = 0.02        # of the travel: encoders and calibrations differ by this
_MAX_DECODED = 50          # pictures; decoding all of a long recording would take minutes
_SILENT = ('nothing came', 'check its QoS (ros2 topic info --verbose) and that the driver runs')


class PictureCheck:
    """Pictures of one camera."""

    def __init__(self, camera: Camera, decoder: ImageDecoder):
        self._camera = camera
        self._decoder = decoder
        self._record = TopicRecord()
        self._forms: Counter[str] = Counter()
        self._faults: Counter[str] = Counter()
        self._num_bytes = 0

    def take(self, message: Any, now_ns: int) -> None:
        """Look at one picture."""
        self._record.take(_stamp_ns(message), now_ns)
        if self._forms.total() + self._faults.total() >= _MAX_DECODED:
            return
        self._num_bytes = max(self._num_bytes, len(message.data))
        try:
            height, width, _ = self._decoder.decode(message).shape
        except BadPicture as error:
            self._faults[str(error)] += 1
            return
        self._forms[f'{width}x{height} {getattr(message, "encoding", "") or message.format}'] += 1

    def findings(self, name: str) -> list[Finding]:
        """Say what is right and wrong."""
        if not self._record.count:
            return [Finding(name, WRONG if self._camera.required else NOTE, *_SILENT)]
        key = f'cameras.{self._camera.slot}'
        found = timing(name, self._record, max_age_s=self._camera.max_age_s,
                       key=f'{key}.max_age_s')
        found += [Finding(name, WRONG, f'{count} pictures cannot be used: {fault}',
                          'let the driver publish rgb8, bgr8 or JPEG')
                  for fault, count in self._faults.most_common(3)]
        if self._forms:
            found.append(Finding(name, OK, ', '.join(self._forms)))
        if len(self._forms) > 1:
            found.append(Finding(name, NOTE, 'size or encoding changes',
                                 'look for a second publisher on this topic'))
        is_raw_and_large = not self._camera.compressed and self._num_bytes > LARGE_BYTES
        if is_raw_and_large and self._camera.reliability == 'best_effort':
            found.append(Finding(
                name, NOTE, f'raw pictures of {self._num_bytes / 1e6:.1f} MB: best effort loses '
                f'most of them over the default transport',
                f'set {key}.compressed: true, or see doc/howto/robot.md'))
        return found


class JointsCheck:
    """Joint states: names, values, limits."""

    def __init__(self, robot: RobotProfile):
        self._robot = robot
        self._names = [name for name in robot.joint_names
                       if not (robot.pose_topic and name in POSE_AXES)]
        self._reader = JointReader(self._names, turning={
            name: middle for name, middle in robot.turning.items() if name in self._names})
        self._record = TopicRecord()
        self._values = ValueRange(robot, self._names)
        self._faults: Counter[str] = Counter()
        self._orders: set[tuple[str, ...]] = set()
        self._others: set[str] = set()

    def take(self, message: Any, now_ns: int) -> None:
        """Look at one message."""
        stamp_ns = _stamp_ns(message)
        try:
            sample = self._reader.read(message.name, message.position, stamp_ns)
        except BadJoints as error:
            self._faults[str(error)] += 1
            self._record.take(stamp_ns, now_ns)
            return
        ours = tuple(name for name in message.name if name in self._names)
        self._others.update(set(message.name) - set(self._names))
        if ours:      # others on this topic have a rhythm of their own
            self._record.take(stamp_ns, now_ns)
            self._orders.add(ours)
        if sample is not None:
            self._values.take(sample.positions)

    def findings(self, name: str) -> list[Finding]:
        """Say what is right and wrong."""
        missing, offered = self._reader.missing, ', '.join(self._reader.offered) or 'none'
        if not self._record.count and not self._reader.offered:
            return [Finding(name, WRONG, *_SILENT)]
        found = []
        if self._record.count:
            # Several broadcasters on one topic seem faster than each of them is.
            found += timing(name, self._record, max_age_s=self._robot.joints_max_age_s,
                            key='joint_states.max_age_s')
        found += [Finding(name, WRONG, f'{count} messages cannot be used: {fault}',
                          'correct the driver')
                  for fault, count in self._faults.most_common(3)]
        if missing:
            found.append(Finding(name, WRONG, f'never names {", ".join(missing)}; the newest '
                                 f'message names {offered}', 'correct the names under joints'))
        else:
            order = 'in the order of the profile' if self._orders == {tuple(self._names)} \
                else 'in another order than the profile, which does not matter'
            found.append(Finding(name, OK, f'names all {len(self._names)} joints, {order}'))
            if self._others:
                found.append(Finding(name, NOTE, f'also names {", ".join(sorted(self._others))}, '
                                     f'which the profile does not have',
                                     'add it under joints if the robot is to move it'))
        return found + self._values.findings(name)


class PoseCheck:
    """Poses of the tool."""

    def __init__(self, robot: RobotProfile):
        self._robot = robot
        self._reader = PoseReader(list(robot.turning.values()))
        self._record = TopicRecord()
        self._values = ValueRange(robot, POSE_AXES)
        self._faults: Counter[str] = Counter()
        self._frames: set[str] = set()

    def take(self, message: Any, now_ns: int) -> None:
        """Look at one message."""
        self._record.take(_stamp_ns(message), now_ns)
        self._frames.add(message.header.frame_id)
        try:
            self._values.take(np.array(self._reader.read(message.pose)))
        except BadJoints as error:
            self._faults[str(error)] += 1

    def findings(self, name: str) -> list[Finding]:
        """Say what is right and wrong."""
        if not self._record.count:
            return [Finding(name, WRONG, *_SILENT)]
        found = timing(name, self._record, max_age_s=self._robot.joints_max_age_s,
                       key='joint_states.max_age_s')
        found += [Finding(name, WRONG, f'{count} messages cannot be used: {fault}',
                          'correct the driver') for fault, count in self._faults.most_common(3)]
        wrong = sorted(self._frames - {self._robot.command_frame})
        if self._robot.command_frame and wrong:
            found.append(Finding(name, WRONG, f'poses are in frame {", ".join(wrong)}, commands '
                                 f'in {self._robot.command_frame}',
                                 'correct command.frame_id, or publish the pose in that frame'))
        return found + self._values.findings(name)


class ValueRange:
    """Range of measured values, against the limits of the profile."""

    def __init__(self, robot: RobotProfile, names):
        self._joints = [robot.joints[robot.joint_names.index(name)] for name in names]
        self._low = np.full(len(self._joints), np.inf)
        self._high = np.full(len(self._joints), -np.inf)

    def take(self, values) -> None:
        """Note values, in the order of the names."""
        self._low = np.minimum(self._low, values)
        self._high = np.maximum(self._high, values)

    def findings(self, name: str) -> list[Finding]:
        """Say which joints were outside their limits; nothing if no value came."""
        if not np.isfinite(self._low).all():
            return []
        found = []
        for joint, low, high in zip(self._joints, self._low, self._high):
            if joint.lower is None or joint.upper is None:
                continue
            lower, upper = joint.lower, joint.upper
            slack = _LIMIT_SLACK * (upper - lower)
            if low >= lower - slack and high <= upper + slack:
                continue
            looks_like_degrees = joint.unit == 'rad' and max(abs(low), abs(high)) > 2 * np.pi
            remedy = ('it looks like degrees: publish rad' if looks_like_degrees else
                      'correct the limits, or look at unit and calibration')
            found.append(Finding(name, WRONG, f'{joint.name} measured from {low:g} to {high:g} '
                                 f'{joint.unit}, limits {lower:g} to {upper:g}', remedy))
        return found or [Finding(name, OK, 'every value is within its limits')]


def _stamp_ns(message: Any) -> int:
    stamp = message.header.stamp
    return stamp.sec * 10 ** 9 + stamp.nanosec
