#!/bin/sh
# Each line below breaks the runtime in one place, and names the test that has to fail. A mutated file is
# compiled in place of the library's own and linked before it.
#   runtime_mutations.sh SOURCE_FOLDER LIBLAMPAR_A CMOCKA OUT [NAME...]
set -u
source=$1 library=$2 cmocka=$3 out=$4
shift 4
wanted=$*
tests=$source/tests/unit
failures=0
count=0
rm -rf "$out"
mkdir -p "$out"

# compile FILE.c FILE.o
compile() {
  # shellcheck disable=SC2086 # flags are words
  "${CC:-cc}" ${CFLAGS:-} -std=c17 -D_GNU_SOURCE -O0 -w -I"$source/runtime" -I"$source/runtime/include" \
    -DLAMPAR_OPERATORS_PAGE="\"$source/generator/docs/operators.md\"" \
    -I"$tests" -I"${cmocka%/*}/../include" -c "$1" -o "$2"
}

# link TEST OBJECT...: the program of the test.
link() {
  program=$out/$1
  objects=$out/$1_test.o
  case $1 in
  call) objects="$objects $out/fake_driver.o $out/page_quotes.o" ;;
  channel) objects="$objects $out/page_quotes.o" ;;
  workspace) objects="$objects $out/fake_driver.o" ;;
  esac
  shift
  # shellcheck disable=SC2086
  "${CC:-cc}" ${CFLAGS:-} $objects "$@" "$library" "$cmocka" -ldl -lpthread -o "$program"
}

# mutate NAME TEST FILE SED
mutate() {
  case " $wanted " in "  " | *" $1 "*) ;; *) return ;; esac
  name=$1 test=$2 file=$source/runtime/$3
  count=$((count + 1))
  sed -E "$4" "$file" >"$out/mutated.c"
  if cmp -s "$file" "$out/mutated.c"; then
    result="FAILED: $3 has changed, the mutation does not apply: $4"
  elif ! compile "$out/mutated.c" "$out/mutated.o" 2>"$out/build.txt" ||
    ! link "$test" "$out/mutated.o" 2>"$out/build.txt"; then
    result="FAILED: does not compile: $(head -n 3 "$out/build.txt")"
  elif "$out/$test" >"$out/report.txt" 2>&1; then
    result="FAILED: unit.$test does not notice"
  else
    echo "$name: found by unit.$test: $(grep -m 1 FAILED "$out/report.txt" | sed 's/.*\] //')"
    return
  fi
  echo "$name: $result"
  failures=$((failures + 1))
}

for test in arguments call channel registry select workspace; do
  compile "$tests/${test}_test.c" "$out/${test}_test.o" || exit 1
done
compile "$tests/fake_driver.c" "$out/fake_driver.o" || exit 1
compile "$tests/page_quotes.c" "$out/page_quotes.o" || exit 1
for test in arguments call channel registry select workspace; do
  link $test && "$out/$test" >"$out/report.txt" 2>&1 && continue
  echo "not mutated: FAILED: unit.$test"
  cat "$out/report.txt"
  exit 1
done

# Alignment and strides of a kernel's buffers.
mutate output-alignment-ignored arguments group/launch.c \
  's/is_buffer_aligned\(variant, call, call->output, arguments->output_stride\);/true;/'
mutate input-alignment-ignored arguments group/launch.c \
  's/is_buffer_aligned\(variant, call, call->input, arguments->input_stride\) \&\&/true \&\&/'
mutate stride-alignment-ignored arguments group/launch.c \
  's/\? is_aligned\(stride \* lampar_dtype_bytes\(variant->dtype\)\)/? true/'
mutate flat-gaps-ignored arguments group/launch.c 's/: stride == call->hidden;/: true;/'
mutate one-row-has-strides arguments group/launch.c '/if \(call->rows == 1\) return true;/d'

