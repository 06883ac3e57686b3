#!/bin/sh
# Records `acquit demo` on a terminal of 80 columns and makes docs/demo.svg of it, the moving picture at the top of the README.
#
#   scripts/picture.sh [acquit]     # the program to run; target/release/acquit if none is named
#
# Needs `script` of util-linux. Every line appears when the demo printed it, with all times stretched so that it can be read. The
# picture has no script in it, only CSS: a viewer that does not animate shows the end.
set -eu

cd "$(dirname "$0")/.."
acquit=$(realpath "${1:-target/release/acquit}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

script --quiet --return --log-out "$folder/out" --log-timing "$folder/timing" --command \
    "stty cols 80 rows 40; exec env -u ACQUIT_STORE TERM=xterm-256color HOME='$folder' ACQUIT_HOME='$folder/acquit' '$acquit' demo" \
    < /dev/null > /dev/null

# Colours as SGR codes become <tspan class="c31">; nothing else is left of them.
LC_ALL=C awk -v out="$folder/out" -v timing="$folder/timing" '
function escaped(text) { gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); gsub(/>/, "\\&gt;", text); return text }
function line(text,    all, code, class) {
    all = ""; class = ""
    while (match(text, /\033\[[0-9;]*m/)) {
        all = all piece(substr(text, 1, RSTART - 1), class)
        code = substr(text, RSTART + 2, RLENGTH - 3)
        text = substr(text, RSTART + RLENGTH)
        count = split(code == "" ? "0" : code, codes, ";")
        for (n_code = 1; n_code <= count; n_code++) {
            if (codes[n_code] ~ /^(0|22|39)$/) class = ""
            else if (codes[n_code] ~ /^(1|2|31|32|33)$/) class = "c" codes[n_code]
        }
    }
    return all piece(text, class)
}
function piece(text, class) {
    if (text == "") return ""
    text = escaped(text)
    return class == "" ? text : "<tspan class=\"" class "\">" text "</tspan>"
}
# What stays of a line: the live line at the foot is written over again and again.
function lasting(text,    parts, count) {
    sub(/\r+$/, "", text)
    count = split(text, parts, /\r\033\[K/)
    text = parts[count]
    gsub(/\033\[K/, "", text)
    sub(/[ \t]+$/, "", text)
    return text
}
# The steps of an animation: at each time, where the layer is then.
function steps(name, top,    n, at) {
    printf "@keyframes %s{", name
    for (n = 0; n <= last; n++) {
        at = n == 0 ? 0 : 100 * (begin + times[n] * stretch) / total
        if (n == last || times[n + 1] > times[n] || n == 0) printf "%.2f%%{transform:translateY(%dpx)}", at, top ? cover(n) : scroll(n)
    }
    print "}"
}
function scroll(n) { return n > rows ? -(n - rows) * 17 : 0 }
function cover(n) { return n * 17 }
BEGIN {
    rows = 34; begin = 1; pause = 8; wanted = 16
    while ((getline text < out) > 0) if (skipped++) all = all text "\n"
    position = 1
    while ((getline chunk < timing) > 0) {
        split(chunk, part, " ")
        now += part[1]
        rest = rest substr(all, position, part[2])
        position += part[2]
        while ((end = index(rest, "\n")) > 0) {
            lines[++last] = lasting(substr(rest, 1, end - 1))
            times[last] = now
            rest = substr(rest, end + 1)
        }
    }
    while (last > 0 && lines[last] == "") last--
    if (last == 0) { print "picture: the demo printed nothing" > "/dev/stderr"; exit 1 }
    start = times[1]
    for (n = 1; n <= last; n++) times[n] -= start
    stretch = times[last] > 0 && times[last] < wanted ? wanted / times[last] : 1
    total = begin + times[last] * stretch + pause
    height = rows * 17 + 32
    print "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"720\" height=\"" height "\" viewBox=\"0 0 720 " height "\" role=\"img\" aria-label=\"acquit demo on a terminal\">"
    print "<style>text{font:13px/17px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d8dee9;white-space:pre}" \
        ".c1{font-weight:bold;fill:#fff}.c2{fill:#7b8494}.c31{fill:#e06c75}.c32{fill:#98c379}.c33{fill:#e5c07b}"
    printf "#all{transform:translateY(%dpx);animation:scroll %.1fs step-end infinite}", scroll(last), total
    printf "#cover{transform:translateY(%dpx);animation:cover %.1fs step-end infinite}\n", cover(last), total
    steps("scroll", 0)
    steps("cover", 1)
    print "@media (prefers-reduced-motion:reduce){#all,#cover{animation:none}}</style>"
    print "<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1e222a\"/>"
    print "<svg y=\"14\" width=\"720\" height=\"" (rows * 17 + 4) "\"><g id=\"all\">"
    for (n = 1; n <= last; n++) if (lines[n] != "")
        print "<text x=\"16\" y=\"" (n * 17 - 4) "\" xml:space=\"preserve\">" line(lines[n]) "</text>"
    print "<rect id=\"cover\" width=\"720\" height=\"" ((last + rows) * 17) "\" fill=\"#1e222a\"/></g></svg>"
    print "</svg>"
}' > "$folder/picture"
mv "$folder/picture" docs/demo.svg
echo docs/demo.svg
