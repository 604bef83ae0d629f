# For the tests of the command line, which source it. LAMPAR is the tool, LAMPAR_SOURCE the source tree,
# FAKE_NVRTC a stand-in for NVRTC. A test works in a folder of its own, which is gone afterwards.
set -eu

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

skip() {
  echo "skipped: $*"
  exit 77
}

need_nvrtc() {
  echo 'extern "C" __global__ void probe() {}' > probe.cu
  "$LAMPAR" compile probe.cu --arch sm_90 -o probe.cubin 2> probe.err || {
    if grep -q 'no NVRTC is found' probe.err; then skip "$(cat probe.err)"; fi
    fail "$(cat probe.err)"
  }
  rm -f probe.*
}

# The smallest spec that has a row kernel and a flat one, single-pass and persistent.
write_small_spec() { # file, lines to add
  cat > "$1" <<SPEC
return spec {
  name = "small",
  arch = { "sm_90" },
  world = { 2 },
  dtype = { "bf16" },
  hidden = { 64 },
  ${2-}
}
SPEC
}

# refused PATTERN COMMAND...: status 2, nothing on standard output, one message, which fits.
refused() {
  pattern=$1
  shift
  status=0
  "$@" > refused.out 2> refused.err || status=$?
  [ "$status" -eq 2 ] || fail "status $status, not 2, of: $*; it said: $(cat refused.err)"
  [ ! -s refused.out ] || fail "results on standard output of: $*"
  grep -Eq -- "$pattern" refused.err || fail "no '$pattern' in what '$*' said: $(cat refused.err)"
  # argp adds a line with the way to the help.
  lines=$(grep -vc '^Try `lampar' refused.err)
  [ "$lines" -eq 1 ] || fail "$lines lines, not one message, of: $*: $(cat refused.err)"
  rm -f refused.out refused.err
}

same() { # what, expected, found
  [ "$2" = "$3" ] || fail "$1: $3, expected $2"
}

absent() {
  for path in "$@"; do [ ! -e "$path" ] || fail "$path is there"; done
}
