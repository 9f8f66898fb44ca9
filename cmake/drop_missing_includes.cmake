# The ROS 2 wheels on PyPI export message targets that name the Python include folders of the
# machine they were built on, and CMake refuses a target with an include folder that does not
# exist. Drops those folders; changes nothing on a ROS 2 from apt or from source.
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
