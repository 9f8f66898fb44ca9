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

# The ROS 2 wheels export message targets that still name the Python include folders of the
# machine they were built on. CMake refuses a target whose include folder is missing, so those
# are dropped here. Changes nothing where ROS 2 comes from apt.
get_directory_property(_imported_targets IMPORTED_TARGETS)
foreach(_target IN LISTS _imported_targets)
  get_target_property(_folders ${_target} INTERFACE_INCLUDE_DIRECTORIES)
  if(_folders)
    set(_present "")
    foreach(_folder IN LISTS _folders)
      if(NOT IS_ABSOLUTE "${_folder}" OR EXISTS "${_folder}")
        list(APPEND _present "${_folder}")
      endif()
    endforeach()
    set_property(TARGET ${_target} PROPERTY INTERFACE_INCLUDE_DIRECTORIES "${_present}")
  endif()
endforeach()
