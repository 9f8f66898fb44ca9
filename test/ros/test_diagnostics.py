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

"""Every threshold makes its part warn, and nothing else; the worst is said first."""

from dataclasses import replace
import time

from diagnostic_msgs.msg import DiagnosticStatus
import pytest

from oxygen_ros.config import ConfigError
from oxygen_ros.config import ControlConfig
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import load_robot
from oxygen_ros.config import Thresholds
from oxygen_ros.ros.diagnostics import Diagnostics
from oxygen_ros.ros.faults import Faults
from oxygen_ros.runtime.protocol import EngineInfo
from oxygen_ros.runtime.protocol import EngineState
from oxygen_ros.runtime.protocol import EngineStatus
from oxygen_ros.runtime.session import Session
from oxygen_ros.runtime.status import Spread
from oxygen_ros.sensing.intake import Source
from oxygen_ros.types import KVUse

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR


class Silent:
    """A logger nobody reads."""

    def warning(self, text: str) -> None:
        """Ignore it."""

    error = warning


class Bench:
    """Diagnostics of a robot whose figures are all as they should be until one is changed."""

    def __init__(self):
        self.faults = Faults(Silent())
        self.robot = load_robot('so101')
        self.sources = {name: Source(topic=f'/{name}', required=name != 'wrist')
                        for name in ('front', 'wrist', 'joint_states')}
        self.diagnostics = Diagnostics('/oxygen', self.robot, self.sources, faults=self.faults)
        idle = Session(self.robot, ControlConfig(), EngineConfig(),
                       node_clock_ns=lambda: 1).snapshot()
        self.status = replace(
            idle, active=True,
            deadline=replace(idle.deadline, verdict='fresh', cause=''),
            figures=replace(idle.figures, kv=KVUse(10, 100, 1, 1, 0, 2, 1), facts=9,
                            status=EngineStatus(EngineState.READY, pid=7, info=EngineInfo(
                                'trained', trained=True, horizon=50))))

    def change(self, part: str, **changes) -> None:
        """Change the deadline or the figures."""
        self.status = replace(self.status, **{part: replace(getattr(self.status, part),
                                                            **changes)})

    def listen(self, *, rate_hz: float = 50.0, without: str = '') -> None:
        """Let every source but one speak for a while."""
        self.diagnostics._before_s = time.monotonic() - 1.0
        for name, source in self.sources.items():
            if name != without:
                source.num_received += round(rate_hz)
                source.last_s = time.monotonic()
                source.newest_ns += 10 ** 9

    def parts(self) -> dict[str, DiagnosticStatus]:
        """Return the parts by name."""
        return {part.name.removeprefix('/oxygen: '): part
                for part in self.diagnostics.report('active', self.status)}

    def troubles(self) -> dict[str, tuple[bytes, str]]:
        """Return level and message of every part that is not well."""
        return {name: (part.level, part.message) for name, part in self.parts().items()
                if part.level != OK}


@pytest.fixture
def bench():
    """Return a bench on which all is well."""
    bench = Bench()
    bench.listen()
    assert bench.troubles() == {}
    bench.listen()
    return bench


def test_every_part_has_the_robot_as_hardware_and_figures(bench):
    parts = bench.parts()
    assert list(parts) == ['node', 'camera front', 'camera wrist', 'joint states', 'tick', 'model',
                           'engine', 'kv', 'memory']
    assert all(part.hardware_id == 'so101' and part.values for part in parts.values())
    assert parts['model'].message == 'trained'
    assert parts['kv'].message == '10% in use'


