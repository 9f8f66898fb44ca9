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

"""Replays a bag through the intake and the session that the node uses."""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from itertools import chain
from pathlib import Path
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oxygen_ros.bags.files import BagError
from oxygen_ros.bags.reader import Bag
from oxygen_ros.bags.reader import RawMessage
from oxygen_ros.bags.topics import BagTopics
from oxygen_ros.bags.topics import find_topics
from oxygen_ros.bags.topics import INSTRUCTION
from oxygen_ros.config import ConfigError
from oxygen_ros.config import ControlConfig
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import RobotProfile
from oxygen_ros.config import StandingTask
from oxygen_ros.evaluation.costs import MachineCosts
from oxygen_ros.evaluation.drive import RealDrive
from oxygen_ros.evaluation.drive import SteppedDrive
from oxygen_ros.evaluation.notes import Notes
from oxygen_ros.runtime.session import Session
from oxygen_ros.runtime.status import SessionStatus
from oxygen_ros.sensing.convert import ImageDecoder
from oxygen_ros.sensing.intake import Intake
from oxygen_ros.sensing.intake import JOINTS_SOURCE
from oxygen_ros.sensing.intake import POSE_SOURCE
from oxygen_ros.sensing.intake import Source

TIMINGS = ('offline', 'realtime', 'simulated')
STAMPS = ('header', 'arrival')
_NO_STAMP = SimpleNamespace(stamp=SimpleNamespace(sec=0, nanosec=0))


@dataclass(frozen=True)
class ReplaySetting:
    """How a recording is replayed; nothing of it depends on this machine."""

    robot: RobotProfile
    engine: EngineConfig
    control: ControlConfig = ControlConfig()
    tasks: Sequence[StandingTask] = ()
    timing: str = 'offline'
    costs: MachineCosts | None = None      # of 'simulated'
    instruction: str = ''                  # '' = that of the recording, else of the profile
    stamps: str = 'header'                 # 'arrival': when it was recorded, stamps are ignored
    namespace: str = ''
    remap: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self):
        """Check what belongs together."""
        if (self.timing == 'simulated') != (self.costs is not None):
            raise ConfigError("timing 'simulated' and a cost model belong together; write one "
                              'with `oxygen bench costs FILE` on the machine to simulate')


@dataclass(frozen=True)
class Replayed:
    """The outcome of a replay."""

    setting: ReplaySetting
    notes: Notes
    topics: BagTopics
    sources: Mapping[str, Source]         # by camera slot, 'joint_states', 'pose'
    status: SessionStatus
    start_ns: int                         # of the first message used
    end_ns: int
    num_messages: Mapping[str, int]       # topic -> messages used
    faults: Sequence[str]                 # of the bag and its messages, in words
    machine_s: Mapping[str, list[float]]  # stage -> what each run really took, stepped time only
    load_s: float
    wall_s: float                         # without loading


def replay(path: Path | str, setting: ReplaySetting, *,
           on_progress: Callable[[float, str], None] = lambda share, text: None) -> Replayed:
    """
    Replay a bag from its first to its last message.

    on_progress(share done, what is being done). Raises BagError for a bag without anything to
    evaluate, SessionError when the model cannot be loaded or the robot not be moved.
    """
    with Bag(path) as bag:
        topics = find_topics(setting.robot, bag.types, namespace=setting.namespace,
                             remap=setting.remap)
        return _Replay(bag, topics, setting, on_progress).run()


