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

"""Why nothing is heard of a node: which nodes there are instead, in one line."""

import os

from rclpy.node import Node


def absence(node: Node, name: str) -> str:
    """Say that the node `name` is not in the namespace of `node`, and who is here; '' if it is."""
    namespace = node.get_namespace().rstrip('/')
    others = sorted(f'{space.rstrip("/")}/{other}' for other, space
                    in node.get_node_names_and_namespaces() if other != node.get_name())
    if f'{namespace}/{name}' in others:
        return ''
    domain = os.environ.get('ROS_DOMAIN_ID') or '0'
    where = f' in namespace {namespace}' if namespace else ''
    return (f'no node {name}{where} on ROS domain {domain}; start it (oxygen node), or check '
            f'--node, the namespace (--ros-args -r __ns:=/NAME) and ROS_DOMAIN_ID. Nodes here: '
            f'{", ".join(others) or "none"}')
