#!/bin/sh
# Every #include names its room, and uses only what rooms.txt allows. Usage: rooms.sh SOURCE [--table]
set -eu
source=$1
table=$(dirname "$0")/rooms.txt
cd "$source"

# FILE INCLUDED, of every quoted include
includes() {
  find generator runtime \( -name '*.c' -o -name '*.h' \) | sort | xargs grep -H '^ *# *include "' |
    sed 's/^\([^:]*\):.*"\([^"]*\)".*/\1 \2/'
}

# The room of a file: the longest folder that the table names.
checked=$(includes | while read -r file included; do
  found=
  for root in generator runtime runtime/include; do
    [ -e "$root/$included" ] && found="$found $root/$included"
  done
  echo "$file $included$found"
done | awk -v table="$table" '
  BEGIN {
    while ((getline line < table) > 0) {
      if (line ~ /^#/ || line == "") continue
      split(line, halves, ":")
      room = halves[1]
      count = split(halves[2], allowed, " ")
      for (i = 1; i <= count; ++i) {
        if (!(allowed[i] in rooms)) print "error rooms.txt: " room " uses " allowed[i] ", which is not named above it"
        may[room, allowed[i]] = 1
      }
      rooms[room] = 1
    }
  }
  function room_of(path) {
    while (sub("/[^/]*$", "", path)) if (path in rooms) return path
    return ""
  }
  {
    from = room_of($1)
    if (from == "") { print "error " $1 ": is in no room of rooms.txt"; next }
    if (NF > 3) { print "error " $1 ": \"" $2 "\" means two files:" $3 " " $4; next }
    if (NF < 3) {
      if (from != "runtime/include") print "error " $1 ": \"" $2 "\" names no file; start the path at the room"
      next
    }
    to = room_of($3)
    if (to == from) next
    if (!((from, to) in may)) { print "error " $1 ": includes " $3 ", but " from " may not use " to; next }
    print "use " from " " to
  }')

if [ "${2:-}" = --table ]; then
  echo "$checked" | sed -n 's/^use //p' | sort | uniq -c | awk '{ printf "%-22s uses %-20s %3d includes\n", $2, $3, $1 }'
fi

# Two files of one name are told apart only by where they are included from.
twice=$(find generator runtime tests -path tests/golden -prune -o \( -name '*.c' -o -name '*.h' \) -print |
  sed 's#.*/##' | sort | uniq -d)
for name in $twice; do
  checked="$checked
error $name: two files have this name; rename one"
done

echo "$checked" | sed -n 's/^error //p' >&2
! echo "$checked" | grep -q '^error '
