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

"""Message definitions for reading and writing bags: the standard ones, ours, and a bag's own."""

from rosbags.interfaces import MessageDefinitionFormat
from rosbags.typesys import get_types_from_idl
from rosbags.typesys import get_types_from_msg
from rosbags.typesys import get_typestore
from rosbags.typesys import Stores
from rosbags.typesys.store import Typestore

from oxygen_ros.config import ConfigError
from oxygen_ros.config import find_share_file

PACKAGE = 'oxygen_ros'


def standard_types() -> Typestore:
    """Return the messages of ROS 2 itself."""
    return get_typestore(Stores.ROS2_KILTED)


def own_definition(name: str) -> str:
    """Return the text of one of our .msg files; ConfigError where it is not installed."""
    return find_share_file(f'msg/{name}.msg').read_text(encoding='utf-8')


def register_own(store: Typestore, type_name: str) -> bool:
    """Add one of our messages, oxygen_ros/msg/NAME; False if there is none of that name."""
    package, _, name = type_name.split('/')
    if package != PACKAGE:
        return False
    try:
        store.register(get_types_from_msg(own_definition(name), type_name))
    except ConfigError:
        return False
    return True


def register(store: Typestore, type_name: str, form: MessageDefinitionFormat, text: str) -> bool:
    """Add a definition that a bag brings along; True if the type is known afterwards."""
    if type_name in store.types:
        return True
    try:
        if form is MessageDefinitionFormat.IDL:
            types = get_types_from_idl(text)
        elif form is MessageDefinitionFormat.MSG:
            types = get_types_from_msg(text, type_name)
        else:
            return register_own(store, type_name)
        store.register({name: fields for name, fields in types.items()
                        if name not in store.types})
    except Exception:      # the parser and the store have their own errors; a broken definition
        return False       # makes one topic unreadable, not the bag
    return type_name in store.types
