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
Image messages to RGB: every common encoding, padded rows, byte order, malformed frames.

Pinned: slanted pictures from padded rows (IMG-01), swapped colours and YUV orders (IMG-03),
frames that kill the process (IMG-05).
"""

from array import array

import cv2
import numpy as np
import pytest
from sensor_msgs.msg import CompressedImage
from sensor_msgs.msg import Image

from oxygen_ros.sensing.convert import BadPicture
from oxygen_ros.sensing.convert import ImageDecoder

DECODER = ImageDecoder('native')


def card() -> np.ndarray:
    """Return the 320x240 test card: eight bars and a white block in the upper left corner."""
    bars = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 0),
            (0, 255, 255), (255, 0, 255), (255, 255, 255), (0, 0, 0)]
    picture = np.repeat(np.array(bars, np.uint8), 40, axis=0)[np.newaxis].repeat(240, axis=0)
    picture[:40, :40] = 255
    return np.ascontiguousarray(picture)


def image(pixels: np.ndarray, encoding: str, *, width=320, height=240, step=None,
          is_bigendian=0) -> Image:
    """Return an Image message of raw bytes."""
    data = np.ascontiguousarray(pixels).tobytes()
    message = Image(encoding=encoding, width=width, height=height, is_bigendian=is_bigendian)
    message.step = len(data) // height if step is None else step
    message.data = array('B', data)
    return message


def grey() -> np.ndarray:
    """Return a grey card with a gradient, so that a shift or flip shows."""
    return np.add.outer(np.arange(240), np.arange(320)).clip(0, 255).astype(np.uint8)


def packed_yuv(picture: np.ndarray, *, u_first: bool) -> np.ndarray:
    """Return 4:2:2 bytes of an RGB picture: U Y V Y, or Y U Y V."""
    yuv = cv2.cvtColor(picture, cv2.COLOR_RGB2YUV)
    packed = np.empty((240, 320, 2), np.uint8)
    luma, chroma = (1, 0) if u_first else (0, 1)
    packed[..., luma] = yuv[..., 0]
    packed[:, 0::2, chroma] = yuv[:, 0::2, 1]
    packed[:, 1::2, chroma] = yuv[:, 0::2, 2]
    return packed


def test_rgb8_comes_through_unchanged():
    picture = DECODER.decode(image(card(), 'rgb8'))
    assert picture.dtype == np.uint8 and picture.flags.c_contiguous
    np.testing.assert_array_equal(picture, card())


@pytest.mark.parametrize('encoding, width_bytes', [('rgb8', 960), ('bgr8', 960)])
@pytest.mark.parametrize('spare', [0, 1, 64])
def test_padded_rows_and_spare_bytes_give_the_same_picture(encoding, width_bytes, spare):
    pixels = card() if encoding == 'rgb8' else card()[..., ::-1]
    rows = np.full((240, width_bytes + spare), 0xAB, np.uint8)
    rows[:, :width_bytes] = np.ascontiguousarray(pixels).reshape(240, width_bytes)
    message = image(rows, encoding, step=width_bytes + spare)
    np.testing.assert_array_equal(DECODER.decode(message), card())
    message.data = array('B', message.data.tobytes() + b'\xab' * 5)
    np.testing.assert_array_equal(DECODER.decode(message), card())


def test_the_last_row_may_lack_its_padding():
    rows = np.zeros((240, 1024), np.uint8)
    rows[:, :960] = card().reshape(240, 960)
    message = image(rows, 'rgb8', step=1024)
    message.data = array('B', message.data.tobytes()[:-64])
    np.testing.assert_array_equal(DECODER.decode(message), card())


@pytest.mark.parametrize('encoding', ['bgr8', '8UC3', 'rgba8', 'bgra8', '8UC4'])
def test_every_colour_order_gives_the_same_picture(encoding):
    pixels = card() if encoding == 'rgba8' else card()[..., ::-1]
    if encoding in ('rgba8', 'bgra8', '8UC4'):
        alpha = np.full((240, 320, 1), 255, np.uint8)
        alpha[:, ::2] = 0               # transparent pixels keep their colour
        pixels = np.concatenate([pixels, alpha], axis=2)
    np.testing.assert_array_equal(DECODER.decode(image(pixels, encoding)), card())


@pytest.mark.parametrize('encoding', ['mono8', '8UC1'])
def test_grey_equals_the_same_grey_as_rgb(encoding):
    as_rgb = DECODER.decode(image(np.repeat(grey()[..., None], 3, axis=2), 'rgb8'))
    np.testing.assert_array_equal(DECODER.decode(image(grey(), encoding)), as_rgb)


@pytest.mark.parametrize('order, is_bigendian', [('<u2', 0), ('>u2', 1)])
@pytest.mark.parametrize('padding', [0, 7])
def test_sixteen_bit_grey_in_either_byte_order_and_with_padding(order, is_bigendian, padding):
    rows = np.full((240, 640 + padding), 0xAB, np.uint8)
    rows[:, :640] = (grey().astype(np.uint16) * 257).astype(order).view(np.uint8)
    message = image(rows, 'mono16', is_bigendian=is_bigendian, step=640 + padding)
    expected = np.repeat(grey()[..., None], 3, axis=2)
    np.testing.assert_array_equal(DECODER.decode(message), expected)


@pytest.mark.parametrize('order, is_bigendian', [('<u2', 0), ('>u2', 1)])
def test_sixteen_bit_colour_in_either_byte_order(order, is_bigendian):
    pixels = (card()[..., ::-1].astype(np.uint16) * 257).astype(order).view(np.uint8)
    picture = DECODER.decode(image(pixels, 'bgr16', is_bigendian=is_bigendian))
    assert np.abs(picture.astype(int) - card()).max() <= 1


@pytest.mark.parametrize('encoding, u_first', [
    ('yuv422', True), ('uyvy', True), ('yuv422_yuy2', False), ('yuyv', False)])
def test_both_packed_yuv_orders_are_close_to_rgb(encoding, u_first):
    picture = DECODER.decode(image(packed_yuv(card(), u_first=u_first), encoding))
    # Full-range YUV read as studio range: brighter and darker, but every bar keeps its hue.
    difference = np.abs(picture.astype(int) - card())
    assert np.median(difference) < 30
    order = [tuple((picture[200, 20 + 40 * bar] > 127).tolist()) for bar in range(8)]
    assert order == [tuple((card()[200, 20 + 40 * bar] > 127).tolist()) for bar in range(8)]


def test_mislabelled_yuv_gives_false_colours():
    right = DECODER.decode(image(packed_yuv(card(), u_first=True), 'yuv422'))
    wrong = DECODER.decode(image(packed_yuv(card(), u_first=True), 'yuv422_yuy2'))
    assert np.abs(right.astype(int) - wrong).mean() > 30


def test_padded_yuv_rows_give_the_same_picture():
    tight = packed_yuv(card(), u_first=True).reshape(240, 640)
    rows = np.full((240, 703), 0xAB, np.uint8)
    rows[:, :640] = tight
    np.testing.assert_array_equal(DECODER.decode(image(rows, 'yuv422', step=703)),
                                  DECODER.decode(image(tight, 'yuv422')))


def test_nv12_keeps_the_bars():
    planar = cv2.cvtColor(card(), cv2.COLOR_RGB2YUV_I420)
    chroma = planar[240:].reshape(2, -1)
    planar[240:] = np.stack([chroma[0], chroma[1]], axis=-1).reshape(120, 320)
    picture = DECODER.decode(image(planar, 'nv12', step=320))
    assert np.abs(picture[200, 20::40].astype(int) - card()[200, 20::40]).max() < 12


@pytest.mark.parametrize('pattern, offsets', [
    ('bayer_rggb8', (0, 1, 1, 2)), ('bayer_bggr8', (2, 1, 1, 0)),
    ('bayer_gbrg8', (1, 2, 0, 1)), ('bayer_grbg8', (1, 0, 2, 1))])
def test_bayer_patterns_name_the_first_two_rows(pattern, offsets):
    picture = card()
    mosaic = np.empty((240, 320), np.uint8)
    for place, channel in enumerate(offsets):
        row, column = divmod(place, 2)
        mosaic[row::2, column::2] = picture[row::2, column::2, channel]
    decoded = DECODER.decode(image(mosaic, pattern))
    np.testing.assert_array_equal(decoded[200, 20::40], picture[200, 20::40])


def jpeg() -> bytes:
    """Return the card as JPEG."""
    return cv2.imencode('.jpg', card()[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 95])[1].tobytes()


def test_compressed_pictures_keep_their_colours():
    for suffix in ('.jpg', '.png'):
        data = cv2.imencode(suffix, card()[..., ::-1])[1].tobytes()
        picture = DECODER.decode(CompressedImage(format=suffix[1:], data=array('B', data)))
        assert np.abs(picture[200, 20::40].astype(int) - card()[200, 20::40]).max() < 10


def test_a_grey_jpeg_becomes_rgb():
    data = cv2.imencode('.jpg', grey())[1].tobytes()
    picture = DECODER.decode(CompressedImage(format='jpeg', data=array('B', data)))
    assert picture.shape == (240, 320, 3)


def png() -> bytes:
    """Return a picture with noise as PNG, so that it is long."""
    noise = np.random.default_rng(1).integers(0, 255, (64, 64, 3), np.uint8)
    return cv2.imencode('.png', noise)[1].tobytes()


def broken(**fields) -> Image:
    """Return the card with some fields overwritten."""
    message = image(card(), 'rgb8')
    for name, value in fields.items():
        setattr(message, name, value)
    return message


@pytest.mark.parametrize('message, reason', [
    (broken(step=0), 'step 0 is below'),
    (broken(step=959), 'step 959 is below'),
    (broken(data=array('B', card().tobytes()[:-1])), '230399 bytes of data, needs 230400'),
    (broken(width=0, height=0), 'size is 0x0'),
    (broken(width=500, height=1, step=1500), 'strip'),
    (broken(height=2 ** 31), 'larger than'),
    (broken(encoding='rgb9'), "'rgb9' is not supported"),
    (broken(encoding=''), 'not supported'),
    (broken(encoding='32FC1'), 'depth image'),
    (broken(encoding='yuv422', width=319), 'odd'),
    (CompressedImage(format='jpeg'), 'no data'),
    (CompressedImage(format='jpeg', data=array('B', jpeg()[:len(jpeg()) // 2])), 'cut off'),
    (CompressedImage(format='png', data=array('B', png()[:999])), 'cut off'),
    (CompressedImage(format='jpeg', data=array('B', np.random.default_rng(0).bytes(4096))),
     'not a picture'),
    (CompressedImage(format='16UC1; compressedDepth', data=array('B', jpeg())), 'depth image'),
])
def test_a_malformed_frame_is_refused_with_its_reason(message, reason):
    with pytest.raises(BadPicture, match=reason):
        DECODER.decode(message)


def test_the_cv_bridge_of_ros_1_is_not_taken(tmp_path, monkeypatch):
    # PyPI's cv-bridge has a Python table in place of the C++ module and is silently wrong.
    boost = tmp_path / 'cv_bridge' / 'boost'
    boost.mkdir(parents=True)
    (tmp_path / 'cv_bridge' / '__init__.py').write_text('class CvBridge: pass\n')
    (boost / '__init__.py').write_text('')
    (boost / 'cv_bridge_boost.py').write_text('')
    monkeypatch.syspath_prepend(str(tmp_path))
    assert ImageDecoder('auto').name == 'native'
    with pytest.raises(ValueError, match='use .auto.'):
        ImageDecoder('cv_bridge')
