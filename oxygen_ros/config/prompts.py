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
The words that lead from what the robot sees to a text.

A model is trained on exactly these, so they are in one place. Each stands behind the prompt of
the action (task and state), private to its text.
"""

from collections.abc import Sequence

INSTRUCTION = '{instruction}'    # in the prompt of a standing task: what the operator wants


def question_prompt(question: str) -> str:
    """Return the prompt of a question; the answer follows."""
    return f'\nQuestion: {" ".join(question.split())}\nAnswer:'


def memory_prompt(facts: Sequence[str]) -> str:
    """Return what stands before a question that may use remembered facts; '' without any."""
    return f'\nMemory: {"; ".join(facts)}.' if facts else ''


def fact_words(subject: str, relation: str, thing: str) -> str:
    """Return a fact as a prompt says it."""
    return f'{subject} {relation} {thing}'


def standing_prompt(prompt: str, instruction: str) -> str:
    """Return the prompt of a standing task about a frame with this instruction."""
    return prompt.replace(INSTRUCTION, ' '.join(instruction.split()))
