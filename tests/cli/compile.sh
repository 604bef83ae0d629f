# The compiler's messages, and what a failed compilation leaves.
. "$LAMPAR_SOURCE/tests/cli/expect.sh"
need_nvrtc

mkdir folder
echo 'extern "C" __global__ void wrong() { undeclared = 1; }' > folder/wrong.cu
echo 'older' > wrong.cubin
status=0
"$LAMPAR" compile folder/wrong.cu --arch sm_90 -o wrong.cubin > out.txt 2> err || status=$?
same status 2 "$status"
[ ! -s out.txt ] || fail 'results on standard output'
grep -q '^wrong.cu(1): error: identifier "undeclared" is undefined' err || fail "$(cat err)"
grep -q '^lampar compile: wrong.cu: does not compile for sm_90 with NVRTC' err || fail "$(cat err)"
same 'the older cubin' older "$(cat wrong.cubin)"

refused 'absent.cu: .*No such file' "$LAMPAR" compile absent.cu --arch sm_90 -o x.cubin
refused '^lampar compile: --arch sm_91: unknown arch' "$LAMPAR" compile folder/wrong.cu --arch sm_91 -o x
absent x x.cubin

# The folder of a source does not get into the cubin, line numbers or not.
echo 'extern "C" __global__ void right(int *p) { *p = 1; }' > folder/right.cu
cp folder/right.cu right.cu
for option in '' --lineinfo; do
  "$LAMPAR" compile folder/right.cu --arch sm_90 -o a.cubin $option
  "$LAMPAR" compile right.cu --arch sm_90 -o b.cubin $option
  cmp a.cubin b.cubin || fail "the folder is in the cubin ($option)"
done