# Strides in the fallback to NCCL.
mutate nccl-strides-ignored call group/fallback.c 's/return given != 0 .*;/return call->hidden;/'
mutate nccl-output-stride-ignored call group/fallback.c 's/= stride_of\(call->output_stride, call\);/= call->hidden;/'
mutate nccl-input-stride-ignored call group/fallback.c 's/= stride_of\(call->input_stride, call\);/= call->hidden;/'
mutate nccl-one-row-has-a-stride call group/fallback.c 's/given != 0 \&\& call->rows > 1/given != 0/'
mutate nccl-sum-not-freed call group/fallback.c 's/driver->memory_free_async\(sum, stream\)/0/'
mutate epilogue-reads-the-input call group/all_reduce.c '/rest.input = /d'
mutate epilogue-has-the-inputs-stride call group/all_reduce.c '/rest.input_stride = 0;/d'

# All blocks of a kernel on the device at once, and which kernel takes over.
mutate everything-fits call group/launch.c 's/return units\(.*<= kernel->resident;/return true;/'
mutate one-block-too-many call group/launch.c 's/<= kernel->resident;/<= kernel->resident + 1;/'
mutate nothing-fits call group/launch.c 's/return units\(.*<= kernel->resident;/return false;/'
mutate persistent-grid-not-capped call group/launch.c '/variant->persistent \&\& count > kernel->resident/d'
mutate blocks-instead-of-clusters call group/launch.c 's/count \* variant->cluster/count/'
mutate ranks-do-not-share-the-device call group/kernels.c 's/\(ranks_on_device > 1 .*\);/1;/'
mutate ranks-share-without-gaps call group/kernels.c 's/2 \* ranks_on_device/ranks_on_device/'
mutate one-multiprocessor call group/kernels.c '/count \*= multiprocessors;/d'
mutate clusters-counted-as-blocks call group/kernels.c 's/if \(variant->cluster > 1\)/if (variant->cluster > 100)/'
mutate loaded-when-first-launched call group/kernels.c '/driver->function_load\(/d'
mutate substitute-of-another-algorithm call pack/select.c 's/v->persistent \&\& v->algorithm == from->algorithm/v->persistent/'
mutate substitute-in-one-pass select pack/select.c 's/v->persistent \&\& v->algorithm == from->algorithm/v->algorithm == from->algorithm/'
mutate refused-call-launched call group/all_reduce.c 's/if \(persistent == SIZE_MAX\)/if (false)/; s/    index = persistent;/    if (persistent != SIZE_MAX) index = persistent;/'

# The arguments of a kernel, and the report of its fault.
mutate watchdog-at-once call group/all_reduce.c 's/arguments.watchdog_ns = .*/arguments.watchdog_ns = 0;/'
mutate watchdog-in-microseconds call group/all_reduce.c 's/bound \* 1000000/bound * 1000/'
mutate watchdog-of-the-config-ignored call group/all_reduce.c 's/^ +bound = group->config.watchdog_ms;/;/'
mutate watchdog-lengthened call group/all_reduce.c 's/ \&\& group->config.watchdog_ms < bound//'
mutate fault-names-the-first-kernel call group/all_reduce.c '/arguments.kernel = \(uint32_t\)index;/d'
mutate fault-names-the-chosen-kernel call group/all_reduce.c 's/arguments.kernel = \(uint32_t\)index;//; s/^  \/\* All blocks of all ranks/  arguments.kernel = (uint32_t)index;\n&/'
mutate lanes-share-arguments call group/all_reduce.c 's/group->arguments\[call->lane\]/group->arguments[0]/'
mutate faulted-group-goes-on call group/all_reduce.c '/LAMPAR_TRY\(lampar_group_error\(group, NULL\)\);/d'
mutate programmatic-unasked call group/launch.c 's/if \(programmatic \&\& /if (/'
mutate programmatic-without-trigger call group/launch.c 's/programmatic \&\& .*LAMPAR_TRIGGER_OFF/programmatic/'

