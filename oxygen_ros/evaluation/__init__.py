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
What a model would have done on a recording: replay, errors, report, comparison.

    costs      what engine stages take on another machine
    drive      lets a recording's time pass: stepped, or on the real clock
    notes      what is kept of a replay, recorded truth included
    replay     a bag through the same intake and session as the node's
    errors     actions against what was recorded
    report     everything as one JSON document, ticks as CSV
    page       the report as one HTML file, charts: its drawings
    compare    two reports against each other
"""
