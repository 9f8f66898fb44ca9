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

"""Two-level control: the newest subtask holds, a stale one never does, the operator decides."""

import pytest

from oxygen_ros.runtime.subtask import SubtaskControl
from oxygen_ros.runtime.subtask import SubtaskError
from oxygen_ros.types import EndReason
from oxygen_ros.types import TokenDelta


@pytest.fixture
def told():
    """Return the list of changes that were told."""
    return []


@pytest.fixture
def control(told):
    """Return a control with nothing in force."""
    return SubtaskControl(told.append)


def end(text, frame_id, *, reason=EndReason.EOS):
    """Return the last piece of a text about a frame."""
    return TokenDelta(f'subtask-{frame_id}', 'subtask', frame_id, 1, 3, '', 0, final=True,
                      reason=reason, full_text=text)


def test_the_newest_subtask_is_in_force_and_told_once(control, told):
    """The same words again are no change."""
    control.read(end(' grasp the\n cup', 1))
    control.read(end('grasp the cup', 2))
    control.read(end('lift the cup', 3))
    assert control.current.text == 'lift the cup' and control.current.source == 'model'
    assert [(change.text, change.frame_id) for change in told] == [('grasp the cup', 1),
                                                                  ('lift the cup', 3)]


@pytest.mark.parametrize('delta', [
    end('half a', 5, reason=EndReason.LENGTH), end('x', 5, reason=EndReason.CANCELLED),
    end('x', 5, reason=EndReason.ERROR), end('  \n', 5), end('x' * 300, 5), end('a\x00b', 5)])
def test_a_text_that_is_no_order_changes_nothing(control, told, delta):
    """Cut off, empty, far too long, not printable."""
    control.read(end('grasp the cup', 1))
    control.read(delta)
    assert control.current.text == 'grasp the cup' and len(told) == 1


def test_a_text_from_before_a_new_instruction_is_ignored_however_late_it_ends(control):
    """Else the robot would go on with what it was told before."""
    control.forget(10)
    control.read(end('old plan', 9))
    assert control.current.text == ''
    control.read(end('new plan', 10))
    assert control.current.text == 'new plan'


def test_texts_that_overtake_each_other_do_not_turn_time_back(control):
    """Of two that run at once the one about the newer frame counts."""
    control.read(end('newer', 8))
    control.read(end('older', 7))
    assert control.current.text == 'newer'


def test_an_operator_holds_what_the_model_said(control, told):
    """Until it is released; then the model goes on."""
    control.read(end('grasp the cup', 1))
    assert control.hold().held
    control.read(end('lift the cup', 2))
    assert control.current.text == 'grasp the cup'
    assert not control.release().held
    assert control.current.text == 'grasp the cup'
    control.read(end('lift the cup', 3))
    assert control.current.text == 'lift the cup'
    assert [change.held for change in told] == [False, True, False, False]


def test_an_operator_gives_a_subtask_of_their_own(control):
    """It ends with its release, not with the next text of the model."""
    assert control.hold('  wait\nhere ').text == 'wait here'
    control.read(end('lift the cup', 2))
    assert (control.current.text, control.current.source) == ('wait here', 'operator')
    assert control.release().text == ''


def test_a_new_instruction_ends_a_hold(control):
    """The operator wants something else now."""
    control.hold('wait here')
    control.forget(4)
    assert control.current.text == '' and not control.current.held


def test_holding_nothing_or_nonsense_is_refused_with_the_reason(control, told):
    """And nothing changes."""
    with pytest.raises(SubtaskError, match='no subtask to hold; give its text'):
        control.hold()
    with pytest.raises(SubtaskError, match='at most 200'):
        control.hold('x' * 300)
    assert not told


def test_without_a_task_that_feeds_it_the_instruction_holds(control):
    """Switching two-level control off takes effect; what is held stays."""
    control.read(end('grasp the cup', 1))
    control.stop_following()
    assert control.current.text == ''
    control.hold('wait here')
    control.stop_following()
    assert control.current.text == 'wait here'
