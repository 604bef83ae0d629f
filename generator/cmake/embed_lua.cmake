# cmake -DOUTPUT=embedded_lua.c -DFILES="a.lua;b.lua" -P embed_lua.cmake
set(tables "")
set(entries "")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)"
                       "\\1\n" bytes "${bytes}")
  string(APPEND tables "static const char ${name}_text[] = {\n${bytes}0x00};\n")
  string(APPEND entries "    {\"${name}\", ${name}_text, sizeof ${name}_text - 1},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"embedded_lua.h\"\n\n${tables}
const lampar_embedded_lua lampar_embedded_lua_files[] = {
${entries}    {0, 0, 0},
};
")
