#!/bin/sh
# A check that cannot fail proves nothing. Each mutation below breaks the protocol in a scratch copy of the
# templates; the emulated device has to find it within the schedules that CI runs, with the report it
# names. The copy that is not mutated has to pass.
#   mutations.sh LAMPAR PROTOCOL_TEST TEMPLATES SPEC OUT [NAME...]
set -u
lampar=$1 test=$2 templates=$3 spec=$4 out=$5
shift 5
wanted=$*
schedules=6
failures=0
export LAMPAR_DEVICE=emu

# mutate NAME REPORT MODE FILE SED: the report is a pattern of grep -E; `none` has to pass.
mutate() {
  name=$1 report=$2 mode=$3 file=$4 change=$5
  case " $wanted " in "  " | *" $name "*) ;; *) return ;; esac
  scratch=$out/$name
  rm -rf "$scratch"
  mkdir -p "$scratch"
  cp -r "$templates" "$scratch/templates"
  sed -i -E "$change" "$scratch/templates/$file"
  if [ "$name" != none ] && cmp -s "$templates/$file" "$scratch/templates/$file"; then
    echo "$name: FAILED: the template has changed, the mutation does not apply"
    failures=$((failures + 1))
    return
  fi
  if ! "$lampar" build "$spec" --templates "$scratch/templates" -o "$scratch" \
    >"$scratch/build.txt" 2>&1; then
    echo "$name: FAILED: does not compile"
    cat "$scratch/build.txt"
    failures=$((failures + 1))
    return
  fi
  "$test" "$scratch/small/small.pack" 3 f32 328 24 $schedules $mode >"$scratch/report.txt" 2>&1
  status=$?
  if [ "$name" = none ] && [ $status -eq 0 ]; then
    echo "not mutated ($mode): right"
  elif [ "$name" != none ] && [ $status -eq 1 ] && grep -qE "$report" "$scratch/report.txt"; then
    echo "$name: found: $(grep -E -m 1 "$report" "$scratch/report.txt" | cut -c 1-160)"
  else
    echo "$name: FAILED: status $status, expected a report like '$report'"
    tail -n 20 "$scratch/report.txt"
    failures=$((failures + 1))
  fi
}

kernel=oneshot.cu.in
missing='waited in vain for rank'
wrong='wrong sum|sum is wrong'

mutate none '' plain $kernel ''
mutate none '' programmatic $kernel ''
mutate one-half "$missing|$wrong" plain $kernel \
  's/const unsigned half = \(epoch & 1\) \* kHalfBytes;/const unsigned half = 0;/'
mutate no-rearm "$wrong|$missing" plain $kernel \
  '/store_vector\(slots \+ .*empty_vector\(\)\);/d'
mutate rearm-before-sum "$wrong|$missing" plain $kernel \
  's/^  bool waiting = true;/&\n  store_vector(slots + (call.rank + 1) % kWorld * kMailboxBytes, empty_vector());/'
mutate epoch-without-barrier "$wrong|$missing" plain $kernel 's/^  sync_warp\(\);//'
mutate epoch-never-advanced "$wrong|$missing" plain $kernel '/store_word\(use.epoch, epoch \+ 1\)/d'
mutate first-word-only "$wrong" plain parts/vector.cuh.in \
  's/return v.word\[0\] == kSentinel \|\|.*/return v.word[0] == kSentinel;/; /^ +v.word\[3\] == kSentinel;/d'
mutate sentinel-not-sanitised "$missing" plain parts/vector.cuh.in \
  's/v.word\[i\] == kSentinel \? 0x7fffffff : v.word\[i\]/v.word[i]/'
mutate own-rank-first "$wrong" plain $kernel \
  's/^  unpack\(from\[0\], sum\);/  { const Vector first = from[0]; from[0] = mine; if (call.rank) from[call.rank] = first; }\n&/'
mutate push-into-other-half "$missing" plain $kernel \
  's/push\(use.to\[(.*)\] \+ half, mine\)/push(use.to[\1] + (kHalfBytes - half), mine)/'
mutate idle-lanes-poll "$missing" plain $kernel '/if \(!use.place.active\) return;/d'
mutate no-dependency-wait "$wrong|$missing" programmatic $kernel '/^  wait_for_previous_grid\(\);/d'
mutate consumer-reads-early "$wrong|$missing" programmatic $kernel \
  '/^  wait_for_previous_grid\(\);/d; s/^  const unsigned half = /  wait_for_previous_grid();\n&/'

[ $failures -eq 0 ]
