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

"""Sends the records of Python's logging to the node's logger, and so to /rosout."""

import logging


class NodeLogHandler(logging.Handler):
    """A logging handler for one node; may be called from any thread."""

    def __init__(self, logger):
        super().__init__()
        self._logger = logger

    def emit(self, record: logging.LogRecord) -> None:
        """Pass one record on, with its traceback."""
        try:
            text = self.format(record)
            # rclpy remembers the severity of each calling line, so each needs its own.
            if record.levelno >= logging.ERROR:
                self._logger.error(text)
            elif record.levelno >= logging.WARNING:
                self._logger.warning(text)
            elif record.levelno >= logging.INFO:
                self._logger.info(text)
            else:
                self._logger.debug(text)
        except Exception:
            self.handleError(record)


def send_logs_to(logger, *, package: str = 'oxygen_ros') -> NodeLogHandler:
    """Route the package's records to a node logger; returns the handler for `stop_logs`."""
    handler = NodeLogHandler(logger)
    package_logger = logging.getLogger(package)
    package_logger.addHandler(handler)
    package_logger.setLevel(logging.INFO)
    package_logger.propagate = False
    return handler


def stop_logs(handler: NodeLogHandler, *, package: str = 'oxygen_ros') -> None:
    """Undo send_logs_to, before its node goes away."""
    logging.getLogger(package).removeHandler(handler)
