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

"""Fixtures for every test."""

import logging

import pytest


@pytest.fixture(autouse=True)
def log_records_reach_pytest():
    """
    Let records of this package reach caplog.

    Where launch_testing is installed its pytest plugin is loaded for every run, and launch makes
    all loggers that are created afterwards keep their records to themselves.
    """
    logging.setLoggerClass(logging.Logger)
    for name in list(logging.root.manager.loggerDict):
        if name.startswith('oxygen_ros'):
            logging.getLogger(name).propagate = True
