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

"""Where texts go besides the language stream: memory, speech, the action prompt."""

from collections.abc import Callable
from collections.abc import Sequence

from oxygen_ros.config import StandingTask
from oxygen_ros.config.tasks import RESERVED
from oxygen_ros.runtime.facts import FactReader
from oxygen_ros.runtime.sentences import SentenceReader
from oxygen_ros.runtime.subtask import SubtaskControl
from oxygen_ros.types import MemoryFact
from oxygen_ros.types import Sentence
from oxygen_ros.types import TokenDelta


class Destinations:
    """
    Reads each piece of text for the destinations of its task; pieces come from one thread.

    A text keeps the destinations its task had when it began, also when tasks change meanwhile.
    """

    def __init__(self, subtasks: SubtaskControl, *, on_fact: Callable[[MemoryFact], None],
                 on_sentence: Callable[[Sentence], None], on_malformed: Callable[[str], None]):
        self._subtasks = subtasks
        self._on_fact = on_fact
        self._on_sentence = on_sentence
        self._facts = FactReader(on_malformed)
        self._sentences = SentenceReader()
        self._of_task: dict[str, tuple[str, ...]] = {}
        self._of_text: dict[str, tuple[str, ...]] = {}    # open texts
        self.speak_answers = False                        # of questions

    def set_tasks(self, tasks: Sequence[StandingTask]) -> None:
        """Note where texts that begin from now on go; any thread."""
        self._of_task = {task.name: task.destination for task in tasks}
        if not any('instruction' in words for words in self._of_task.values()):
            self._subtasks.stop_following()

    def push(self, delta: TokenDelta) -> None:
        """Take a piece of text, in order per request."""
        words = self._of_text.pop(delta.request_id, None)
        if words is None:
            words = self._of_task.get(delta.task, ())
            if delta.task == RESERVED and self.speak_answers:
                words = ('say',)
        if not delta.final:
            self._of_text[delta.request_id] = words
        if 'memory' in words:
            for fact in self._facts.push(delta):
                self._on_fact(fact)
        if 'say' in words:
            for sentence in self._sentences.push(delta):
                self._on_sentence(sentence)
        if 'instruction' in words and delta.final:
            self._subtasks.read(delta)
