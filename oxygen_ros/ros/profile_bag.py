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

"""`oxygen profile check` against a recording; needs no ROS."""

from oxygen_ros.bags.files import BagError
from oxygen_ros.bags.reader import Bag
from oxygen_ros.config import RobotProfile
from oxygen_ros.sensing.findings import Finding
from oxygen_ros.sensing.findings import NOTE
from oxygen_ros.sensing.findings import WRONG
from oxygen_ros.sensing.profile_check import ProfileCheck


def findings_of_bag(robot: RobotProfile, path: str, *, namespace: str = '') -> list[Finding]:
    """Read what a profile needs from a recording; raises BagError where it cannot be read."""
    undecoded: dict[str, str] = {}      # topic -> why
    with Bag(path) as bag:
        check = ProfileCheck(robot, bag.types, namespace=namespace, verb='recorded')
        for raw in bag.messages(list(check.topics)):
            try:
                message = bag.decode(raw)
            except BagError as error:
                undecoded[raw.topic] = str(error)
                continue
            check.take(raw.topic, message, raw.time_ns)
        found = [Finding('bag', NOTE, fault) for fault in bag.faults]
    found += [Finding('bag', WRONG, text, 'record it again') for text in undecoded.values()]
    return [*found, *check.findings(), check.command_finding()]
