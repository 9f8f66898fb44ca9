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
A bag is evaluated through the session of the node, the same way every run.

Pinned: zero and wrong stamps (BAG-07), splits and compression that change the outcome (BAG-03,
BAG-05), an empty report that looks like a success (BAG-01).
"""

import json

from bag_helpers import header
from bag_helpers import instruction
from bag_helpers import joints
from bag_helpers import picture
from bag_helpers import S
from bag_helpers import scene
from bag_helpers import START_NS
from bag_helpers import write_bag
from bag_helpers import write_profile
from bag_helpers import write_split
import pytest

from oxygen_ros.bags.files import BagError
from oxygen_ros.config import ConfigError
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import find_share_file
from oxygen_ros.config import load_robot
from oxygen_ros.config import load_tasks
from oxygen_ros.evaluation.costs import MachineCosts
from oxygen_ros.evaluation.errors import action_errors
from oxygen_ros.evaluation.errors import choose_reference
from oxygen_ros.evaluation.replay import replay
from oxygen_ros.evaluation.replay import ReplaySetting
from oxygen_ros.evaluation.report import document

AHEAD_NS = START_NS + 10 ** 8 * S
COSTS = MachineCosts({'encode': {1: [0.04, 0.06]}, 'denoise': {1: [0.05]},
                      'decode': {1: [0.01], 16: [0.02]}}, machine='slow')


@pytest.fixture(scope='module')
def robot(tmp_path_factory):
    return load_robot(str(write_profile(tmp_path_factory.mktemp('robot'))))


def tasks():
    return load_tasks(find_share_file('config/tasks.yaml'))


def report_of(bag, robot, **options):
    """Replay a bag; returns the replay and its report without what is this machine's."""
    replayed = replay(bag, ReplaySetting(robot, EngineConfig(), **options))
    reference = choose_reference(replayed.notes, 'auto')
    report = document(replayed, action_errors(replayed.notes, reference), bag='bag', machine={})
    del report['machine']
    return replayed, report


@pytest.fixture(scope='module')
def whole(tmp_path_factory, robot):
    """Return bag, replay and report of an undamaged recording."""
    bag = write_bag(tmp_path_factory.mktemp('whole') / 'bag', scene(commands=True))
    return bag, *report_of(bag, robot, tasks=tasks())


def test_two_offline_runs_give_the_same_report_to_the_byte(whole, robot):
    bag, _, report = whole
    assert json.dumps(report) == json.dumps(report_of(bag, robot, tasks=tasks())[1])


