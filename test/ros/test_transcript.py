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

"""Concurrent texts on one terminal stay readable."""

from oxygen_ros.ros.transcript import Transcript


def test_one_text_streams_as_it_comes():
    transcript = Transcript()
    shown = [transcript.add('a', 'narrate', ' the', final=False),
             transcript.add('a', 'narrate', ' cube', final=False),
             transcript.add('a', 'narrate', '', final=True)]
    assert shown == ['narrate    the', ' cube', '\n']


def test_concurrent_texts_do_not_cut_into_each_other_and_nothing_is_lost():
    transcript = Transcript()
    shown = ''
    for request, task, text, final in (
            ('a', 'narrate', ' one', False), ('b', 'subtask', ' two', False),
            ('c', 'memory', ' three', False), ('a', 'narrate', ' four', False),
            ('c', 'memory', '', True), ('b', 'subtask', ' five', False),
            ('a', 'narrate', ' six', True), ('b', 'subtask', ' seven', True)):
        shown += transcript.add(request, task, text, final=final)
    assert shown.splitlines() == [
        'narrate    one four six', 'memory     three', 'subtask    two five seven']


def test_another_line_starts_below_a_text_and_the_text_goes_on_below_it():
    transcript = Transcript()
    shown = transcript.add('a', 'narrate', ' one', final=False)
    shown += transcript.interrupt() + 'summary\n'
    shown += transcript.add('a', 'narrate', ' two', final=True)
    assert shown.splitlines() == ['narrate    one', 'summary', 'narrate   … two']
    assert transcript.interrupt() == ''


def test_a_text_that_ends_right_after_another_line_leaves_no_empty_one():
    transcript = Transcript()
    shown = transcript.add('a', 'narrate', ' one', final=False)
    shown += transcript.add('b', 'memory', ' two', final=True)
    shown += transcript.interrupt() + 'summary\n'
    shown += transcript.add('a', 'narrate', '', final=True)
    assert shown.splitlines() == ['narrate    one', 'summary', 'memory     two']


def test_a_text_without_a_word_leaves_no_line():
    transcript = Transcript()
    assert transcript.add('a', 'narrate', '', final=True) == ''
    assert transcript.add('b', 'narrate', ' one', final=False) == 'narrate    one'
    assert transcript.add('c', 'memory', '', final=True) == ''
    assert transcript.add('b', 'narrate', '', final=True) == '\n'


def test_a_line_break_of_the_model_does_not_break_the_line():
    assert Transcript().add('a', 'memory', ' x\ny', final=True) == 'memory     x y\n'
