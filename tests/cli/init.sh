# A spec from the config.json of each family in configs/, and what init refuses to guess.
. "$LAMPAR_SOURCE/tests/cli/expect.sh"
configs=$LAMPAR_SOURCE/tests/cli/configs

# family, name of the pack, dtype and widths of the spec
check() {
  "$LAMPAR" init --config "$configs/$1.json" --tp 2,4 -o "$1.lua" 2> remarks || fail "$1: $(cat remarks)"
  same "$1: name" "$2" "$(sed -n 's/^  name *= "\(.*\)",/\1/p' "$1.lua")"
  same "$1: dtype" "$3" "$(sed -n 's/^  dtype *= { "\(.*\)" }.*/\1/p' "$1.lua")"
  same "$1: hidden" "$4" "$(sed -n 's/^  hidden *= { \(.*\) }.*/\1/p' "$1.lua")"
  "$LAMPAR" plan "$1.lua" > plan || fail "$1: the spec has no plan"
  for width in $(echo "$4" | tr -d ,); do grep -q "_h${width}_" plan || fail "$1: no kernel of $width"; done
}
check deepseek-v3 deepseek-v3 bf16 7168
grep -q 'weights are quantised.*bf16' remarks || fail "deepseek-v3: $(cat remarks)"
check llama-3.1-70b llama bf16 8192
[ ! -s remarks ] || fail "llama: $(cat remarks)"
check llama-4-scout llama4 bf16 5120
check gemma-3-27b gemma3 bf16 5376
check qwen3-235b-a22b qwen3-moe bf16 4096
check gpt-oss-120b gpt-oss bf16 2880
grep -q 'no torch_dtype.*bf16 is assumed' remarks || fail "gpt-oss: $(cat remarks)"
check kimi-k2 kimi-k2 bf16 7168
check nemotron-nano-12b-vl NemotronH-Nano-VL-V2 bf16 5120
check gpt2 gpt2 bf16 768
check qwen3-omni qwen3-omni-moe bf16 2048
check nemotron-3-nano nemotron-h bf16 2688
check latent latent bf16 '7168, 3584, 1024'

# Nothing is guessed, and nothing half-written.
refused 'several hidden sizes: hidden_size = 4096, text_config.hidden_size = 5120; choose one with --hidden' \
  "$LAMPAR" init --config "$configs/two-widths.json" -o absent.lua
absent absent.lua
refused '6144 is none of its hidden sizes: hidden_size = 4096' \
  "$LAMPAR" init --config "$configs/two-widths.json" --hidden 6144
"$LAMPAR" init --config "$configs/two-widths.json" --hidden 5120 | grep -q 'hidden = { 5120 }' || fail '--hidden'
"$LAMPAR" init --config "$configs/gpt2.json" --dtype f16 --name mine --arch sm_90 2> remarks > gpt2.lua
grep -q 'name   = "mine"' gpt2.lua && grep -q 'dtype  = { "f16" }' gpt2.lua && grep -q '{ "sm_90" }' gpt2.lua ||
  fail "$(cat gpt2.lua)"
[ ! -s remarks ] || fail "a dtype that is given is assumed: $(cat remarks)"

# wrong CONFIG PATTERN: a config.json that init refuses.
wrong() {
  printf '%s\n' "$1" > config.json
  refused "$2" "$LAMPAR" init --config config.json
}
wrong '{"model_type": "vit", "vision_config": {"hidden_size": 1152}}' \
  'has no hidden_size.*only vision_config.hidden_size = 1152; write the spec by hand'
wrong '{"model_type": "x", "hidden_size": 4096, "torch_dtype": "bfloat16", "dtype": "float16"}' \
  'several dtypes: torch_dtype = bfloat16, dtype = float16; choose one with --dtype'
wrong '{"model_type": "x", "hidden_size": 4096, "torch_dtype": "float8_e4m3fn"}' \
  'torch_dtype is float8_e4m3fn; kernels exist for'
wrong '{"model_type": "x", "hidden_size": 4097}' 'hidden_size is 4097; a row has a multiple of 8'
wrong '{"model_type": "x", "hidden_size": "4096"}' 'hidden_size is 4096; a row has a multiple of 8'
wrong '{"hidden_size": 4096}' 'no model_type that could name the pack; set one with --name'
wrong '[1, 2]' 'is not a JSON object'
wrong '{"hidden_size": 4096,
' '^lampar init: config.json:[0-9]*: is not JSON'
refused "^lampar init: $PWD: cannot be read: Is a directory\$" "$LAMPAR" init --config "$PWD"
printf '{"model_type": "a\\nb\\"]]", "hidden_size": 64}' > config.json
"$LAMPAR" init --config config.json 2> /dev/null > odd.lua
"$LAMPAR" plan odd.lua > /dev/null || fail 'an odd model_type spoils the spec'
refused "^lampar init: --tp '17': 2 to 16 ranks" "$LAMPAR" init --config config.json --tp 2,17
refused "^lampar init: --tp has 2 twice" "$LAMPAR" init --config config.json --tp 2,2
refused "^lampar init: --arch 'sm_91'" "$LAMPAR" init --config config.json --arch sm_91
