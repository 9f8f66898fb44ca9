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

"""Every parameter of the node: description, type, range, and when it is read."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import fields
from dataclasses import replace
import os
from pathlib import Path
from types import MappingProxyType

from rcl_interfaces.msg import FloatingPointRange
from rcl_interfaces.msg import IntegerRange
from rcl_interfaces.msg import ParameterDescriptor
from rcl_interfaces.msg import SetParametersResult
from rclpy.parameter import Parameter as RosParameter

from oxygen_ros.config import choose_tasks
from oxygen_ros.config import ConfigError
from oxygen_ros.config import ControlConfig
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import load_robot
from oxygen_ros.config import RobotProfile
from oxygen_ros.config import SchedulerConfig
from oxygen_ros.config import StandingTask
from oxygen_ros.config import Thresholds
from oxygen_ros.config.control import FALLBACKS
from oxygen_ros.config.control import TRANSITIONS
from oxygen_ros.config.engine import POLICIES
from oxygen_ros.config.engine import WEIGHTS
from oxygen_ros.config.robot import COMMAND_TYPES
from oxygen_ros.config.task_changes import change_tasks
from oxygen_ros.config.tasks import check_tasks
from oxygen_ros.runtime.memory import MAX_FACTS
from oxygen_ros.sensing.convert import DECODERS

START, CONFIGURE, LIVE = 'start', 'configure', 'live'
_READ = {START: 'Read once at start.', CONFIGURE: 'Read at configure.', LIVE: 'Read at once.'}
_TYPES = {bool: 'boolean', int: 'integer', float: 'number', str: 'text'}


@dataclass(frozen=True)
class Parameter:
    """One parameter; its type is that of its default."""

    name: str
    default: bool | int | float | str
    description: str
    low: float | None = None          # None: no range
    high: float | None = None
    choices: tuple[str, ...] = ()     # () = anything
    read: str = CONFIGURE             # START parameters are read-only

    def check(self, value: object):
        """Return value in the parameter's type, or raise ConfigError naming both types."""
        wanted = type(self.default)
        if wanted is float and type(value) is int:
            value = float(value)      # 20 for 20.0 is what people write
        if type(value) is not wanted:
            hint = ''
            if wanted is str:
                hint = f"; YAML reads it as such, quote it twice: {self.name}:='\"...\"'"
            raise ConfigError(f'parameter {self.name}: given {_TYPES.get(type(value), "list")} '
                              f'{value!r}, wanted {_TYPES[wanted]}{hint}')
        if self.low is not None and not self.low <= value <= self.high:
            raise ConfigError(f'parameter {self.name} is {value}; give a value from '
                              f'{self.low:g} to {self.high:g}')
        if self.choices and value not in self.choices:
            choices = ', '.join(choice or "''" for choice in self.choices)
            raise ConfigError(f'parameter {self.name} is {value!r}; choose one of: {choices}')
        return value

    @property
    def descriptor(self) -> ParameterDescriptor:
        """Description for `ros2 param describe`; typing is ours, for messages that help."""
        choices = f' One of: {", ".join(choice or "(empty)" for choice in self.choices)}.'
        descriptor = ParameterDescriptor(
            description=f'{self.description}{choices if self.choices else ""} {_READ[self.read]}',
            read_only=self.read == START, dynamic_typing=True)
        if self.low is not None and isinstance(self.default, float):
            descriptor.floating_point_range = [FloatingPointRange(
                from_value=float(self.low), to_value=float(self.high))]
        elif self.low is not None:
            descriptor.integer_range = [IntegerRange(
                from_value=int(self.low), to_value=int(self.high), step=1)]
        return descriptor


_ENGINE, _CONTROL = EngineConfig(), ControlConfig()

