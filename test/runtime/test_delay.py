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

"""The delay that real-time chunking reckons with is measured, and on the safe side."""

from oxygen_ros.runtime.delay import DelayMeter


def test_the_delay_is_a_high_quantile_of_the_recent_ones():
    meter = DelayMeter()
    assert meter.high_s == 0.0
    for number in range(100):
        meter.add(0.1 if number % 10 else 0.2, horizon_s=1.0)
    assert meter.high_s == 0.2               # one in ten
    for _ in range(50):
        meter.add(0.05, horizon_s=1.0)
    assert meter.high_s == 0.05              # an engine that became faster
    meter.add(0.3, horizon_s=1.0)
    assert meter.high_s == 0.05              # one in fifty


def test_a_delay_that_a_set_clock_made_up_does_not_count():
    meter = DelayMeter()
    for delay_s in (-60.0, 60.0, 0.08):
        meter.add(delay_s, horizon_s=0.5)
    assert meter.high_s == 0.08
