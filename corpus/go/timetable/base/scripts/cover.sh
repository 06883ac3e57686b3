#!/bin/sh
# Fails if less than so many percent of the statements are covered.
set -eu
min="$1"
total=$(go tool cover -func=cover.out | awk '/^total:/ { sub("%", "", $3); print int($3) }')
if [ "$total" -lt "$min" ]; then
	echo "coverage is $total%, less than $min%"
	exit 1
fi