PARAMETERS = (
    Parameter('robot', 'so101', 'Robot profile: a shipped name or the path of a .yaml file.',
              read=START),
    Parameter('urdf_file', '', 'URDF with the joint limits that the profile leaves out; empty: '
              'the one the profile names, if any.', read=START),
    Parameter('checkpoint', _ENGINE.checkpoint,
              "Model to run: a directory, a hub id, or 'builtin:tiny' for random weights."),
    Parameter('asset_id', '', 'Robot whose statistics are used, where an openpi checkpoint has '
              'those of several.'),
    Parameter('tokenizer', '', 'A tokenizer.json, a sentencepiece .model, a folder with one, or a '
              'hub id; empty: that of the checkpoint.'),
    Parameter('policy', _ENGINE.policy, 'How work shares the engine.', choices=POLICIES),
    Parameter('tasks_file', '', 'Standing language tasks, path of a .yaml file; empty: the '
              "shipped one for the checkpoint, config/tasks.yaml for most; 'none': no task.",
              read=LIVE),
    Parameter('task_changes', '', 'What differs from the tasks file, YAML in one line: {narrate: '
              '{priority: 5}, memory: off}; empty: nothing. `oxygen tasks` sets it.', read=LIVE),
    Parameter('say_answers', False, 'Speak answers to questions on ~/say, as texts of tasks with '
              'destination say.', read=LIVE),
    Parameter('instruction', '', 'What the robot shall do; empty: that of the profile. The '
              'instruction topic changes it too.', read=LIVE),
    Parameter('control_rate_hz', 0.0, 'Commands per second, 10 to 500; 0: that of the profile.',
              low=0, high=500, read=START),
    Parameter('command_type', '', 'Message type of the command; empty: that of the profile.',
              choices=('', *COMMAND_TYPES), read=START),
    Parameter('fallback', _CONTROL.fallback, 'What is sent when no action is due.',
              choices=FALLBACKS, read=LIVE),
    Parameter('limit_mode', _CONTROL.limit_mode, 'What happens to an action beyond a limit.',
              choices=('clamp', 'reject'), read=LIVE),
    Parameter('transition', _CONTROL.transition, 'How one chunk gives way to the next; rtc: the '
              'model makes the new one go on from the old.', choices=TRANSITIONS,
              read=LIVE),
    Parameter('interpolation', _CONTROL.interpolation, 'Between two actions of a chunk.',
              choices=('linear', 'hold'), read=LIVE),
    Parameter('realtime_priority', _CONTROL.realtime_priority,
              'SCHED_FIFO priority of the control timer; 0: normal priority.', low=0, high=99),
    Parameter('replan_hz', _ENGINE.scheduler.replan_hz, 'Action chunks wanted per second.',
              low=0.1, high=500, read=LIVE),
    Parameter('num_denoise_steps', _ENGINE.num_denoise_steps,
              'Euler steps of the action head.', low=1, high=100),
    Parameter('num_threads', _ENGINE.num_threads, 'Threads of the engine process.',
              low=1, high=1024),
    Parameter('num_texts', _ENGINE.num_texts, 'Texts that may be written at once.',
              low=1, high=256),
    Parameter('max_text_tokens', _ENGINE.max_text_tokens, 'Longest text, tokens.',
              low=1, high=4096),
    Parameter('seed', _ENGINE.seed, 'Seed of the action noise and of builtin weights.',
              low=0, high=2 ** 31 - 1),
    Parameter('device', _ENGINE.device, "Where the model runs: 'cpu' or 'cuda'."),
    Parameter('weights', _ENGINE.weights, 'Precision; float16 is for a GPU, int8 for a CPU. How '
              'far each moves the actions is measured in doc/explanation/precision.md.',
              choices=WEIGHTS, read=START),
    Parameter('image_decoder', 'auto', 'Library for Bayer, YUV and 16-bit pictures.',
              choices=DECODERS, read=START),
    Parameter('memory_file', '', 'SQLite file that keeps facts over restarts; empty: facts last '
              'as long as the node is configured.'),
    Parameter('max_facts', MAX_FACTS, 'Facts kept; beyond it superseded ones are deleted first, '
              'the oldest first.', low=10, high=10_000_000),
    Parameter('memory_tokens', 64, 'Room for remembered facts in the prompt of a question that '
              'uses them and does not say how much, tokens.', low=0, high=4096, read=LIVE),
    Parameter('tick_trace_file', '', 'CSV file with a line per control tick, for `oxygen plot`; '
              'each configure writes it anew; empty: none.'),
    *(Parameter(f'diagnostics.{threshold.name}', threshold.default,
                f'/diagnostics warns {"below" if threshold.name.startswith("min") else "above"}: '
                f'{threshold.metadata["text"]}', low=0, high=threshold.metadata['high'], read=LIVE)
      for threshold in fields(Thresholds)),
    Parameter('autostart', False, 'Configure and activate at start, without a lifecycle '
              'manager; the process ends with an error if that fails.', read=START),
    Parameter('json_file', '', 'File for the figures of the run, written at exit; empty: none.',
              read=START),
)
_CAMERA_PARAMETERS = (
    ('reliability', lambda camera: Parameter(
        f'cameras.{camera.slot}.reliability', camera.reliability,
        f'QoS reliability asked of the publisher of camera {camera.slot}.',
        choices=('best_effort', 'reliable'), read=START)),
    ('compressed', lambda camera: Parameter(
        f'cameras.{camera.slot}.compressed', camera.compressed,
        f'Subscribe to {camera.topic}/compressed.', read=START)),
    ('max_age_s', lambda camera: Parameter(
        f'cameras.{camera.slot}.max_age_s', float(camera.max_age_s),
        f'Older pictures of camera {camera.slot} are stale, s.', low=0.01, high=60,
        read=START)),
)
# Parameters that rclpy itself declares or reads.
_FOREIGN = ('use_sim_time', 'start_type_description_service')
_FOREIGN_PREFIXES = ('qos_overrides.', 'diagnostic_updater.')


