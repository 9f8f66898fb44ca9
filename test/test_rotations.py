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

"""Rotations: every form there and back, and no jump where an angle passes a whole turn."""

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from oxygen_ros import rotations

ANGLES = st.floats(-3.1, 3.1)
TRIPLES = st.tuples(ANGLES, ANGLES, ANGLES).map(np.array)


@given(TRIPLES)
def test_every_form_describes_the_same_rotation(rpy):
    matrix = rotations.matrix_from_rpy(rpy)
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(matrix) == pytest.approx(1)
    for back in (
            rotations.matrix_from_rpy(rotations.rpy_from_matrix(matrix)),
            rotations.matrix_from_rotvec(rotations.rotvec_from_matrix(matrix)),
            rotations.matrix_from_quaternion(rotations.quaternion_from_matrix(matrix))):
        np.testing.assert_allclose(back, matrix, atol=1e-9)


def test_roll_turns_first_about_the_fixed_x_axis():
    """REP 103: yaw after pitch after roll, all about fixed axes."""
    matrix = rotations.matrix_from_rpy(np.array([np.pi / 2, 0, np.pi / 2]))
    np.testing.assert_allclose(matrix @ [0, 1, 0], [0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(matrix @ [1, 0, 0], [0, 1, 0], atol=1e-12)


@pytest.mark.parametrize('axis', range(3))
def test_angles_go_on_over_a_whole_turn(axis):
    angles = np.zeros(3)
    for step in range(200):
        true = np.zeros(3)
        true[axis] = step * 0.05          # to 10 rad
        found = rotations.rpy_from_matrix(rotations.matrix_from_rpy(true), near=angles)
        assert np.abs(found - angles).max() < 0.051
        angles = found
    assert angles[axis] == pytest.approx(199 * 0.05)


def test_a_rotation_vector_goes_on_over_half_a_turn():
    near = np.array([3.0, 0.0, 0.0])
    beyond = rotations.matrix_from_rotvec(np.array([3.4, 0.1, 0.0]))
    np.testing.assert_allclose(rotations.rotvec_from_matrix(beyond, near=near), [3.4, 0.1, 0],
                               atol=1e-9)
    assert rotations.rotvec_from_matrix(beyond)[0] < 0     # the shortest turns the other way


def test_the_shortest_rotation_vector_at_half_a_turn_keeps_its_length():
    for axis in np.eye(3):
        found = rotations.rotvec_from_matrix(rotations.matrix_from_rotvec(axis * np.pi))
        assert np.linalg.norm(found) == pytest.approx(np.pi)
    np.testing.assert_array_equal(rotations.rotvec_from_matrix(np.eye(3)), np.zeros(3))


@pytest.mark.parametrize('pitch', (np.pi / 2, -np.pi / 2))
def test_straight_up_keeps_the_roll(pitch):
    rpy = np.array([0.3, pitch, 0.5])
    found = rotations.rpy_from_matrix(rotations.matrix_from_rpy(rpy), near=rpy)
    np.testing.assert_allclose(found, rpy, atol=1e-6)
