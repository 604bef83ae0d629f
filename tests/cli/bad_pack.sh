# Packs that are damaged, from the future, or no packs; plans and cubins that do not fit.
. "$LAMPAR_SOURCE/tests/cli/expect.sh"
need_nvrtc
write_small_spec small.lua
pack=$("$LAMPAR" build small.lua 2> /dev/null)

size=$(wc -c < "$pack")
for length in 0 1 7 8 12 100 152 328 4096 $((size - 1)); do
  head -c "$length" "$pack" > short.pack
  refused '^lampar inspect: short.pack' "$LAMPAR" inspect short.pack
done
for offset in 16 20 24 32 48 60 160 200 300 $((size / 2)) $((size - 1)); do
  cp "$pack" flipped.pack
  printf '\252' | dd of=flipped.pack bs=1 seek="$offset" conv=notrunc 2> /dev/null
  refused '^lampar inspect: flipped.pack' "$LAMPAR" inspect flipped.pack
done
cp "$pack" future.pack
printf '\377' | dd of=future.pack bs=1 seek=8 conv=notrunc 2> /dev/null
refused '^lampar inspect: future.pack: pack format 255' "$LAMPAR" inspect future.pack
refused 'small.lua is not a lampar pack' "$LAMPAR" inspect small.lua
refused 'absent.pack .*No such file' "$LAMPAR" inspect absent.pack

plan=out/small/plan.json
steps="--manifest new.json -o new.pack"
# shellcheck disable=SC2086 # words
{
  refused 'cannot be read: No such file' "$LAMPAR" pack "$plan" --cubins . $steps
  mkdir cubin
  cp out/small/cubin/* cubin/
  for cubin in cubin/*; do break; done
  head -c 200 out/small/"$cubin" > "$cubin"
  refused "^lampar pack: $cubin: .*compile its source again" "$LAMPAR" pack "$plan" --cubins cubin $steps
  echo 'no cubin' > "$cubin"
  refused "^lampar pack: $cubin: is not a cubin" "$LAMPAR" pack "$plan" --cubins cubin $steps
  for other in cubin/*; do :; done
  cp "$other" "$cubin"
  refused "^lampar pack: $cubin: has no kernel" "$LAMPAR" pack "$plan" --cubins cubin $steps
  head -c 300 "$plan" > broken.json
  refused '^lampar pack: broken.json' "$LAMPAR" pack broken.json --cubins out/small/cubin $steps
}
refused "no kernel 'ar_oneshot'; did you mean ar_oneshot_" "$LAMPAR" render "$plan" ar_oneshot
absent new.json new.pack
