# cmake -DOUTPUT=embedded_lua.c -DTABLE=lampar_embedded_lua -DROOT=lua -DFILES="lua/a.lua;lua/b.lua"
#       -P embed_texts.cmake
set(texts "")
set(entries "")
set(index 0)
foreach(file IN LISTS FILES)
  file(RELATIVE_PATH name ${ROOT} ${file})
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)"
                       "\\1\n" bytes "${bytes}")
  string(APPEND texts "/* ${name} */\nstatic const char text_${index}[] = {\n${bytes}0x00};\n")
  string(APPEND entries "    {\"${name}\", text_${index}, sizeof text_${index} - 1},\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${OUTPUT} "#include \"spec/embedded_texts.h\"\n\n${texts}
const lampar_embedded_text ${TABLE}[] = {
${entries}    {0, 0, 0},
};
")
