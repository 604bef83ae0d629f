# What `cmake --install` and `cpack` install. The targets have the same names as with add_subdirectory.
include(CMakePackageConfigHelpers)
include(${CMAKE_CURRENT_LIST_DIR}/lampar_add_pack.cmake)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/lampar)
install(TARGETS lampar_shared lampar_runtime lampar_jit_shared lampar
  EXPORT lampar
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS lampar_emu LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/include/lampar
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN *.h)
# The tool looks for them in ../share, relative to its own folder.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/templates DESTINATION share/lampar FILES_MATCHING PATTERN *.in)
# The package finds the libraries from there.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/python DESTINATION share/lampar FILES_MATCHING PATTERN *.py)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
# Pages link only to each other, so that their links work here too.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/generator/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN *.md)
install(FILES ${PROJECT_SOURCE_DIR}/CHANGELOG.md ${PROJECT_SOURCE_DIR}/SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT lampar NAMESPACE lampar:: FILE lampar-targets.cmake DESTINATION ${package_folder})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/lampar-config.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/lampar-config.cmake
  INSTALL_DESTINATION ${package_folder}
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/lampar-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lampar-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/lampar-config-version.cmake
  ${CMAKE_CURRENT_LIST_DIR}/lampar_add_pack.cmake ${CMAKE_CURRENT_LIST_DIR}/build_pack.cmake
  DESTINATION ${package_folder})

# From the .pc file to the prefix, so that an installation can be moved.
file(RELATIVE_PATH to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(name lampar lampar-jit)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

if(PROJECT_IS_TOP_LEVEL)
  set(CPACK_GENERATOR DEB)
  set(CPACK_PACKAGE_CONTACT "lampar developers <lampar@localhost>")
  set(CPACK_PACKAGE_VENDOR lampar)
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_STRIP_FILES ON)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION libs)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  # liblampar-jit finds liblampar in the same package.
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
  set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
  set(CPACK_DEBIAN_PACKAGE_RECOMMENDS ninja-build)
  include(CPack)
endif()
