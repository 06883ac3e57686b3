#!/bin/sh
# Makes docs/demo.svg, the picture at the top of the README: what `acquit demo` shows on a terminal of 80 columns.
#
#   scripts/picture.sh [acquit]     # the program to run; target/release/acquit if none is named
#
# Needs tmux. The demo runs in a server of its own, which is gone afterwards.
set -eu

cd "$(dirname "$0")/.."
acquit=$(realpath "${1:-target/release/acquit}")
rows=60
folder=$(mktemp -d)
tmux="tmux -L acquit-picture-$$ -f /dev/null"
trap '$tmux kill-server 2>/dev/null || true; rm -rf "$folder"' EXIT

$tmux new-session -d -x 80 -y "$rows" "TMPDIR=$folder '$acquit' demo; touch '$folder/done'; sleep 60"
tries=0
until [ -e "$folder/done" ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 600 ] || { echo "picture: the demo did not end in a minute" >&2; exit 1; }
    sleep 0.1
done
sleep 0.3
$tmux capture-pane -p -e -S - | sed -e 's/[[:space:]]*$//' > "$folder/screen"

# Colours as SGR codes become <tspan class="c31">; nothing else is left of them.
awk '
function escaped(text) { gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); gsub(/>/, "\\&gt;", text); return text }
function line(text,    out, code, class) {
    out = ""; class = ""
    while (match(text, /\033\[[0-9;]*m/)) {
        out = out piece(substr(text, 1, RSTART - 1), class)
        code = substr(text, RSTART + 2, RLENGTH - 3)
        text = substr(text, RSTART + RLENGTH)
        count = split(code == "" ? "0" : code, codes, ";")
        for (n_code = 1; n_code <= count; n_code++) {
            if (codes[n_code] ~ /^(0|22|39)$/) class = ""
            else if (codes[n_code] ~ /^(1|2|31|32|33)$/) class = "c" codes[n_code]
        }
    }
    return out piece(text, class)
}
function piece(text, class) {
    if (text == "") return ""
    text = escaped(text)
    return class == "" ? text : "<tspan class=\"" class "\">" text "</tspan>"
}
{ lines[NR] = $0 }
END {
    last = NR
    while (last > 0 && lines[last] == "") last--
    height = last * 17 + 32
    print "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"720\" height=\"" height "\" role=\"img\" aria-label=\"acquit demo on a terminal\">"
    print "<style>text{font:13px/17px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d8dee9;white-space:pre}" \
        ".c1{font-weight:bold;fill:#fff}.c2{fill:#7b8494}.c31{fill:#e06c75}.c32{fill:#98c379}.c33{fill:#e5c07b}</style>"
    print "<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1e222a\"/>"
    for (n = 1; n <= last; n++) if (lines[n] != "")
        print "<text x=\"16\" y=\"" (n * 17 + 12) "\" xml:space=\"preserve\">" line(lines[n]) "</text>"
    print "</svg>"
}' "$folder/screen" > docs/demo.svg
echo docs/demo.svg
