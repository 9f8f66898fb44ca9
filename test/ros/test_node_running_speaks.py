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
What a running node does with words: tasks changed by hand, speech, subtasks, memory in answers.

The tests share the node of test_node_running_acts.py; each puts back what it changed.
"""

import pytest
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.action import ActionClient
from rclpy.parameter import Parameter
from ros_helpers import ask
from ros_helpers import call
from ros_helpers import LIMIT_S
from ros_helpers import Listener
from ros_helpers import REPLAN_HZ
from ros_helpers import result_of
from ros_helpers import verdict
from ros_helpers import wait_until
from std_msgs.msg import String
import yaml

from oxygen_ros.action import Ask
from oxygen_ros.msg import Subtask
from oxygen_ros.ros import qos
from oxygen_ros.srv import Recall
from oxygen_ros.srv import SetSubtask


@pytest.fixture(scope='module')
def words(running_node, make_node):
    """Listen to speech, subtask and tasks."""
    listener = Listener(make_node('words'))
    listener.listen(String, 'oxygen/say', qos.stream(10))
    listener.listen(Subtask, 'oxygen/subtask', qos.latched())
    listener.listen(String, 'oxygen/tasks', qos.latched())
    return listener


def set_parameters(caller, **values):
    """Set parameters of the node together; return (whether it was done, reason)."""
    result = call(caller, SetParametersAtomically, 'oxygen/set_parameters_atomically',
                  SetParametersAtomically.Request(parameters=[
                      Parameter(name, value=value).to_parameter_msg()
                      for name, value in values.items()])).result
    return result.successful, result.reason


@pytest.fixture
def change(caller):
    """Change parameters; they are as before afterwards."""
    def apply(**values):
        assert set_parameters(caller, **values) == (True, '')
    yield apply
    apply(task_changes='', say_answers=False, replan_hz=REPLAN_HZ)


def set_subtask(caller, **fields):
    """Hold or release a subtask; return (success, message)."""
    response = call(caller, SetSubtask, 'oxygen/set_subtask', SetSubtask.Request(**fields))
    return response.success, response.message


def subtask(words, text):
    """Wait until this is the subtask in force."""
    def newest():
        message = words.last('oxygen/subtask')
        return message if message and message.text == text else None
    return wait_until(newest)


def chosen(*alternatives):
    """Return choices from which random weights can write a regular text."""
    return yaml.safe_dump([list(alternatives)], default_flow_style=True).strip()


def test_tasks_are_changed_while_the_robot_moves(running_node, caller, heard, words, change):
    before = wait_until(lambda: words.last('oxygen/tasks'))
    assert set(yaml.safe_load(before.data)) == {'narrate', 'subtask', 'memory'}
    change(task_changes='{narrate: off, look: {prompt: "Look: ", trigger: every_frame, '
                        'max_tokens: 4, priority: 9}}')
    tasks = yaml.safe_load(wait_until(lambda: words.last('oxygen/tasks') is not before
                                      and words.last('oxygen/tasks')).data)
    assert set(tasks) == {'subtask', 'memory', 'look'} and tasks['look']['priority'] == 9
    look = wait_until(lambda: next((message for message in heard.messages['oxygen/language']
                                    if message.task == 'look' and message.final), None))
    start = len(heard.messages['oxygen/language'])
    wait_until(lambda: len(heard.messages['oxygen/language']) > start + 20)
    # A text about an earlier frame may still have been on its way.
    assert not [message for message in heard.messages['oxygen/language'][start:]
                if message.task == 'narrate' and message.frame_id >= look.frame_id]
    verdict(heard, 'fresh')


@pytest.mark.parametrize('changes, reason', [
    ('{gone: off}', 'no task gone'), ('{narrate: {max_tokens: 65}}', 'max_text_tokens 64'),
    ('{', 'not valid YAML'), ('{narrate: {trigger: often}}', "trigger is 'often'")])
def test_a_wrong_change_is_refused_and_changes_nothing(running_node, caller, words, changes,
                                                       reason):
    before = words.last('oxygen/tasks')
    done, why = set_parameters(caller, task_changes=changes)
    assert not done and reason in why
    assert words.last('oxygen/tasks') is before


def test_whole_sentences_are_spoken(running_node, caller, words, change):
    change(task_changes='{narrate: {destination: say, max_tokens: 40, period_s: 0.5, '
                        f'choices: {chosen(" I see a cup. It is red")}}}}}')
    wait_until(lambda: len(words.messages['oxygen/say']) >= 2)
    assert {message.data for message in words.messages['oxygen/say']} == {
        'I see a cup.', 'It is red'}


def test_answers_are_spoken_if_wanted(running_node, caller, heard, words, change):
    change(say_answers=True)
    before = len(words.messages['oxygen/say'])
    goal, _ = ask(caller, heard, 'what do you see?', max_tokens=6)
    result = result_of(goal).result
    if result.reason == 'eos':       # random words: only a text that ended itself is a sentence
        wait_until(lambda: len(words.messages['oxygen/say']) > before)


def test_a_subtask_of_the_model_is_followed_held_and_replaced(
        running_node, caller, heard, words, robot, change):
    assert set_subtask(caller, hold=True) == (False, 'there is no subtask to hold; give its text')
    change(task_changes='{subtask: {destination: instruction, period_s: 0.5, '
                        f'choices: {chosen(" grasp the cup")}}}}}')
    message = subtask(words, 'grasp the cup')
    assert (message.source, message.held) == ('model', False)
    assert message.request_id.startswith('subtask-') and message.frame_id > 0

    done, said = set_subtask(caller, hold=True, text='wait here')
    assert done and said == 'held: wait here'
    message = subtask(words, 'wait here')
    assert (message.source, message.held, message.frame_id) == ('operator', True, 0)
    ended = [piece.request_id for piece in heard.messages['oxygen/language'] if piece.final]
    wait_until(lambda: any(piece.task == 'subtask' and piece.final
                           and piece.request_id not in ended
                           for piece in heard.messages['oxygen/language']))
    assert words.last('oxygen/subtask').text == 'wait here'

    assert set_subtask(caller, hold=False)[0]
    subtask(words, 'grasp the cup')
    verdict(heard, 'fresh')
    # Switched off, the instruction holds again.
    change(task_changes='')
    subtask(words, '')


def test_a_new_instruction_ends_the_subtask_of_the_old_one(
        running_node, caller, heard, words, robot):
    assert set_subtask(caller, hold=True, text='wait here')[0]
    subtask(words, 'wait here')
    robot.instruct('look at the cup')
    subtask(words, '')
    verdict(heard, 'fresh')


def test_a_question_may_use_what_is_remembered(running_node, caller, heard, change):
    change(replan_hz=1.0)     # a prompt with facts is long: time for it on a busy machine too
    wait_until(lambda: heard.messages['oxygen/memory'])
    thing = heard.last('oxygen/memory').subject
    goal, _ = ask(caller, heard, f'where is the {thing}?', use_memory=True, max_tokens=4)
    facts = list(result_of(goal).result.facts)
    assert facts and facts[0].startswith(f'{thing} is ')
    known = call(caller, Recall, 'oxygen/recall', Recall.Request(history=True)).facts
    assert set(facts) <= {f'{fact.subject} {fact.relation} {fact.object}' for fact in known}
    goal, _ = ask(caller, heard, f'where is the {thing}?', use_memory=True, max_tokens=4,
                  memory_tokens=1)
    assert list(result_of(goal).result.facts) == []
    goal, _ = ask(caller, heard, f'where is the {thing}?', max_tokens=4)
    assert list(result_of(goal).result.facts) == []


def test_many_questions_at_once_all_end_and_too_many_are_told_why(
        running_node, caller, heard, change):
    change(task_changes='{narrate: off, subtask: off, memory: off}', replan_hz=1.0)
    client = ActionClient(caller, Ask, 'oxygen/ask', goal_service_qos_profile=qos.service(),
                          result_service_qos_profile=qos.service())
    assert client.wait_for_server(LIMIT_S)
    goals = [client.send_goal_async(Ask.Goal(question=f'question {number}?', max_tokens=3))
             for number in range(48)]
    wait_until(lambda: all(goal.done() for goal in goals))
    ends = [goal.result().get_result_async() for goal in goals]
    wait_until(lambda: all(end.done() for end in ends), timeout_s=100)
    results = [end.result().result for end in ends]
    refused = [result for result in results if result.reason == 'refused']
    assert {result.reason for result in results} <= {'eos', 'length', 'refused'}
    assert len(results) - len(refused) >= 16
    assert all('questions are open' in result.detail or 'are waiting' in result.detail
               for result in refused)
    change(replan_hz=REPLAN_HZ)
    verdict(heard, 'fresh')


def test_a_question_ends_at_its_deadline(running_node, caller, heard):
    goal, _ = ask(caller, heard, 'tell me everything', max_tokens=64, deadline=0.02)
    assert result_of(goal).result.reason == 'deadline'


def test_every_text_is_repeated_whole_at_its_end(running_node, heard):
    texts = {}
    for message in list(heard.messages['oxygen/language']):
        texts.setdefault(message.request_id, []).append(message)
    whole = [pieces for pieces in texts.values() if pieces[0].index == 0 and pieces[-1].final]
    assert len(whole) >= 4
    for pieces in whole:
        assert ''.join(piece.text for piece in pieces) == pieces[-1].full_text
        assert not any(piece.full_text for piece in pieces[:-1])
