#!/bin/sh
# Runs every check of greet.sh. Each names what it expects; the first difference ends the run.
check() {
    expected=$1
    shift
    actual=$(sh greet.sh "$@") || exit 1
    if [ "$actual" != "$expected" ]; then
        echo "tests/run.sh: greet.sh $*"
        echo "  expected: $expected"
        echo "  actual:   $actual"
        exit 1
    fi
}

check 'Hello, Ada!' Ada
for file in tests/*.case; do
    [ -e "$file" ] || continue
    . "./$file"
done
echo "all checks passed"
