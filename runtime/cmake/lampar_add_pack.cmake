# lampar_add_pack(target SPEC file.lua [ARCH arch...])
#
# A target, part of `all`, that builds the kernels of a spec into the file that its property LAMPAR_PACK
# names: ${CMAKE_CURRENT_BINARY_DIR}/target.pack. ARCH takes only some of the spec's archs. The target
# runs in every build, since only lampar knows what the spec requires; when nothing has changed it does
# nothing, and the file keeps its time stamp.

function(lampar_add_pack target)
  cmake_parse_arguments(PARSE_ARGV 1 pack "" SPEC ARCH)
  if(NOT pack_SPEC OR pack_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "lampar_add_pack(target SPEC file.lua [ARCH arch...]): "
      "SPEC is missing or something is not understood: ${pack_UNPARSED_ARGUMENTS}")
  endif()
  cmake_path(ABSOLUTE_PATH pack_SPEC BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${target}.pack)
  list(JOIN pack_ARCH , archs)
  add_custom_target(${target} ALL
    COMMAND ${CMAKE_COMMAND} -DLAMPAR=$<TARGET_FILE:lampar::tool> -DSPEC=${pack_SPEC} -DARCHS=${archs}
            -DFOLDER=${CMAKE_CURRENT_BINARY_DIR}/${target}.out -DPACK=${file}
            -P ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/build_pack.cmake
    BYPRODUCTS ${file}
    DEPENDS lampar::tool
    SOURCES ${pack_SPEC}
    VERBATIM)
  set_target_properties(${target} PROPERTIES LAMPAR_PACK ${file})
endfunction()
