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

import pytest
from ros_helpers import NodeProcess
from ros_helpers import wait_until

TEXT = (Path(__file__).resolve().parents[2] / 'doc' / 'reference' / 'topics.md').read_text(
    encoding='utf-8')
OF_EVERY_NODE = ('/parameter_events', '/rosout', '/tf', '/documented/transition_event')
LIFECYCLE_AND_PARAMETERS = re.compile(
    r'parameter|get_|set_|describe_|list_|change_state|type_description')


def rows(heading: str) -> set[tuple[str, str]]:
    """Return (full name, type) of the table below a heading, for a node without namespace."""
    section = TEXT.split(f'## {heading}')[1].split('\n## ')[0]
    return {(name.replace('~', '/documented') if name[0] in '~/' else f'/{name}', kind.split()[0])
            for name, kind in re.findall(r'^\| `(.+?)` \| (.+?) \|', section, re.M)
            if not name.startswith('<')}


@pytest.fixture(scope='module')
def node(tmp_path_factory):
    node = NodeProcess(tmp_path_factory.mktemp('reference'), parameters={'robot': 'so101'},
                       ros_arguments=['-r', '__node:=documented'])
    yield node
    node.stop()


def offered(observer, method: str) -> set[tuple[str, str]]:
    """Return (name, type) of what the running node has, once discovery has found it."""
    def find():
        try:
            return getattr(observer, method)('documented', '/')
        except RuntimeError:      # not discovered yet
            return []
    # The ask action comes up last.
    assert wait_until(lambda: any(name == '/documented/ask/_action/status' for name, _ in
                                  observer.get_topic_names_and_types()), timeout_s=40)
    return {(name, kind) for name, kinds in wait_until(find, timeout_s=20) for kind in kinds
            if name not in OF_EVERY_NODE and '/_action/' not in name}


def test_published_topics(node, make_node):
    found = offered(make_node('reference_publishers'), 'get_publisher_names_and_types_by_node')
    assert found == rows('It publishes')


def test_subscribed_topics(node, make_node):
    found = offered(make_node('reference_subscribers'), 'get_subscriber_names_and_types_by_node')
    cameras = {(f'/{slot}/image', 'sensor_msgs/msg/Image') for slot in ('front', 'wrist')}
    assert found == rows('It listens to') | cameras


def test_services(node, make_node):
    found = offered(make_node('reference_services'), 'get_service_names_and_types_by_node')
    own = {(name, kind) for name, kind in found if not LIFECYCLE_AND_PARAMETERS.search(name)}
    assert own | {('/documented/ask', 'oxygen_ros/action/Ask')} == rows('It answers')
