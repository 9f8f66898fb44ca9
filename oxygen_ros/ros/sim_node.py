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
The simulated robot as a ROS node: real pixels and joint states out, commands in.

    oxygen sim [--seed N] [--seconds N] [--tour | --trials N] [--ros-args -r __ns:=/robot]

Uses the topics of a robot profile, as a real arm would. Everything, rendering too, runs on one
thread paced by the clock, at a lower priority than the node that controls it.
"""

import argparse
from array import array
from collections import deque
from collections.abc import Sequence
from functools import partial
import os
import sys
import threading
import time

import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy
from rclpy.qos import QoSProfile
from rclpy.qos import ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import Image
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from oxygen_ros.config import ConfigError
from oxygen_ros.config import load_robot
from oxygen_ros.config import RobotProfile
from oxygen_ros.figures import write_figures
from oxygen_ros.ros import command
from oxygen_ros.ros.command import parse_before_ros
from oxygen_ros.ros.command import start_failure
from oxygen_ros.ros.command import stop_on_signals
from oxygen_ros.ros.executor import make_executor
from oxygen_ros.ros.sim_tour import Tour
from oxygen_ros.ros.sim_trials import RealTimeTrials
from oxygen_ros.sim import CAMERAS
from oxygen_ros.sim import RenderingError
from oxygen_ros.sim import TableTop
from oxygen_ros.sim import Task
from oxygen_ros.sim.follower import CommandError
from oxygen_ros.sim.follower import CommandFollower
from oxygen_ros.sim.tasks import PHRASINGS
from oxygen_ros.sim.trials import FIRST_SEED
from oxygen_ros.sim.trials import make_trials
from oxygen_ros.sim.trials import Trial

complain = partial(command.complain, 'sim', code=command.EXIT_FAILED)

CONTROL_HZ = 50.0
CAMERA_HZ = 20.0
NICE = 5                 # below the node and its engine, which share the machine
WARNING_PERIOD_S = 5.0
CONTROL_RESET = 'oxygen/reset'   # of the node that controls the arm
COMMAND_TYPES = {'joint_trajectory': JointTrajectory, 'float64_multi_array': Float64MultiArray,
                 'joint_state': JointState}


class SimNode(Node):
    """Publishes what the simulated robot senses and obeys commands; one thread only."""

    def __init__(self, robot: RobotProfile, table: TableTop, trials: Sequence[Trial] = ()):
        super().__init__('sim')
        self._robot = robot
        self._table = table
        self._done = False
        self._echo = ''              # what this node said and has not heard itself say yet
        self._follower = CommandFollower(table.joint_names, table.joint_positions)
        self._next_picture_s = 0.0
        self.num_steps = self.num_pictures = self.num_commands = self.num_refused = 0
        self.num_done = 0
        self.render_s: deque[float] = deque(maxlen=10_000)

        reliable = QoSProfile(depth=5, reliability=ReliabilityPolicy.RELIABLE)
        latched = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE,
                             durability=DurabilityPolicy.TRANSIENT_LOCAL)
        slots = {camera.slot for camera in CAMERAS}
        self._pictures = {
            camera.slot: self.create_publisher(Image, camera.topic, reliable)
            for camera in robot.cameras if camera.slot in slots}
        self._joint_states = self.create_publisher(
            JointState, robot.joint_states_topic, reliable)
        self._instruction = self.create_publisher(String, 'instruction', latched)
        self.create_subscription(String, 'instruction', self._on_instruction, reliable)
        # Depth 1: when this process gets too little time, only the newest command counts.
        self.create_subscription(
            COMMAND_TYPES[robot.command_type], robot.command_topic, self._on_command,
            QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE))
        self.create_service(Trigger, '~/reset', self._on_reset)
        self._reset_control = self.create_client(Trigger, CONTROL_RESET)
        self.tour: Tour | None = None
        self.trials = RealTimeTrials(trials, self._begin,
                                     self.get_logger().info) if trials else None
        self._say(table.task.instruction)

    def take_tour(self) -> None:
        """From now on one task follows another."""
        self.tour = Tour(self._table, self._say, self._begin_episode, self.get_logger().info)

    def step(self) -> None:
        """Advance one control period and publish what is sensed at its end."""
        self._table.command(self._follower.target(time.monotonic()))
        self._table.step(1 / CONTROL_HZ)
        self.num_steps += 1
        stamp = self.get_clock().now().to_msg()
        self._publish_joints(stamp)
        now_s = time.monotonic()
        if now_s >= self._next_picture_s:
            # A late start must not be followed by pictures in quick succession.
            self._next_picture_s = max(self._next_picture_s, now_s - 1 / CAMERA_HZ) + 1 / CAMERA_HZ
            self._publish_pictures(stamp)
        self._note_success()
        success = self._table.success()
        if self.trials:
            self.trials.step(now_s, is_commanded=self.num_commands > 0, success=success)
        if self.tour and self.num_commands:
            self.tour.step(now_s, success=success)

    def figures(self) -> dict:
        """Return what happened, for JSON."""
        render_ms = np.asarray(self.render_s or [0.0]) * 1e3
        p50, p99 = np.quantile(render_ms, (0.5, 0.99))
        return {
            'control_steps': self.num_steps, 'pictures': self.num_pictures,
            'commands_received': self.num_commands, 'commands_refused': self.num_refused,
            'tasks_done': self.num_done,
            'tasks_given_up': self.tour.num_given_up if self.tour else 0,
            'rendering': self._table.backend,
            'render_ms': {'p50': round(float(p50), 3), 'p99': round(float(p99), 3),
                          'max': round(float(render_ms.max()), 3)},
            **({'trials': self.trials.results} if self.trials else {}),
        }

    def _publish_joints(self, stamp) -> None:
        message = JointState(name=list(self._table.joint_names))
        message.header.stamp = stamp
        message.position = array('d', self._table.joint_positions.tobytes())
        message.velocity = array('d', self._table.joint_velocities.tobytes())
        self._joint_states.publish(message)

    def _publish_pictures(self, stamp) -> None:
        """Publish all cameras with the one stamp of the moment they show."""
        start_s = time.monotonic()
        pictures = {slot: self._table.render(slot) for slot in self._pictures}
        self.render_s.append(time.monotonic() - start_s)
        for slot, picture in pictures.items():
            height, width, channels = picture.shape
            message = Image(height=height, width=width, encoding='rgb8', step=width * channels)
            message.header.stamp = stamp
            message.header.frame_id = f'{slot}_camera'
            message.data = array('B', picture.tobytes())
            self._pictures[slot].publish(message)
            self.num_pictures += 1

    def _on_command(self, message) -> None:
        self.num_commands += 1
        try:
            names, points, times_s = self._read_command(message)
            self._follower.follow(points, names=names, times_s=times_s, now_s=time.monotonic())
        except CommandError as error:
            self.num_refused += 1
            self.get_logger().warning(f'command refused: {error}',
                                      throttle_duration_sec=WARNING_PERIOD_S)

    def _read_command(self, message) -> tuple[Sequence[str], np.ndarray, Sequence[float]]:
        """Return joint names, points [num_times, num_joints] and the time of each, s from now."""
        if isinstance(message, Float64MultiArray):
            return self._robot.joint_names, np.asarray(message.data)[None], (0.0,)
        if isinstance(message, JointState):
            return message.name, np.asarray(message.position)[None], (0.0,)
        if len({len(point.positions) for point in message.points}) != 1:
            raise CommandError('the trajectory has no points, or points of different sizes')
        times_s = [point.time_from_start.sec + point.time_from_start.nanosec * 1e-9
                   for point in message.points]
        return (message.joint_names,
                np.asarray([point.positions for point in message.points]), times_s)

    def _on_instruction(self, message: String) -> None:
        """Judge success by the newest instruction; obeying it is the controlling node's part."""
        if message.data == self._echo:
            self._echo = ''
            return
        self.get_logger().info(f'told: {message.data}')
        is_judged = True
        try:
            self._table.task = Task.from_instruction(message.data)
            self._done = False
        except ConfigError as error:
            is_judged = False
            self.get_logger().warning(f'cannot judge success: {error}')
        if self.tour:
            self.tour.told(message.data, is_judged=is_judged)

    def _begin(self, trial: Trial) -> None:
        """Begin the episode of a trial and say what is to be done."""
        self._begin_episode(seed=trial.seed, task=trial.task, spots=trial.spots)
        self._say(trial.instruction)

    def _begin_episode(self, **episode) -> None:
        """Place cubes and arm; what was planned for them as they were is void."""
        self._table.reset(**{'task': self._table.task, **episode})
        self._follower = CommandFollower(self._table.joint_names, self._table.joint_positions)
        self._done = False
        if self._reset_control.service_is_ready():
            self._reset_control.call_async(Trigger.Request())

    def _say(self, instruction: str) -> None:
        self._done, self._echo = False, instruction
        self._instruction.publish(String(data=instruction))

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response):
        self._begin_episode()
        response.success, response.message = True, 'new episode'
        return response

    def _note_success(self) -> None:
        if not self._done and self._table.success():
            self._done = True
            self.num_done += 1
            self.get_logger().info(f'done: {self._table.task.instruction}')


