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
Image and CompressedImage to RGB, for every common encoding.

Pictures are checked before they are decoded: a frame that contradicts itself raises
BadPicture with the reason and never reaches the model. Rows may be padded and 16-bit pixels may
have either byte order; both are put right here, because neither cv_bridge nor rosbags-image
does so for every encoding.
"""

from types import SimpleNamespace

import cv2
import numpy as np
from numpy.typing import NDArray

MAX_SIDE = 16384          # px; a larger side is a corrupt header, not a camera
MAX_ASPECT = 16           # beyond it the short side vanishes when the picture is letterboxed
DECODERS = ('auto', 'native', 'cv_bridge')

# encoding -> (bytes per pixel, channel order to RGB); a plain view, no library needed
PLAIN = {
    'rgb8': (3, (0, 1, 2)), 'bgr8': (3, (2, 1, 0)), '8UC3': (3, (2, 1, 0)),
    'rgba8': (4, (0, 1, 2)), 'bgra8': (4, (2, 1, 0)), '8UC4': (4, (2, 1, 0)),
    'mono8': (1, (0, 0, 0)), '8UC1': (1, (0, 0, 0)),
}
# encoding -> bytes per pixel; left to cv_bridge or rosbags-image
PACKED = {
    'yuv422': 2, 'uyvy': 2, 'yuv422_yuy2': 2, 'yuyv': 2,
    'bayer_rggb8': 1, 'bayer_bggr8': 1, 'bayer_gbrg8': 1, 'bayer_grbg8': 1,
    'mono16': 2, 'rgb16': 6, 'bgr16': 6, 'rgba16': 8, 'bgra16': 8,
    'bayer_rggb16': 2, 'bayer_bggr16': 2, 'bayer_gbrg16': 2, 'bayer_grbg16': 2,
}
PLANAR = {'nv12': cv2.COLOR_YUV2RGB_NV12, 'nv21': cv2.COLOR_YUV2RGB_NV21}
DEPTH = ('16UC1', '32FC1')
RENAMED = {'uyvy': 'yuv422', 'yuyv': 'yuv422_yuy2'}   # names cv_bridge knows


class BadPicture(ValueError):
    """A picture that cannot be used; the message says why."""


class ImageDecoder:
    """Turns image messages into contiguous [H, W, 3] RGB uint8 arrays; no state, any thread."""

    def __init__(self, kind: str = 'auto'):
        """Choose the library for Bayer, YUV and 16-bit pictures: 'auto', 'native', 'cv_bridge'."""
        self._bridge = None if kind == 'native' else ros2_cv_bridge()
        if kind == 'cv_bridge' and self._bridge is None:
            raise ValueError('image_decoder is cv_bridge, but the cv_bridge of ROS 2 cannot be '
                             "imported; install ros-$ROS_DISTRO-cv-bridge or use 'auto'")

    @property
    def name(self) -> str:
        """Name of the library in use."""
        return 'native' if self._bridge is None else 'cv_bridge'

    def decode(self, message) -> NDArray[np.uint8]:
        """Return sensor_msgs/Image or CompressedImage as RGB, or raise BadPicture."""
        if hasattr(message, 'format'):
            return decode_compressed(message)
        encoding = message.encoding
        check_size(message.width, message.height)
        if encoding in PLAIN:
            return plain_rgb(message)
        if encoding in PLANAR:
            return self._planar_rgb(message)
        if encoding in DEPTH:
            raise BadPicture(f'encoding {encoding} is a depth image; give a colour topic')
        if encoding not in PACKED:
            raise BadPicture(f'encoding {encoding!r} is not supported')
        return self._packed_rgb(message)

    def _packed_rgb(self, message) -> NDArray[np.uint8]:
        """Decode through a library, on a copy without row padding and in this byte order."""
        encoding = RENAMED.get(message.encoding, message.encoding)
        if encoding.startswith('yuv') and message.width % 2:
            raise BadPicture(f'width {message.width} of a {encoding} picture is odd')
        rows = pixel_rows(message, PACKED[message.encoding], message.height)
        if encoding.endswith('16'):
            rows = rows.view('>u2' if message.is_bigendian else '<u2').astype(np.uint16)
        tight = SimpleNamespace(
            encoding=encoding, width=message.width, height=message.height, is_bigendian=0,
            step=message.width * PACKED[message.encoding], data=rows.tobytes())
        try:
            if self._bridge is not None:
                picture = self._bridge.imgmsg_to_cv2(tight, 'rgb8')
            else:
                picture = native_rgb(tight)
        except Exception as error:  # either library has its own errors, cv2 its own again
            raise BadPicture(f'a {encoding} picture could not be decoded: {error}') from error
        return np.ascontiguousarray(picture)

    def _planar_rgb(self, message) -> NDArray[np.uint8]:
        """Decode NV12 or NV21: a full-size plane of Y, then a half-height plane of U and V."""
        if message.width % 2 or message.height % 2:
            raise BadPicture(f'{message.width}x{message.height} {message.encoding}: both must '
                             f'be even')
        rows = pixel_rows(message, 1, message.height * 3 // 2)
        return cv2.cvtColor(np.ascontiguousarray(rows), PLANAR[message.encoding])


def check_size(width: int, height: int) -> None:
    """Raise BadPicture for a size no camera has."""
    if width == 0 or height == 0:
        raise BadPicture(f'size is {width}x{height}')
    if width > MAX_SIDE or height > MAX_SIDE:
        raise BadPicture(f'size {width}x{height} is larger than {MAX_SIDE} px')
    if max(width, height) > MAX_ASPECT * min(width, height):
        raise BadPicture(f'size {width}x{height} is a strip, longer than {MAX_ASPECT} to 1')


def pixel_rows(message, bytes_per_pixel: int, num_rows: int) -> NDArray[np.uint8]:
    """Return the pixels as [num_rows, width * bytes_per_pixel], a view without row padding."""
    row_bytes = message.width * bytes_per_pixel
    if message.step < row_bytes:
        raise BadPicture(f'step {message.step} is below width x pixel size = {row_bytes}')
    # The last row may come without its padding.
    needed = message.step * (num_rows - 1) + row_bytes
    if len(message.data) < needed:
        raise BadPicture(f'{len(message.data)} bytes of data, needs {needed}')
    data = np.frombuffer(message.data, np.uint8)
    return np.lib.stride_tricks.as_strided(
        data, (num_rows, row_bytes), (message.step, 1), writeable=False)


def plain_rgb(message) -> NDArray[np.uint8]:
    """Decode 8-bit interleaved pixels by indexing; alpha is dropped."""
    channels, order = PLAIN[message.encoding]
    rows = pixel_rows(message, channels, message.height)
    if channels == 1:
        return np.repeat(rows[:, :, np.newaxis], 3, axis=2)
    pixels = np.ascontiguousarray(rows).reshape(message.height, message.width, channels)
    return np.ascontiguousarray(pixels[..., 2::-1] if order[0] else pixels[..., :3])


def native_rgb(tight: SimpleNamespace) -> NDArray[np.uint8]:
    """Decode a tight message with rosbags-image."""
    # Loaded late: a robot with cv_bridge need not have it.
    from rosbags.image import message_to_cvimage
    if tight.encoding == 'mono16':
        grey = np.frombuffer(tight.data, np.uint16).reshape(tight.height, tight.width)
        return np.repeat((grey >> 8).astype(np.uint8)[:, :, np.newaxis], 3, axis=2)
    return message_to_cvimage(tight, 'rgb8')


def decode_compressed(message) -> NDArray[np.uint8]:
    """Decode JPEG, PNG or whatever cv2 reads; a cut-off JPEG or PNG is refused."""
    if 'compressedDepth' in message.format:
        raise BadPicture('compressedDepth is a depth image; give a colour topic')
    data = bytes(message.data)
    if not data:
        raise BadPicture('compressed picture has no data')
    # cv2 fills the missing part of a cut JPEG with grey and says so on stderr only. In
    # compressed data an end marker cannot occur, so it must stand behind the last scan header.
    if data[:2] == b'\xff\xd8' and data.rfind(b'\xff\xd9') < data.rfind(b'\xff\xda'):
        raise BadPicture(f'JPEG of {len(data)} bytes is cut off')
    if data[:4] == b'\x89PNG' and b'IEND' not in data[-64:]:
        raise BadPicture(f'PNG of {len(data)} bytes is cut off')
    try:
        picture = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    except cv2.error as error:
        raise BadPicture(f'compressed picture could not be decoded: {error.err}') from error
    if picture is None:
        raise BadPicture(f'{len(data)} bytes of format {message.format!r} are not a picture')
    check_size(picture.shape[1], picture.shape[0])
    return cv2.cvtColor(picture, cv2.COLOR_BGR2RGB)


def ros2_cv_bridge():
    """Return a CvBridge of ROS 2, or None: PyPI's cv-bridge is the one of ROS 1 and is wrong."""
    try:
        from cv_bridge import CvBridge
        from cv_bridge.boost import cv_bridge_boost
    except Exception:  # a build for numpy 1 fails under numpy 2 with an AttributeError
        return None
    if str(getattr(cv_bridge_boost, '__file__', '')).endswith('.py'):
        return None
    return CvBridge()
