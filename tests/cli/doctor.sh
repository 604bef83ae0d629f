# What doctor says without a GPU, without libraries, and of the emulated device.
. "$LAMPAR_SOURCE/tests/cli/expect.sh"
unset LAMPAR_DEVICE

says() { grep -Eq -- "$1" report || fail "no '$1' in: $(cat report)"; }
# status, environment and arguments
doctor() {
  expected=$1
  shift
  status=0
  env "$@" > report 2> err || status=$?
  same "status of $*" "$expected" "$status"
  [ ! -s err ] || fail "$*: $(cat err)"
  # Every line that is not ok says what to do.
  awk '$2 == "PROBLEM" || $2 == "note" || $1 == "PROBLEM" { if (getline next_line <= 0 || next_line !~ /^ +-> /) exit 1 }' \
    report || fail "a problem without advice in: $(cat report)"
}

doctor 1 LAMPAR_NVRTC_LIBRARY=/absent LAMPAR_NCCL_LIBRARY=/absent LAMPAR_DISABL=1 LAMPAR_DEVICE=emu \
  LAMPAR_EMU_LIBRARY=/absent "$LAMPAR" doctor
says '^driver +PROBLEM +/absent cannot be loaded'
says '^NVRTC +note +LAMPAR_NVRTC_LIBRARY=/absent cannot be loaded'
says '^NCCL +note +/absent cannot be loaded'
says 'LAMPAR_DISABL is set, but lampar has no such variable; the nearest known is LAMPAR_DISABLE'
says '^Kernels would not run here'

doctor 1 LAMPAR_DEVICE=gpu "$LAMPAR" doctor
says 'LAMPAR_DEVICE=gpu: the only value is emu'
says 'set LAMPAR_DEVICE to emu or unset it'

doctor 1 HOME= XDG_CACHE_HOME= LAMPAR_DEVICE=emu LAMPAR_EMU_LIBRARY=/absent "$LAMPAR" doctor
says '^cache +note +none'
mkdir open && chmod 777 open
doctor 1 LAMPAR_CACHE_DIR="$PWD/open" LAMPAR_DEVICE=emu LAMPAR_EMU_LIBRARY=/absent "$LAMPAR" doctor
says '^cache +note .*may be written by others'

refused 'absent.pack' "$LAMPAR" doctor absent.pack
refused 'expected one PACK' "$LAMPAR" doctor a b

export LAMPAR_DEVICE=emu
doctor 0 LAMPAR_EMU_DEVICES=3 "$LAMPAR" doctor
says '^GPUs +ok +0: lampar emulated device, compute capability 0.1, runs kernels for emu'
says '^links +ok +3 pairs, 3 by NVLink, 3 tested'
says '^Kernels would run here'
doctor 1 LAMPAR_EMU_DEVICES=1 "$LAMPAR" doctor
says 'only one; an all-reduce needs two'
says 'the test sum of two ranks on GPU 0 is right'
doctor 1 LAMPAR_EMU_DEVICES=2 LAMPAR_EMU_P2P=0 "$LAMPAR" doctor
says '^links +PROBLEM +0-1: no peer access'
doctor 1 LAMPAR_EMU_DEVICES=2 LAMPAR_DISABLE=1 "$LAMPAR" doctor
says 'LAMPAR_DISABLE=1: every call goes to NCCL'
says '^links +ok +1 pairs, 1 by NVLink, 0 tested'

cat > pack.lua <<'SPEC'
return spec { name = "pack", arch = { "emu" }, world = { 2, 4 }, dtype = { "bf16" }, hidden = { 64 }, rows = 4 }
SPEC
pack=$("$LAMPAR" build pack.lua 2> build.err) || fail "$(cat build.err)"
LAMPAR_EMU_DEVICES=2 "$LAMPAR" doctor "$pack" > report || fail "$(cat report)"
says '^kernels +ok +emu, 2 ranks: [0-9]+ would run'
says 'note +emu, 4 ranks: [0-9]+ would not run: they need 4 GPUs, this machine has 2'
LAMPAR_EMU_DEVICES=4 "$LAMPAR" doctor "$pack" --json > report
same 'kernels in JSON' "$("$LAMPAR" inspect "$pack" | grep -c '^ar_')" "$(grep -c '"name":.*"ar_' report)"
same 'links in JSON' 6 "$(grep -c '"self_test":.*"right"' report)"
same 'kernels that run' "$(grep -c '"name":.*"ar_' report)" "$(($(grep -c '"would_run":.*true' report) - 1))"
status=0
LAMPAR_EMU_P2P=0 "$LAMPAR" doctor "$pack" > report || status=$?
same 'status without peer access' 1 "$status"
says 'this machine has no 2 GPUs that are all linked to each other'
says 'PROBLEM +none of the [0-9]+ kernels of pack pack would run here'