def main(argv: Sequence[str] | None = None) -> int:
    """Run the simulated robot until SIGINT, SIGTERM or the given time; return the exit code."""
    stopping = stop_on_signals()
    options, ros_arguments = parse(list(sys.argv[1:] if argv is None else argv))
    os.nice(NICE)
    # Software rendering on its own threads would take the core that the engine computes on.
    os.environ.setdefault('LP_NUM_THREADS', '0')
    try:
        robot = load_robot(options.robot)
        table = make_table(robot, options)
    except (ConfigError, RenderingError) as error:
        return complain(str(error))
    try:
        rclpy.init(args=ros_arguments, signal_handler_options=SignalHandlerOptions.NO)
        node = SimNode(robot, table, make_all_trials(options))
        if options.tour:
            node.take_tour()
    except Exception as error:
        rclpy.try_shutdown()
        return complain(start_failure(error))
    node.get_logger().info(f'{robot.name} on a table, pictures by {table.backend}, '
                           f'task: {table.task.instruction}')
    try:
        figures = run(node, stopping, options.seconds)
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
        table.close()
    failure = write_figures(options.json, figures) if options.json else ''
    return complain(failure) if failure else 0


def parse(argv: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return our options and the arguments for ROS."""
    parser = argparse.ArgumentParser(
        prog='oxygen sim', description='Run the simulated robot arm with its cameras.',
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog='example:\n  oxygen sim --seed 3 --instruction "put the blue cube in the tray"')
    parser.add_argument('--seed', type=int, default=0, help='cube positions and start pose')
    parser.add_argument('--instruction', default='',
                        help='task, published once at start (default: that of the profile)')
    parser.add_argument('--robot', default='so101', help='robot profile (default: so101)')
    parser.add_argument('--seconds', type=float, default=0.0, help='end after this time; 0: never')
    parser.add_argument('--tour', action='store_true',
                        help='when a task is done, give the next one')
    parser.add_argument('--trials', type=int, default=0, metavar='N',
                        help='of each kind of task, one after another once the arm is commanded, '
                        'then end; 0: one task, until told otherwise')
    parser.add_argument('--first-seed', type=int, default=FIRST_SEED, metavar='N',
                        help='of the trials, then counted up')
    parser.add_argument('--json', metavar='FILE', default='', help='write the figures at the end')
    return parse_before_ros(parser, argv)


def make_all_trials(options: argparse.Namespace) -> list[Trial]:
    """Return the trials that were asked for, kinds of task by turns."""
    kinds = [make_trials(verb, options.trials, first_seed=options.first_seed)
             for verb in PHRASINGS]
    return [trial for turn in zip(*kinds, strict=True) for trial in turn]


def make_table(robot: RobotProfile, options: argparse.Namespace) -> TableTop:
    """Build the scene and render once, so that what is missing shows before anything runs."""
    table = TableTop(seed=options.seed)
    if set(robot.joint_names) != set(table.joint_names):
        raise ConfigError(f'robot {robot.name} has joints {", ".join(robot.joint_names)}; the '
                          f'simulated arm has {", ".join(table.joint_names)}; use robot so101')
    if robot.command_type not in COMMAND_TYPES or robot.gripper_topic:
        raise ConfigError(f'robot {robot.name} takes {robot.command_type} commands'
                          f'{" and its gripper apart" if robot.gripper_topic else ""}; the '
                          f'simulated arm takes {", ".join(COMMAND_TYPES)} for all its joints')
    table.reset(seed=options.seed,
                task=Task.from_instruction(options.instruction or robot.instruction))
    for camera in CAMERAS:
        table.render(camera.slot)
    return table


def run(node: SimNode, stopping: threading.Event, seconds: float) -> dict:
    """Step on a grid of absolute time and serve callbacks in between; return the figures."""
    executor = make_executor()
    executor.add_node(node)
    start_s, start_cpu_s = time.monotonic(), time.process_time()
    next_step_s, num_late = start_s, 0
    while not (stopping.is_set() or seconds and next_step_s - start_s >= seconds
               or node.trials and node.trials.finished):
        executor.spin_once(timeout_sec=max(0.0, next_step_s - time.monotonic()))
        behind_s = time.monotonic() - next_step_s
        if behind_s < 0:
            continue
        node.step()
        num_skipped = int(behind_s * CONTROL_HZ)  # the world is then slower than the clock
        num_late += num_skipped
        next_step_s += (1 + num_skipped) / CONTROL_HZ
    executor.shutdown()
    seconds = time.monotonic() - start_s
    return {'seconds': round(seconds, 3), 'steps_skipped': num_late,
            'processor_share': round((time.process_time() - start_cpu_s) / seconds, 3),
            **node.figures()}


if __name__ == '__main__':
    sys.exit(main())
