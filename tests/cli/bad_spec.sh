# Specs that are wrong: one message with file and line, and nothing is written.
. "$LAMPAR_SOURCE/tests/cli/expect.sh"

wrong() { # pattern, the spec's text
  printf '%s\n' "$2" > wrong.lua
  refused "^lampar plan: wrong.lua$1" "$LAMPAR" plan wrong.lua
  refused "^lampar build: wrong.lua$1" "$LAMPAR" build wrong.lua
  refused "^lampar verify: wrong.lua$1" "$LAMPAR" verify wrong.lua
  absent out
}

field() { # pattern, a line that is added or replaces the one for the same field
  name=${2%% *}
  for line in 'name = "wrong",' 'arch = { "sm_90" },' 'world = { 2 },' 'dtype = { "bf16" },'; do
    [ "${line%% *}" = "$name" ] || printf '  %s\n' "$line"
  done > fields
  wrong "$1" "return spec {
$(cat fields)
  $2
}"
}

field ':[0-9]+: .*hiden.*hidden' 'hiden = { 4096 },'
field ':[0-9]+: .*rows' 'rows = "many",'
field ':[0-9]+: .*world' 'world = 2,'
field ':[0-9]+: .*world' 'world = {},'
field ':[0-9]+: .*world.*1' 'world = { 1 },'
field ':[0-9]+: .*world.*17' 'world = { 17 },'
field ':[0-9]+: .*hidden.*0' 'hidden = { 0 },'
field ':[0-9]+: .*hidden.*100' 'hidden = { 100 },'
field ':[0-9]+: .*hidden' 'hidden = { 4096.0 },'
field ':[0-9]+: .*sm_91.*sm_90' 'arch = { "sm_91" },'
field ':[0-9]+: .*dtype' 'dtype = { "f64" },'
field ':[0-9]+: .*name' 'name = "../elsewhere",'
field ':[0-9]+: ' 'hidden = { model "deepsek-v3" },'
field ':[0-9]+: epilogue.*add hidden' 'epilogue = { { "rmsnorm" } },'
field ':[0-9]+: rounding.*fp32' 'rounding = "fp16",'
field ':[0-9]+: .*weight_dtype.*bf16' 'weight_dtype = "b16",'
field ':[0-9]+: stages.*no folder mine' 'stages = "mine",'
rows='hidden = { 2880 }, epilogue'
field ':[0-9]+: epilogue\[1\]: unknown stage "rmsnrom"; the nearest known is rmsnorm' "$rows = { { \"rmsnrom\" } },"
field ':[0-9]+: epilogue\[1\]: rmsnorm: unknown option wieght; the nearest known is weight' \
  "$rows = { { { \"rmsnorm\", wieght = \"f32\" } } },"
field ':[0-9]+: epilogue\[1\]: rmsnorm: offset is 2; it should be one of 0 1' \
  "$rows = { { { \"rmsnorm\", offset = 2 } } },"
field ':[0-9]+: epilogue\[1\]: residual comes after fp8_token' "$rows = { { \"fp8_token\", \"residual\" } },"
field ':[0-9]+: epilogue\[1\]: .*2880 elements is not whole groups of 128' "$rows = { { \"fp8_group\" } },"
wrong ':[0-9]+: ' 'while true do end'
wrong ':[0-9]+: ' 'local t = {} for i = 1, 1 << 40 do t[i] = ("x"):rep(1 << 20) .. i end'
wrong ':[0-9]+: ' 'return spec { name = "wrong" '
wrong '.*' 'return 7'
wrong ':[0-9]+: ' 'return os.exit(0)'

printf '\033Lua\124\000\031\223' > wrong.lua
refused '^lampar plan: wrong.lua.*compiled Lua' "$LAMPAR" plan wrong.lua

{
  echo 'local hidden = {}'
  echo 'for i = 1, 2000 do hidden[i] = 8 * i end'
  echo 'return spec { name = "wrong", arch = { "sm_90" }, world = { 2, 8 }, dtype = { "bf16" },'
  echo '  hidden = hidden }'
} > wrong.lua
refused '4096' "$LAMPAR" plan wrong.lua
refused '4096' "$LAMPAR" build wrong.lua
refused 'absent.lua: .*No such file' "$LAMPAR" plan absent.lua
refused 'absent.lua: .*No such file' "$LAMPAR" build absent.lua
absent out