# The workspace, and the end of a group.
mutate max-rows-ignored workspace group/workspace.c 's/config->max_rows > 0 \&\& //; s/config->max_rows < v->max_rows/false/'
mutate max-rows-raises workspace group/workspace.c 's/ \&\& config->max_rows < v->max_rows//'
mutate max-rows-of-flat-kernels workspace group/workspace.c 's/v->hidden > 0 \&\& config->max_rows > 0/config->max_rows > 0/; s/ \&\& config->max_rows < v->max_rows//'
mutate limit-of-one-lane workspace group/workspace.c 's/config->lanes \* lampar_workspace_bytes/lampar_workspace_bytes/'
mutate workspace-limit-ignored workspace group/workspace.c 's/config->workspace_limit > 0 \&\& /false \&\& /'
mutate epochs-left-as-they-were workspace group/workspace.c 's/\(workspace->bytes - slots\) \/ sizeof\(uint32_t\)/0/'
mutate mailboxes-left-as-they-were workspace group/workspace.c 's/0xffffffff, slots \/ sizeof\(uint32_t\)/0xffffffff, 0/'
mutate fault-record-left-as-it-was workspace group/workspace.c '/memset\(workspace->fault, 0/d'
mutate ready-before-it-is-clear workspace group/workspace.c 's/driver->stream_synchronize\(stream\)/0/'
mutate lanes-share-epochs workspace group/workspace.c 's/lane \* workspace->mailboxes \* sizeof/0 * lane * workspace->mailboxes * sizeof/'
mutate destroy-does-not-wait call group/lane.c '/^lampar_status lampar_lane_close/,/^}/ s/if \(lane->has_stream\)/if (false)/'
mutate destroy-waits-for-one-lane call group/setup.c 's/i < group->config.lanes; \+\+i\) \{/i < 1; ++i) {/'
mutate freed-before-the-wait call group/setup.c 's/^  lampar_peers_close\(/  ;\n&/; /^lampar_status lampar_setup_disable_kernels/,/^}/ s/^  lampar_status status = LAMPAR_OK;/  lampar_status status = LAMPAR_OK;\n  lampar_workspace_close(\&group->workspace, \&group->driver);/'

# Streams.
mutate streams-not-ordered call group/lane.c 's/if \(lane->has_stream \&\& lane->stream != stream\)/if (false)/'
mutate event-on-the-new-stream call group/lane.c 's/event_record\(lane->event, lane->stream\)/event_record(lane->event, stream)/'
mutate two-streams-captured call group/lane.c 's/ \&\& lane->capture_stream != stream/ \&\& false/'
mutate captures-mixed-up call group/lane.c 's/lane->capture == capture \&\& //'

# The registry.
mutate roles-share-a-group registry group/registry.c 's/a->config.role == b->config.role \&\&//'
mutate configs-share-a-group registry group/registry.c 's/memcmp\(a->options, b->options, sizeof a->options\) == 0/true/'
mutate packs-share-a-group registry group/registry.c 's/memcmp\(a->facts.*== 0;/true;/'
mutate ranks-share-a-group registry group/registry.c 's/a->rank == b->rank \&\&//'
mutate found-without-a-reference registry group/registry.c '/\+\+\(\*found\)->references;/d'

# The channel of set-up.
mutate own-failure-not-sent channel exchange/exchange.c 's/lampar_failure_save\(\&mine, own\)/lampar_failure_save(\&mine, LAMPAR_OK)/'
mutate timeouts-hide-the-cause channel exchange/exchange.c 's/ \&\& all\[r\].status != LAMPAR_ERROR_TIMEOUT//'
mutate timeouts-ignored channel exchange/exchange.c 's/if \(all\[r\].status == LAMPAR_ERROR_TIMEOUT\) first = r;/;/'
mutate nccl-in-the-callers-context channel exchange/exchange.c 's/driver->context_set_current\(channel->context\)/driver->context_set_current(before->context)/'
mutate context-not-restored channel exchange/exchange.c '/driver->context_set_current\(before->context\);/d'
mutate capture-mode-not-relaxed channel exchange/exchange.c 's/LAMPAR_CAPTURE_MODE_RELAXED/LAMPAR_CAPTURE_MODE_THREAD_LOCAL/'
mutate capture-mode-not-restored channel exchange/exchange.c '/^  channel->driver->capture_mode_exchange\(/d'
mutate buffer-freed-while-nccl-waits channel exchange/exchange.c 's/driver->stream_query\(channel->stream\) != LAMPAR_CUDA_ERROR_NOT_READY/true/'
mutate context-not-released channel exchange/exchange.c '/driver->primary_context_release\(/d'

echo "$((count - failures)) of $count mutations found"
[ $failures -eq 0 ]
