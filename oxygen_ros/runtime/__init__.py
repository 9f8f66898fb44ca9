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
Drives one robot: the session, the engine process behind it, memory and figures.

    session          the one object that node, bag tool, simulator and benchmark drive
    host, process    supervision of the engine, one life of its process
    worker, inline   the engine in a child process, or in this one
    lockstep         the engine in this one, on time that is stepped by the caller
    shared_frames    pictures and chunks across processes, channel: small messages
    facts, memory    text -> facts -> store on disk
    metrics          what a run amounted to

Only worker, inline and lockstep import torch, so the process that holds the tick never does.
"""