@pytest.mark.parametrize(('where', 'change', 'part', 'level', 'words'), [
    ('deadline', {'lateness_p99': 0.012}, 'tick', WARN, 'late: p99 12.0 ms, allowed 5 ms'),
    ('deadline', {'missed': 3}, 'tick', WARN, '3 ticks missed'),
    ('deadline', {'verdict': 'fallback', 'cause': 'camera_stale'}, 'tick', WARN,
     'fallback: camera_stale'),
    ('figures', {'action_latency_s': Spread(0.1, 1.5)}, 'engine', WARN, 'slow: 1.50 s'),
    ('figures', {'rates_met': False, 'detail': 'replan_hz 10 cannot be met'}, 'engine', WARN,
     'replan_hz 10 cannot be met'),
    ('figures', {'status': EngineStatus(EngineState.FAILED, 'gave up', info=EngineInfo(
        'trained', trained=True))}, 'engine', ERROR, 'gave up'),
    ('figures', {'status': EngineStatus(EngineState.READY, restarts=2, info=EngineInfo(
        'trained', trained=True))}, 'engine', WARN, '2 restarts'),
    ('figures', {'status': EngineStatus(EngineState.READY, info=EngineInfo('tiny'))}, 'model',
     WARN, 'random weights'),
    ('figures', {'kv': KVUse(99, 100, 1, 1, 0, 2, 1)}, 'kv', WARN, '99% full'),
    ('figures', {'kv': KVUse(9, 100, 1, 1, 4096, 2, 1)}, 'kv', WARN, 'copied'),
    ('figures', {'malformed_facts': 30}, 'memory', WARN, '77% of the lines are no facts'),
    ('figures', {'facts_not_stored': 1}, 'memory', ERROR, '1 facts could not be stored')])
def test_each_trouble_is_told_by_its_part_alone(bench, where, change, part, level, words):
    bench.change(where, **change)
    (name, (told, message)), = bench.troubles().items()
    assert (name, told) == (part, level)
    assert words in message


def test_missed_ticks_are_told_once(bench):
    bench.change('deadline', missed=3)
    assert 'tick' in bench.troubles()
    bench.listen()
    assert bench.troubles() == {}


def test_slow_sources_are_told_by_their_thresholds(bench):
    bench.diagnostics.thresholds = Thresholds(min_camera_hz=60, min_joints_hz=10)
    assert set(bench.troubles()) == {'camera front', 'camera wrist'}
    bench.diagnostics.thresholds = Thresholds(min_camera_hz=1, min_joints_hz=200)
    bench.listen()
    assert bench.troubles()['joint states'] == (WARN, '50.0 Hz, wanted 200 Hz')


def test_silent_source_is_an_error_only_where_the_robot_cannot_move_without_it(bench):
    for source in bench.sources.values():
        source.last_s = time.monotonic() - 2.0
    troubles = bench.troubles()
    assert {name: level for name, (level, _) in troubles.items()} == {
        'camera front': ERROR, 'camera wrist': WARN, 'joint states': ERROR}
    assert troubles['camera front'][1] == 'nothing for 2.0 s, allowed 0.5 s'
    bench.status = replace(bench.status, active=False)
    assert {level for level, _ in bench.troubles().values()} == {WARN}, 'it stands still anyway'


def test_source_that_never_spoke_is_told_if_it_is_required(bench):
    for name in ('front', 'wrist'):
        bench.sources[name].last_s = 0.0
    assert bench.troubles() == {'camera front': (ERROR, 'no data')}


def test_source_that_repeats_itself_is_frozen(bench):
    bench.parts()
    bench.listen()
    bench.sources['front'].newest_ns -= 10 ** 9
    assert bench.troubles() == {'camera front': (ERROR, 'repeats one message: frozen')}


def test_reasons_of_refused_messages_are_figures(bench):
    bench.sources['front'].reasons['step 0'] = 4
    values = {value.key: value.value for value in bench.parts()['camera front'].values}
    assert values['refused: step 0'] == '4'


def test_faults_are_told_worst_first(bench):
    bench.faults.warn('a', 'something small')
    bench.faults.error('b', 'something big')
    assert bench.troubles()['node'] == (ERROR, 'something big; something small')


def test_before_configure_there_are_node_and_sources_only(bench):
    parts = bench.diagnostics.report('unconfigured', None)
    assert [part.name.split(': ')[1] for part in parts] == [
        'node', 'camera front', 'camera wrist', 'joint states']


def test_thresholds_out_of_range_are_refused():
    with pytest.raises(ConfigError, match=r'diagnostics\.max_kv_share'):
        Thresholds(max_kv_share=1.5)
