# Include folders that must not be passed on, in two places. Neither changes anything on a
# ROS 2 from apt or from source.

# The ROS 2 wheels export message targets that name the Python include folders of the machine
# they were built on, and CMake refuses a target whose include folder does not exist.
get_directory_property(_imported IMPORTED_TARGETS)
foreach(_target IN LISTS _imported)
  get_target_property(_folders ${_target} INTERFACE_INCLUDE_DIRECTORIES)
  if(_folders)
    set(_kept "")
    foreach(_folder IN LISTS _folders)
      if(NOT IS_ABSOLUTE "${_folder}" OR EXISTS "${_folder}")
        list(APPEND _kept "${_folder}")
      endif()
    endforeach()
    set_property(TARGET ${_target} PROPERTY INTERFACE_INCLUDE_DIRECTORIES "${_kept}")
  endif()
endforeach()

# With .venv inside this folder, numpy's headers lie below the source folder, and CMake refuses
# to export a target that names such a path.
set(_target ${PROJECT_NAME}__rosidl_generator_py)
get_target_property(_folders ${_target} INTERFACE_INCLUDE_DIRECTORIES)
if(_folders)
  list(FILTER _folders EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/\\.venv/")
  set_property(TARGET ${_target} PROPERTY INTERFACE_INCLUDE_DIRECTORIES "${_folders}")
endif()
