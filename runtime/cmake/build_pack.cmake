# cmake -DLAMPAR=tool -DSPEC=file.lua -DARCHS=a,b -DFOLDER=folder -DPACK=file.pack -P build_pack.cmake
# The spec names its pack, so the tool says where it is.
set(command ${LAMPAR} build ${SPEC} -o ${FOLDER})
if(ARCHS)
  list(APPEND command --arch ${ARCHS})
endif()
execute_process(COMMAND ${command}
  OUTPUT_VARIABLE pack OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY)
file(COPY_FILE ${pack} ${PACK} ONLY_IF_DIFFERENT)
