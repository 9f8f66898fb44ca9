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
Fetches facts from a running node, for `oxygen memory`: prints them as JSON, newest first.

    python -m oxygen_ros.ros.recall_client REQUEST NODE [--ros-args ...]

REQUEST is JSON: subject, relation, text, after_ns, before_ns, history, limit, as in Recall.srv.
"""

from collections.abc import Sequence
import json
import math
import sys

from builtin_interfaces.msg import Time

from oxygen_ros.msg import MemoryFact
from oxygen_ros.ros.client import Client
from oxygen_ros.ros.client import Interrupted
from oxygen_ros.ros.client import run_client
from oxygen_ros.ros.command import complain
from oxygen_ros.ros.command import EXIT_FAILED
from oxygen_ros.ros.command import EXIT_INTERRUPTED
from oxygen_ros.ros.command import EXIT_OK
from oxygen_ros.ros.command import stop_on_signals
from oxygen_ros.srv import Recall


def main(argv: Sequence[str] | None = None) -> int:
    """Fetch facts; return the exit code."""
    stopping = stop_on_signals()
    request, node, *ros_arguments = sys.argv[1:] if argv is None else argv
    return run_client('memory', ros_arguments, node, stopping,
                      lambda client: fetch(client, json.loads(request)))


def fetch(client: Client, wanted: dict) -> int:
    """Ask the node and print its facts; return the exit code."""
    times = {name: _time(wanted.pop(f'{name}_ns')) for name in ('after', 'before')}
    try:
        response = client.call(Recall, 'recall', Recall.Request(**wanted, **times))
    except Interrupted:
        return EXIT_INTERRUPTED
    if not response.success:
        return complain('memory', response.message, EXIT_FAILED)
    json.dump([as_dict(fact) for fact in response.facts], sys.stdout)
    return EXIT_OK


def as_dict(fact: MemoryFact) -> dict:
    """Return a fact with the fields of types.MemoryFact."""
    return {'subject': fact.subject, 'relation': fact.relation, 'object': fact.object,
            'stamp_ns': fact.stamp.sec * 10 ** 9 + fact.stamp.nanosec, 'frame_id': fact.frame_id,
            'request_id': fact.request_id, 'fact_id': fact.fact_id,
            'superseded': fact.superseded,
            'confidence': None if math.isnan(fact.confidence) else fact.confidence}


def _time(stamp_ns: int) -> Time:
    sec, nanosec = divmod(stamp_ns, 10 ** 9)
    return Time(sec=sec, nanosec=nanosec)


if __name__ == '__main__':
    sys.exit(main())
