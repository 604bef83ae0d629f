#!/bin/sh
# Every relative link of a page leads to a file, and to a heading if it names one. Usage: links.sh FOLDER
set -eu
cd "$1"
pages=$(find . -name .git -prune -o -name build -prune -o -name out -prune -o -name '*.md' -print)
[ -n "$pages" ] || { echo "links.sh: there is no page in $1" >&2; exit 1; }

# The anchors that a page's headings get.
anchors() {
  sed -n 's/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

# Code is no link. One link a line: PAGE TARGET
broken=$(for page in $pages; do
  awk '/^```/ { inside = !inside; next } !inside && !/^    /' "$page" | sed 's/`[^`]*`//g' |
    grep -o ']([^)]*)' | sed "s#^](\(.*\))\$#$page \1#" || true
done | while read -r page target; do
  case $target in
  http:* | https:* | mailto:*) continue ;;
  esac
  path=${target%%#*} anchor=${target#"${target%%#*}"}
  file=$(dirname "$page")/$path
  [ -n "$path" ] || file=$page
  if [ ! -e "$file" ]; then
    echo "$page: $target leads to no file"
  elif [ -n "$anchor" ] && ! anchors "$file" | grep -qxF -- "${anchor#\#}"; then
    echo "$page: $target leads to no heading"
  fi
done)
[ -z "$broken" ] || { echo "$broken" >&2; exit 1; }
