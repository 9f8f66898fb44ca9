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
How late the machine itself is: a timer that does nothing, above every other priority.

`python -m oxygen_ros.tools.bench_tick_machine` runs until SIGTERM, then prints one line of JSON.
A virtual machine whose host is busy, or a kernel that does not come back in time, holds up this
process too, and no program on it can be punctual. Run by `oxygen bench tick`.
"""

import gc
import json
import signal
import sys
import time

from oxygen_ros.policy.realtime import lock_memory
from oxygen_ros.policy.realtime import request_priority

PRIORITY = 90          # the tick has 50
PERIOD_NS = 2_000_000
WORTH_NOTING_NS = 500_000


def main() -> int:
    """Measure until SIGTERM; return the exit code."""
    stopping = []
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    refusal = request_priority(PRIORITY)
    lock_memory()
    gc.disable()
    stalls = []        # (due, lateness) in ns, steady time
    due_ns = time.monotonic_ns()
    while not stopping:
        due_ns += PERIOD_NS
        time.sleep(max(0, due_ns - time.monotonic_ns()) / 1e9)
        late_ns = time.monotonic_ns() - due_ns
        if late_ns > WORTH_NOTING_NS:
            stalls.append((due_ns, late_ns))
            due_ns += late_ns // PERIOD_NS * PERIOD_NS   # one stall is noted once
    print(json.dumps({'realtime_priority': not refusal, 'stalls': stalls}))
    return 0


if __name__ == '__main__':
    sys.exit(main())
