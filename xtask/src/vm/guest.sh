# Runs suites in cgroups that systemd delegated, as an ordinary user. Ends with 0 if all of them passed and the kernel did its part.
echo "Linux $(uname -r), $(systemctl --version | head -n 1), user $(id -un), $(cut -d: -f3 /proc/self/cgroup)"
cp /payload/acquit /payload/hostile /payload/hostile-test /payload/sandbox-test "$HOME/"
cat > "$HOME/inside.sh" <<'END'
# $1 what delegated it; the rest are a suite and its tests.
how=$1
shift
own=/sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup)
base=${own%/acquit-self}
export ACQUIT_TEST_CGROUP=1 ACQUIT_HOSTILE_PATIENCE=8 ACQUIT_TEST_BINARY="$HOME/acquit" ACQUIT_TEST_HOSTILE="$HOME/hostile"
export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
ulimit -n 20000
"$@" --exact --nocapture --test-threads 1
code=$?
# Counts also what happened in cgroups below that are gone.
kills=$(sed -n 's/^oom_kill //p' "$base/memory.events")
echo "$how: exit $code; the kernel ended $kills processes for memory in $base"
if [ "$code" = 0 ] && [ "$kills" -ge "${KILLS:-1}" ]; then exit 0; fi
exit 1
END
scope() { systemd-run --user --scope --quiet -p Delegate=yes sh "$HOME/inside.sh" "a scope" "$@"; }
service() {
    systemd-run --user --quiet --pipe --wait -p 'Delegate=memory pids' -p DelegateSubgroup=acquit-self -E KILLS --working-directory="$HOME" \
        sh "$HOME/inside.sh" "a service" "$@"
}
failed=0
words=$(cat /payload/words)
if [ -z "$words" ]; then
    words="heavy_an_agent_with_its_model_is_limited heavy_a_gate_without_network_is_limited"
    # What a cgroup limits: memory and processes. Bombs of other kinds meet the same limits without one, and take longer than these.
    bombs="fork-bomb,thread-bomb,memory-bomb,memory-bomb-spread,memory-bomb-among-orphans,memfd-bomb,memory-bomb-shared"
    export ACQUIT_HOSTILE_ONLY="$bombs,memory-bomb-in-flight,memory-bomb-sockets,memory-bomb-untouched,memory-bomb-backlog,fill-shm"
fi
# shellcheck disable=SC2086
scope "$HOME/hostile-test" $words || failed=1
# From inside, the cgroup cannot be left or changed.
ACQUIT_HOSTILE_ONLY=cgroup,cgroup-release,write-system,sys-write,raise-limits,oom-immune
KILLS=0
export ACQUIT_HOSTILE_ONLY KILLS
scope "$HOME/hostile-test" an_agent_with_its_model_is_held || failed=1
unset ACQUIT_HOSTILE_ONLY
scope "$HOME/sandbox-test" limits::the_memory_limit_holds_and_doctor_says_who_enforces_it || failed=1
service "$HOME/sandbox-test" limits::the_memory_limit_holds_and_doctor_says_who_enforces_it || failed=1
exit $failed
