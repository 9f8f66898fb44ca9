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
"""Service ~/load_checkpoint: another model takes over while the robot moves."""

from collections.abc import Callable
import os

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup

from oxygen_ros.ros.executor import aside
from oxygen_ros.ros.faults import Faults
from oxygen_ros.ros.services import NOT_CONFIGURED
from oxygen_ros.runtime.session import SessionError
from oxygen_ros.srv import LoadCheckpoint


class CheckpointService:
    """
    Serves ~/load_checkpoint.

    on_loaded gets the parameters to keep, so that a later configure loads the same.
    """

    def __init__(self, node, *, faults: Faults, on_loaded: Callable[[dict[str, str]], None]):
        self._session = None
        self._faults = faults
        self._on_loaded = on_loaded
        self._logger = node.get_logger()
        # Stop, questions and status are served meanwhile.
        node.create_service(LoadCheckpoint, '~/load_checkpoint', aside(self._load),
                            callback_group=MutuallyExclusiveCallbackGroup())

    def attach(self, session) -> None:
        """Serve this session from now on; None: answer that there is none."""
        self._session = session

    def _load(self, request, response):
        session = self._session
        try:
            if session is None:
                raise SessionError(NOT_CONFIGURED)
            values = {'checkpoint': os.path.expanduser(request.checkpoint),
                      'asset_id': request.asset_id,
                      'tokenizer': os.path.expanduser(request.tokenizer)}
            response.message = session.load_checkpoint(
                values['checkpoint'], asset_id=values['asset_id'],
                tokenizer=values['tokenizer'])
            response.success = True
            self._on_loaded(values)
            self._logger.info(response.message)
        except SessionError as error:
            response.success, response.message = False, str(error)
            self._logger.error(f'load_checkpoint: {error}')
        except Exception as error:
            self._faults.exception('load_checkpoint', error)
            response.success, response.message = False, str(error)
        return response
