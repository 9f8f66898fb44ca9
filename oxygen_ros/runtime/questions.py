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

"""Makes requests of questions, with what the robot remembers about them."""

import itertools

from oxygen_ros.config.prompts import fact_words
from oxygen_ros.config.prompts import question_prompt
from oxygen_ros.config.tasks import RESERVED
from oxygen_ros.runtime.memory import MemoryStore
from oxygen_ros.types import LanguageRequest
from oxygen_ros.types import Sampling

NUM_CANDIDATES = 32        # facts looked up; the engine takes as many as there is room for


class Questions:
    """Numbers questions and fills in what they leave open. Any thread."""

    def __init__(self, *, max_text_tokens: int):
        self._max_text_tokens = max_text_tokens
        self._numbers = itertools.count(1)
        self.memory_tokens = 64    # room for facts where the question does not say

    def request(self, question: str, memory: MemoryStore | None, *, request_id: str = '',
                max_tokens: int = 0, priority: int = 5, expiry_s: float | None = None,
                sampling: Sampling | None = None, memory_tokens: int = 0) -> LanguageRequest:
        """Return the request; memory None: without facts. Zeros: the defaults."""
        facts = memory.relevant(question, limit=NUM_CANDIDATES) if memory else ()
        return LanguageRequest(
            request_id or f'ask-{next(self._numbers)}', RESERVED, question_prompt(question),
            max_tokens or self._max_text_tokens, priority, sampling or Sampling(),
            expiry_s=expiry_s, memory_tokens=memory_tokens or self.memory_tokens,
            facts=tuple(fact_words(fact.subject, fact.relation, fact.object) for fact in facts))