def test_storage_splits_and_compression_make_no_difference(whole, robot, tmp_path):
    split = write_split(tmp_path / 'split', scene(commands=True), storage='sqlite3',
                        overlap_ns=S // 5)
    packed = write_bag(tmp_path / 'packed', scene(commands=True), compression='message')
    for bag in (split, packed):
        assert report_of(bag, robot, tasks=tasks())[1] == whole[2]


def test_the_report_tells_actions_verdicts_words_and_facts(whole):
    _, replayed, report = whole
    assert report['recording']['observations'] == report['engine']['chunks'] == 6
    assert report['recording']['cameras']['front'] == {'topic': '/front/image', 'messages': 6}
    assert report['actions']['reference'] == 'commands'
    assert set(report['actions']['joints']) == {'arm', 'elbow'}
    assert len(report['actions']['by_index']) == report['chunks']['shape'][0]
    assert report['deadline']['ticks'] == sum(report['deadline']['verdicts'].values()) == 13
    assert report['deadline']['causes'] == {'starting': 1}    # the second camera is later
    texts = [text for text in report['texts'] if text['reason'] in ('eos', 'length')]
    assert texts and all(text['text'] and text['frame'] for text in texts)
    assert report['facts'] and report['facts'][0]['frame'] > 0
    assert report['language']['tokens'] == sum(text['tokens'] for text in report['texts'])
    assert report['engine']['encodes'] == report['engine']['frames'] == 6
    assert not report['setting']['trained'] and not report['source']['faults']
    assert replayed.notes.thumbnails


def test_a_slow_machine_is_simulated_the_same_way_every_run(whole, robot):
    bag, _, fast = whole
    _, slow = report_of(bag, robot, tasks=tasks(), timing='simulated', costs=COSTS)
    again = report_of(bag, robot, tasks=tasks(), timing='simulated', costs=MachineCosts(
        {'encode': {1: [0.04, 0.06]}, 'denoise': {1: [0.05]}, 'decode': {1: [0.01], 16: [0.02]}},
        machine='slow'))[1]
    assert slow == again
    assert slow['engine']['observation_to_chunk_ms']['p50'] == pytest.approx(100, abs=11)
    assert slow['deadline']['causes'] == {'starting': 2}
    assert slow['deadline']['verdicts']['carried'] == 0
    both = set(slow['chunks']['stamps_ns']) & set(fast['chunks']['stamps_ns'])
    actions = [dict(zip(report['chunks']['stamps_ns'], report['chunks']['actions']))
               for report in (slow, fast)]
    assert len(both) >= 5 and all(actions[0][at] == actions[1][at] for at in both)


def test_realtime_gives_the_same_actions_from_the_engine_process(robot, tmp_path):
    bag = write_bag(tmp_path / 'bag', scene(seconds=3))
    (_, offline), (_, live) = report_of(bag, robot), report_of(bag, robot, timing='realtime')
    actions = [dict(zip(report['chunks']['stamps_ns'], report['chunks']['actions']))
               for report in (live, offline)]
    assert len(actions[0]) >= 2     # a busy machine misses some
    assert all(actions[1][stamp_ns] == packed for stamp_ns, packed in actions[0].items())
    assert live['engine']['observation_to_chunk_ms']['p50'] > 1


def test_an_instruction_in_the_recording_or_instead_of_it_reaches_the_model(whole, robot):
    bag, _, recorded = whole
    _, other = report_of(bag, robot, instruction='dance')
    assert other['chunks']['stamps_ns'] == recorded['chunks']['stamps_ns']
    assert other['chunks']['actions'] != recorded['chunks']['actions']


def test_stamps_of_zero_or_wrong_ones_are_told_and_do_not_stop_the_evaluation(robot, tmp_path):
    entries = []
    for index in range(10):
        time_ns = START_NS + index * S // 10
        entries.append(joints(time_ns, [0.1, 0.2], stamp_ns=0))
        stamp_ns = {3: time_ns + 365 * 86400 * S, 6: time_ns - 10 * S}.get(index, time_ns)
        entries.append(picture('/front/image', time_ns, stamp_ns=stamp_ns, value=index))
    replayed, report = report_of(write_bag(tmp_path / 'bag', entries), robot)
    assert report['deadline']['ticks'] == 10
    assert report['recording']['refused'] == {'front': 2, 'wrist': 0, 'joint_states': 0}
    faults = ' '.join(report['source']['faults'])
    assert '/joint_states: stamped zero' in faults
    assert 'in the future' in faults and 'before the one before it' in faults
    assert report['recording']['observations'] >= 7


def test_stamps_of_another_clock_end_in_words_and_can_be_overridden(robot, tmp_path):
    entries = []
    for index in range(6):
        time_ns = START_NS + index * S // 10
        entries += [joints(time_ns, [0.1, 0.2], stamp_ns=AHEAD_NS),
                    picture('/front/image', time_ns, stamp_ns=AHEAD_NS, value=index)]
    bag = write_bag(tmp_path / 'bag', entries)
    with pytest.raises(BagError, match='not one observation.*in the future'):
        replay(bag, ReplaySetting(robot, EngineConfig()))
    assert report_of(bag, robot, stamps='arrival')[1]['engine']['chunks'] >= 4


def test_a_recording_without_joints_of_the_robot_names_those_it_has(robot, tmp_path):
    entries = [entry for index in range(6) for entry in (
        joints(START_NS + index * S // 10, [0.1, 0.2], names=('j1', 'j2')),
        picture('/front/image', START_NS + index * S // 10, value=index))]
    with pytest.raises(BagError, match='never names joint arm, elbow; it names j1, j2'):
        replay(write_bag(tmp_path / 'bag', entries), ReplaySetting(robot, EngineConfig()))


def test_a_picture_that_cannot_be_decoded_is_told_and_the_rest_is_used(robot, tmp_path):
    entries = scene()
    bad = next(entry for entry in entries[20:] if entry.topic == '/front/image')
    bad.message.__init__(header(bad.time_ns), 24, 32, 'rgb8', 0, 96, bad.message.data[:100])
    replayed, report = report_of(write_bag(tmp_path / 'bag', entries), robot)
    assert report['recording']['refused']['front'] == 1
    assert any('100 bytes of data, needs 2304' in fault for fault in replayed.faults)
    assert report['engine']['chunks'] >= 5


def test_nothing_to_see_is_no_success(robot, tmp_path):
    bag = write_bag(tmp_path / 'bag', [instruction(START_NS, 'wave'),
                                       joints(START_NS, [0.0, 0.0])])
    with pytest.raises(BagError, match='lacks camera front'):
        replay(bag, ReplaySetting(robot, EngineConfig()))


def test_simulated_needs_a_cost_model_that_can_be_read(robot, tmp_path):
    with pytest.raises(ConfigError, match='oxygen bench costs'):
        ReplaySetting(robot, EngineConfig(), timing='simulated')
    for text in ('{}', 'no json', '{"format": "oxygen costs 1", "stages": {"encode": {}}}'):
        (tmp_path / 'costs.json').write_text(text)
        with pytest.raises(ConfigError, match='oxygen bench costs'):
            MachineCosts.load(tmp_path / 'costs.json')


def test_costs_go_through_the_samples_and_grow_beyond_the_largest_size():
    assert [COSTS.cost_s('decode', rows) for rows in (1, 2, 16, 32)] == [0.01, 0.02, 0.02, 0.04]
    costs = MachineCosts({'encode': {1: [0.1, 0.2]}, 'denoise': {1: [1]}, 'decode': {1: [1]}})
    assert [costs.cost_s('encode', 1) for _ in range(3)] == [0.1, 0.2, 0.1]
