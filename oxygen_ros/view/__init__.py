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
What a person sees of a running or recorded robot: a local page, or the rerun viewer.

    messages -> Feed -> Board -> Page -> browser
                     -> RerunLog

A feed takes messages from topics or from a recording and turns them into what is shown; a board
keeps the newest of it for browsers that come and go; a page serves it. Nothing here knows ROS:
a message is anything with the fields of its type.
"""

from oxygen_ros.view.board import Board
from oxygen_ros.view.channels import Channel
from oxygen_ros.view.channels import channel_of
from oxygen_ros.view.feed import Feed
from oxygen_ros.view.page import Page
from oxygen_ros.view.page import PageError

__all__ = ['Board', 'Channel', 'Feed', 'Page', 'PageError', 'channel_of']
