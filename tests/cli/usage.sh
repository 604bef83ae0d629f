# Help, version, and what is typed wrong.
. "$LAMPAR_SOURCE/tests/cli/expect.sh"

"$LAMPAR" --help > help
for verb in plan build inspect verify doctor init cache env render compile pack; do
  grep -q "^  $verb " help || fail "--help does not list $verb"
  "$LAMPAR" "$verb" --help | grep -q "^Usage: lampar $verb" || fail "$verb has no --help"
  refused "^lampar $verb: unrecognized option '--no-such'" "$LAMPAR" "$verb" --no-such
  case $verb in
    doctor | env) ;; # need no argument
    *) refused "^lampar $verb: .* missing" "$LAMPAR" "$verb" ;;
  esac
done
"$LAMPAR" --version | grep -Eq '^lampar [0-9]+\.[0-9]+\.[0-9]+$' || fail '--version'

refused '^lampar: the verb is missing' "$LAMPAR"
refused "^lampar: no verb 'biuld'; did you mean build\?" "$LAMPAR" biuld
refused "^lampar build: -j 0: expected a number from 1" "$LAMPAR" build x.lua -j 0
refused "^lampar build: -j 3x: expected a number from 1" "$LAMPAR" build x.lua -j 3x
refused '^lampar plan: expected only one of --json and --explain' "$LAMPAR" plan x.lua --json --explain
refused '^lampar plan: expected one SPEC' "$LAMPAR" plan x.lua y.lua
refused '^lampar render: --depfile needs -o' "$LAMPAR" render plan.json NAME --depfile d
refused '^lampar inspect: --source and --sass need the NAME' "$LAMPAR" inspect x.pack --sass

# Results that cannot be written are no success.
write_small_spec small.lua
status=0
"$LAMPAR" plan small.lua > /dev/full 2> err || status=$?
same 'status of a full disk' 2 "$status"
grep -q '^lampar plan: cannot write to standard output' err || fail "$(cat err)"
