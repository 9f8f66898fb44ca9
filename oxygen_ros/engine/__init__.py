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
When it is computed: one encode per frame, shared by the action and every text.

    engine      the data path: encode, share, act, speak
    kv          who owns which rows of the KV pool
    language    texts about many frames in one batch; requests, sampling, drafts belong to it
    tasks       which texts start by themselves
    scheduler   when a decode step may run; costs, rhythm, meter belong to it
    baselines   other policies behind the same interface, to compare with

Imports models, checkpoint, types and config; knows nothing of processes or ROS.
"""

from oxygen_ros.engine.engine import Engine

__all__ = ['Engine']
