#!/bin/sh
# The tree uses the words of CONTRIBUTING.md: none of those that words.txt lists. Usage: words.sh SOURCE
set -eu
cd "$1"
table=tests/house/words.txt
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# What git tracks or would track; without git, all that is no build output.
{ git ls-files --cached --others --exclude-standard 2>/dev/null ||
  find . -name .git -prune -o -name build -prune -o -name out -prune -o -type f -print | sed 's#^\./##'; } |
  grep -vxF -e LICENSE -e CHANGELOG.md -e "$table" | grep -v '^tests/fuzz/corpus/' |
  while read -r file; do [ ! -f "$file" ] || echo "$file"; done >"$scratch/files"
[ "$(wc -l <"$scratch/files")" -gt 100 ] || { echo "words.sh: $1 is not the source tree" >&2; exit 1; }

# Where one line of text ends and the next begins, as one line: a phrase may be split.
xargs awk '
  FNR == 1 { last = "" }
  {
    text = $0
    gsub(/^[ \t]*(\/\*|\*|\/\/|--|#|>|\|)?[ \t"]*|[ \t"]*$/, "", text)
    count = split(text, word, " ")
    start = word[1] " " word[2] " " word[3]
    if (last != "" && count > 0) print FILENAME ":" FNR ":" last " " start
    last = count == 0 ? "" : (count > 2 ? word[count - 2] " " : "") (count > 1 ? word[count - 1] " " : "") word[count]
  }' <"$scratch/files" >"$scratch/joins"

trim() { sed 's/^ *//;s/ *$//'; }

grep -v -e '^#' -e '^$' "$table" >"$scratch/rows"
while read -r row; do
  # The pattern has bars of its own: the table's have a blank on both sides.
  paths=$(printf '%s\n' "$row" | sed 's/ | .*//' | trim)
  pattern=$(printf '%s\n' "$row" | sed 's/^[^|]*| //;s/ | [^|]*$//' | trim)
  instead=$(printf '%s\n' "$row" | sed 's/.* | //' | trim)
  for path in $paths; do
    case $path in
    .) cat "$scratch/files" ;;
    *) grep -e "^$path/" -e "^$path\$" "$scratch/files" || true ;;
    esac
  done | sort -u >"$scratch/searched"
  {
    xargs -r grep -IHnE -e "$pattern" <"$scratch/searched" || true
    grep -E -e "$pattern" "$scratch/searched" | sed 's/$/: its name/' || true
    [ "$paths" != . ] || grep -E -e ":[0-9]*:.*($pattern)" "$scratch/joins" || true
  } | sed "s#\$#    [say: $instead]#" >>"$scratch/found"
done <"$scratch/rows"

sort -u "$scratch/found" >&2
[ ! -s "$scratch/found" ] || { echo "$(wc -l <"$scratch/found") lines have words that words.txt lists" >&2; exit 1; }
