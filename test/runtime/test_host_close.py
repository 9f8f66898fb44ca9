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
Several threads close a host at once, as a signal in the middle of a configure does.

Pinned: the second one woke a thread through a descriptor that the first had just closed.
"""

import threading


def test_threads_that_close_at_once_all_come_back(make_host):
    for _ in range(8):
        host, _ = make_host(checkpoint='scripted:slow 60', ready=False)
        errors, ready = [], threading.Barrier(3)

        def close(host=host, errors=errors, ready=ready):
            ready.wait()
            try:
                host.close()
            except OSError as error:
                errors.append(error)

        threads = [threading.Thread(target=close) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert not errors
        assert not any(thread.is_alive() for thread in threads)
