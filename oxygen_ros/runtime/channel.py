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

"""Small messages between session and engine; sending never blocks."""

from collections import deque
import errno
import pickle
import socket
import threading
from typing import Any

_BUFFER_BYTES = 1 << 20      # asked for; the kernel grants what it allows
MAX_MESSAGE_BYTES = 128 << 10
_MAX_WAITING = 10_000        # messages; a peer that far behind gets no more until it reads


class ChannelClosed(Exception):
    """The process at the other end is gone."""


class ChannelFull(Exception):
    """The process at the other end does not read, or the message is too large to send."""


class Channel:
    """
    Picklable messages over a socket that keeps message borders (SOCK_SEQPACKET).

    What the socket does not take at once waits in a queue until `flush`, so a frozen peer never
    blocks the caller. `send` and `flush` may be called from any thread, `receive` from one.
    """

    def __init__(self, sock: socket.socket):
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
        self._socket = sock
        self._waiting: deque[bytes] = deque()
        self._lock = threading.Lock()

    @classmethod
    def pair(cls) -> tuple['Channel', socket.socket]:
        """Return this end as a channel, and the socket to hand to the other process."""
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        return cls(near), far

    def fileno(self) -> int:
        """Return the descriptor to poll; it stays valid until close."""
        return self._socket.fileno()

    @property
    def num_waiting(self) -> int:
        """Return how many messages the socket has not taken yet."""
        return len(self._waiting)

    def send(self, message: Any) -> None:
        """
        Send now if there is room, else later; never blocks.

        Raises ChannelFull for a message that is too large or one too many. A closed peer is no
        error here: whoever receives finds out.
        """
        data = pickle.dumps(message, protocol=5)
        if len(data) > MAX_MESSAGE_BYTES:
            raise ChannelFull(f'message of {len(data)} bytes; at most {MAX_MESSAGE_BYTES} fit')
        with self._lock:
            if len(self._waiting) >= _MAX_WAITING:
                raise ChannelFull(f'{len(self._waiting)} messages are waiting already')
            self._waiting.append(data)
            self._flush()

    def flush(self) -> bool:
        """Send what is waiting as far as there is room; True when nothing is left."""
        with self._lock:
            self._flush()
            return not self._waiting

    def _flush(self) -> None:
        while self._waiting:
            try:
                self._socket.send(self._waiting[0], socket.MSG_NOSIGNAL)
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                if error.errno in (errno.ENOBUFS, errno.ENOMEM):
                    return
                self._waiting.clear()    # the peer is gone or this end is closed
                return
            self._waiting.popleft()

    def receive(self) -> list[Any]:
        """
        Return every message that has arrived, oldest first; does not wait.

        Raises ChannelClosed once the peer is gone and all it ever sent was returned.
        """
        messages = []
        while True:
            try:
                data = self._socket.recv(MAX_MESSAGE_BYTES)
            except (BlockingIOError, InterruptedError):
                return messages
            except ConnectionResetError:
                data = b''
            if not data:
                if messages:
                    return messages
                raise ChannelClosed
            messages.append(pickle.loads(data))

    def close(self) -> None:
        """Close this end; the peer sees the end of the stream."""
        with self._lock:
            self._waiting.clear()
            self._socket.close()
