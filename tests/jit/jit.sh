# liblampar-jit and the tool build the same kernels.
. "$LAMPAR_SOURCE/tests/cli/expect.sh"
need_nvrtc
unset LAMPAR_CACHE_DIR LAMPAR_DISABLE_JIT LAMPAR_TEMPLATES XDG_CACHE_HOME CACHE_DIRECTORY
"$LAMPAR" build "$LAMPAR_SOURCE/tests/jit/small.lua" --arch sm_90 -o out > pack 2> build.err || fail "$(cat build.err)"
"$JIT_TEST" "$LAMPAR_SOURCE/tests/jit/small.lua" "$(cat pack)"
