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
Recordings in the rosbag2 format, read and written without a ROS installation.

    files           which storage files make up a bag, and whether they are whole
    reader          messages of all files in the order of time
    salvage         messages of an mcap file whose end is missing
    salvage_sqlite  rows of an sqlite3 file that is cut off or damaged
    types           message definitions, ours included
    topics          which recorded topic feeds which input of a robot
"""
