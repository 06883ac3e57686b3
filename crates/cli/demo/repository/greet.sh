#!/bin/sh
# Greets somebody by name.
name=${1:?usage: greet.sh NAME}
printf 'Hello, %s!\n' "$name"