class _Replay:
    """One replay from start to end."""

    def __init__(self, bag: Bag, topics: BagTopics, setting: ReplaySetting,
                 on_progress: Callable[[float, str], None]):
        self._bag, self._topics, self._setting = bag, topics, setting
        self._on_progress = on_progress
        self._counts = dict.fromkeys(topics.wanted, 0)
        self._undecodable: dict[str, list[str]] = {}      # topic -> reasons
        self._takes = {
            topics.instruction: self._take_instruction, topics.joint_states: self._take_joints,
            topics.pose: self._take_pose, topics.commands: self._take_command,
            **{topic: self._picture_taker(slot) for slot, topic in topics.cameras.items()}}

    def run(self) -> Replayed:
        """Load the model, let the recording pass, collect."""
        setting, messages = self._setting, self._bag.messages(self._topics.wanted)
        first = next(messages, None)
        if first is None:
            raise BagError('; '.join([f'{self._bag.path} holds no message of '
                                      f'{", ".join(self._topics.wanted)}', *self._bag.faults]))
        drive = self._drive = self._make_drive(first.time_ns)
        notes = self._notes = Notes(setting.robot, drive.now_ns)
        notes.session = session = Session(
            setting.robot, setting.control, setting.engine, setting.tasks, listener=notes,
            clock=drive.clock, node_clock_ns=drive.now_ns, host=drive.host)
        self._intake = self._make_intake()
        self._on_progress(0.0, f'loading {setting.engine.checkpoint}')
        loading_s = time.perf_counter()
        session.configure()
        began_s = time.perf_counter()
        try:
            self._begin(session)
            last_ns = first.time_ns
            for message in chain([first], messages):
                last_ns = max(last_ns, message.time_ns)
                self._take(message)
            # The last picture too shall get its chunk, or at least its start.
            drive.pass_until(last_ns + round(1e9 / setting.robot.control_rate_hz))
        finally:
            drive.stop()
            session.close()
        wall_s = time.perf_counter() - began_s
        if not notes.looks:
            raise BagError('; '.join([f'{self._bag.path} gives not one observation',
                                      *self._faults()]))
        return Replayed(
            setting, notes, self._topics, self._intake.sources, session.snapshot(),
            first.time_ns, last_ns, dict(self._counts), self._faults(),
            {stage: list(values) for stage, values in sorted(drive.machine_s.items())},
            began_s - loading_s, wall_s)

    def _make_drive(self, start_ns: int) -> RealDrive | SteppedDrive:
        if self._setting.timing == 'realtime':
            return RealDrive(start_ns)
        costs = self._setting.costs
        return SteppedDrive(start_ns, cost_s=None if costs is None else costs.cost_s)

    def _make_intake(self) -> Intake:
        intake = Intake(self._setting.robot, decoder=ImageDecoder('native'),
                        on_refused=lambda name, source, reason: None)   # its counters tell
        intake.session = self._notes
        for camera in self._setting.robot.cameras:
            intake.sources[camera.slot] = Source(
                self._topics.cameras.get(camera.slot, ''), camera.required)
        for name, topic in ((JOINTS_SOURCE, self._topics.joint_states),
                            (POSE_SOURCE, self._topics.pose)):
            if topic:
                intake.sources[name] = Source(topic, True)
        return intake

    def _begin(self, session: Session) -> None:
        setting = self._setting
        if setting.instruction:
            self._notes.set_instruction(setting.instruction, 'option')
        elif setting.robot.instruction:
            self._notes.set_instruction(setting.robot.instruction, 'profile')
        session.activate()
        self._drive.start(session, self._notes.on_tick, rate_hz=setting.robot.control_rate_hz,
                          priority=setting.control.realtime_priority)

    def _take(self, message: RawMessage) -> None:
        """Let time pass until a message, then take it in as the node does."""
        total = max(1, sum(self._bag.counts[topic] for topic in self._topics.wanted))
        self._on_progress(sum(self._counts.values()) / total, 'replaying')
        self._counts[message.topic] += 1
        try:
            content = self._bag.decode(message)
        except BagError as error:
            self._undecodable.setdefault(message.topic, []).append(str(error))
            return
        if self._setting.stamps == 'arrival' and hasattr(content, 'header'):
            content = SimpleNamespace(**{**vars(content), 'header': _NO_STAMP})
        self._drive.pass_until(message.time_ns)
        self._takes[message.topic](content, message.time_ns)

    def _picture_taker(self, slot: str) -> Callable[[Any, int], None]:
        return lambda content, now_ns: self._intake.picture(slot, content, now_ns=now_ns)

    def _take_joints(self, content: Any, now_ns: int) -> None:
        self._intake.joints(content, now_ns=now_ns)

    def _take_pose(self, content: Any, now_ns: int) -> None:
        self._intake.pose(content, now_ns=now_ns)

    def _take_instruction(self, content: Any, now_ns: int) -> None:
        if not self._setting.instruction:
            self._notes.set_instruction(content.data, 'recording')

    def _take_command(self, content: Any, now_ns: int) -> None:
        values = command_values(content, self._setting.robot.joint_names)
        if values is None:
            self._undecodable.setdefault(self._topics.commands, []).append(
                f'{self._topics.commands}: a command does not name every joint')
        else:
            self._notes.command_track.add(now_ns, values)

    def _faults(self) -> list[str]:
        """Say what is wrong with the recording."""
        faults = [*self._topics.notes, *self._bag.faults, *self._notes.warnings]
        if self._topics.maybe_commands:
            name, maybe = self._setting.robot.command_topic, self._topics.maybe_commands
            faults.append(f'{name} is not recorded; if the commands that were sent are on '
                          f'{" or ".join(maybe)}, give --remap {name}:={maybe[0]}')
        if not self._setting.instruction and not self._counts.get(self._topics.instruction):
            faults.append(self._no_instruction())
        for reasons in self._undecodable.values():
            faults.append(f'{reasons[0]} ({len(reasons)} such messages)')
        for source in self._intake.sources.values():
            faults += [f'{source.topic}: {count} of {source.num_received} messages not used: '
                       f'{reason}' for reason, count in source.reasons.items()]
            if source.topic and source.num_received > source.num_refused and not source.newest_ns \
                    and self._setting.stamps == 'header':
                faults.append(f'{source.topic}: stamped zero; the time of arrival is used')
        reader = self._intake.reader
        if reader.missing:
            faults.append(f'{self._topics.joint_states or self._topics.pose} never names joint '
                          f'{", ".join(reader.missing)}; it names '
                          f'{", ".join(reader.offered) or "none"}')
        return faults

    def _no_instruction(self) -> str:
        """Say that the recording holds no instruction, what was used, and what to do."""
        used, maybe = self._setting.robot.instruction, self._topics.maybe_instruction
        using = f'that of the profile, {used!r}, is used' if used else 'the model is told nothing'
        where = (f'if it is on {" or ".join(maybe)}, give --remap {INSTRUCTION}:={maybe[0]}, else '
                 if maybe else '')
        return (f'no instruction is recorded on {self._topics.instruction or INSTRUCTION}; '
                f'{using}; {where}give --instruction TEXT')


def command_values(content: Any, joint_names: Sequence[str]) -> NDArray[np.float64] | None:
    """
    Return the positions of a recorded command in profile order, None if it lacks a joint.

    Of a trajectory the first point counts; bare numbers are taken to be in profile order.
    """
    if hasattr(content, 'points'):
        names = content.joint_names
        values = content.points[0].positions if content.points else ()
    elif hasattr(content, 'name'):
        names, values = content.name, content.position
    else:
        names, values = joint_names, content.data
    found = dict(zip(names, values))
    if len(names) != len(values) or any(name not in found for name in joint_names):
        return None
    return np.array([found[name] for name in joint_names], np.float64)