@dataclass(frozen=True)
class Settings:
    """What the parameters amount to, loaded and checked."""

    robot: RobotProfile
    control: ControlConfig
    engine: EngineConfig
    tasks: tuple[StandingTask, ...]
    memory_path: Path | None
    max_facts: int
    trace_path: Path | None


class NodeParameters:
    """
    Declares the parameters on a node and reads them as checked configuration.

    Raises ConfigError, naming parameter, value and remedy, for what cannot be used.
    """

    def __init__(self, node, overrides: Mapping[str, object]):
        """
        Declare everything, cameras of the profile included.

        overrides: parameter name -> value as given on the command line or in a file.
        """
        self._node = node
        self._known: dict[str, Parameter] = {}
        self._on_change = None
        self._is_configured = lambda: False
        self._is_remembering = False
        for parameter in PARAMETERS:
            self._declare(parameter, overrides)
        self.robot = self._load_robot(overrides)
        node.add_on_set_parameters_callback(self._on_set)

    def get(self, name: str, changes: Mapping[str, object] = MappingProxyType({})):
        """Return the present value of a parameter, or what it is about to become."""
        if name in changes:
            return changes[name]
        return self._known[name].check(self._node.get_parameter(name).value)

    def on_change(self, listener: Callable[[Mapping[str, object]], None],
                  is_configured: Callable[[], bool]) -> None:
        """
        Call listener(name -> value) before parameters that are read at once change together.

        Its ConfigError refuses them. While is_configured() those that were read then are refused.
        """
        self._on_change, self._is_configured = listener, is_configured

    def remember(self, values: Mapping[str, object]) -> None:
        """Take over what changed by other means, also while the node is configured."""
        self._is_remembering = True
        try:
            self._node.set_parameters([RosParameter(name, value=value)
                                       for name, value in values.items()])
        finally:
            self._is_remembering = False

    def control(self, changes: Mapping[str, object] = MappingProxyType({})) -> ControlConfig:
        """Return the configuration of the control side, present or with changes."""
        return ControlConfig(**{name: self.get(name, changes) for name in (
            'fallback', 'limit_mode', 'transition', 'interpolation', 'realtime_priority')})

    def thresholds(self, changes: Mapping[str, object] = MappingProxyType({})) -> Thresholds:
        """Return from when on the diagnostics warn, present or with changes."""
        return Thresholds(**{threshold.name: self.get(f'diagnostics.{threshold.name}', changes)
                             for threshold in fields(Thresholds)})

    def tasks(self, changes: Mapping[str, object] = MappingProxyType({})
              ) -> tuple[StandingTask, ...]:
        """Load the standing tasks, as parameters are or are about to become."""
        tasks = choose_tasks(self.get('tasks_file', changes), self.get('checkpoint', changes))
        tasks = change_tasks(tasks, self.get('task_changes', changes))
        check_tasks(tasks, max_text_tokens=self.get('max_text_tokens', changes))
        return tasks

    def read(self) -> Settings:
        """Load what the parameters name now."""
        value = self.get
        engine = EngineConfig(
            checkpoint=value('checkpoint'), asset_id=value('asset_id'),
            tokenizer=value('tokenizer'), policy=value('policy'), seed=value('seed'),
            num_denoise_steps=value('num_denoise_steps'), num_threads=value('num_threads'),
            num_texts=value('num_texts'), max_text_tokens=value('max_text_tokens'),
            device=value('device'), weights=value('weights'),
            scheduler=SchedulerConfig(replan_hz=value('replan_hz')))
        robot = replace(self.robot, instruction=value('instruction') or self.robot.instruction)
        return Settings(robot=robot, control=self.control(), engine=engine, tasks=self.tasks(),
                        memory_path=_path(value('memory_file')), max_facts=value('max_facts'),
                        trace_path=_path(value('tick_trace_file')))

    def unknown(self, overrides: Iterable[str]) -> list[str]:
        """Return the names among overrides that nobody declares, with the likely meaning."""
        return [name for name in sorted(overrides)
                if name not in self._known and name not in _FOREIGN
                and not name.startswith(_FOREIGN_PREFIXES)]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all parameters."""
        return tuple(self._known)

    def _declare(self, parameter: Parameter, overrides: Mapping[str, object]):
        value = parameter.check(overrides.get(parameter.name, parameter.default))
        self._node.declare_parameter(parameter.name, value, parameter.descriptor,
                                     ignore_override=True)
        self._known[parameter.name] = parameter
        return value

    def _load_robot(self, overrides: Mapping[str, object]) -> RobotProfile:
        """Load the profile with what parameters change of it."""
        robot = load_robot(os.path.expanduser(self.get('robot')), urdf=self.get('urdf_file'))
        cameras = []
        for camera in robot.cameras:
            changes = {field: self._declare(make(camera), overrides)
                       for field, make in _CAMERA_PARAMETERS}
            cameras.append(replace(camera, **changes))
        return replace(
            robot, cameras=tuple(cameras),
            control_rate_hz=self.get('control_rate_hz') or robot.control_rate_hz,
            command_type=self.get('command_type') or robot.command_type)

    def _on_set(self, changes) -> SetParametersResult:
        """Check a change from outside; refuse all of it with the reason, or accept it."""
        try:
            values = {change.name: self._known[change.name].check(change.value)
                      for change in changes if change.name in self._known}
            live = {name: value for name, value in values.items()
                    if self._known[name].read == LIVE}
            rest = sorted(name for name in values.keys() - live.keys()
                          if values[name] != self.get(name))
            if rest and self._is_configured() and not self._is_remembering:
                raise ConfigError(f'parameter {rest[0]} is read at configure and the node is '
                                  f'configured; deactivate and clean up first, then set it')
            if live and self._on_change is not None:
                self._on_change(live)
        except ConfigError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)


def _path(text: str) -> Path | None:
    return Path(text).expanduser() if text else None
