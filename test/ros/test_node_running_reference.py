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

"""doc/reference/topics.md lists exactly what a running node offers."""

from pathlib import Path
import re
import time

TEXT = (Path(__file__).resolve().parents[2] / 'doc' / 'reference' / 'topics.md').read_text(
    encoding='utf-8')
OF_EVERY_NODE = ('/parameter_events', '/rosout', '/tf', '/oxygen/transition_event')
LIFECYCLE_AND_PARAMETERS = re.compile(
    r'parameter|get_|set_logger|describe_|list_|change_state|type_description')


def rows(heading: str) -> set[tuple[str, str]]:
    """Return (full name, type) of the table below a heading, for a node without namespace."""
    section = TEXT.split(f'## {heading}')[1].split('\n##')[0]
    return {(name.replace('~', '/oxygen') if name[0] in '~/' else f'/{name}', kind.split()[0])
            for name, kind in re.findall(r'^\| `(.+?)` \| (.+?) \|', section, re.M)
            if not name.startswith('<')}


def settled(observer, method: str, wanted: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """
    Return (name, type) of what the running node has.

    Discovery brings endpoints one by one, so what is missing gets 40 s to appear; what is there
    and not wanted is returned all the same.
    """
    found = set()

    def complete():
        nonlocal found
        try:
            offered = getattr(observer, method)('oxygen', '/')
        except RuntimeError:      # not discovered yet
            return False
        found = {(name, kind) for name, kinds in offered for kind in kinds
                 if name not in OF_EVERY_NODE and '/_action/' not in name
                 and not LIFECYCLE_AND_PARAMETERS.search(name)}
        return wanted <= found

    give_up_s = time.monotonic() + 40
    while not complete() and time.monotonic() < give_up_s:
        time.sleep(0.05)
    return found


def test_published_topics(running_node, make_node):
    wanted = rows('It publishes')
    observer = make_node('reference_publishers')
    assert settled(observer, 'get_publisher_names_and_types_by_node', wanted) == wanted


def test_subscribed_topics(running_node, make_node):
    cameras = {(f'/{slot}/image', 'sensor_msgs/msg/Image') for slot in ('front', 'wrist')}
    wanted = rows('It listens to') | cameras
    observer = make_node('reference_subscribers')
    assert settled(observer, 'get_subscriber_names_and_types_by_node', wanted) == wanted


def test_services(running_node, make_node):
    wanted = rows('It answers') - {('/oxygen/ask', 'oxygen_ros/action/Ask')}   # an action
    observer = make_node('reference_services')
    assert settled(observer, 'get_service_names_and_types_by_node', wanted) == wanted
