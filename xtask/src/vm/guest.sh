# Runs test suites as an ordinary user in cgroups that systemd delegates. Exits with 0 if all pass and the kernel enforced its limits.
echo "Linux $(uname -r), $(systemctl --version | head -n 1), user $(id -un), $(cut -d: -f3 /proc/self/cgroup)"
cp /payload/acquit /payload/hostile /payload/hostile-test /payload/sandbox-test "$HOME/"
cat > "$HOME/inside.sh" <<'END'
# $1: the kind of unit that delegates the cgroup; the rest: a test suite and its tests.
how=$1
shift
own=/sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup)
base=${own%/acquit-self}
export ACQUIT_TEST_CGROUP=1 ACQUIT_HOSTILE_PATIENCE=8 ACQUIT_TEST_BINARY="$HOME/acquit" ACQUIT_TEST_HOSTILE="$HOME/hostile"
export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
ulimit -n 20000
"$@" --exact --nocapture --test-threads 1
code=$?
# This includes events of child cgroups that are gone.
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
    # A cgroup limits memory and processes. Other kinds of bombs hit the same limits without a cgroup, and take longer.
    bombs="fork-bomb,thread-bomb,memory-bomb,memory-bomb-spread,memory-bomb-among-orphans,memfd-bomb,memory-bomb-shared"
    export ACQUIT_HOSTILE_ONLY="$bombs,memory-bomb-in-flight,memory-bomb-sockets,memory-bomb-untouched,memory-bomb-backlog,fill-shm"
fi
# shellcheck disable=SC2086
scope "$HOME/hostile-test" $words || failed=1
# Programs inside cannot leave or change the cgroup.
ACQUIT_HOSTILE_ONLY=cgroup,cgroup-release,write-system,sys-write,raise-limits,oom-immune
KILLS=0
export ACQUIT_HOSTILE_ONLY KILLS
scope "$HOME/hostile-test" an_agent_with_its_model_is_held || failed=1
unset ACQUIT_HOSTILE_ONLY
scope "$HOME/sandbox-test" limits::the_memory_limit_holds_and_doctor_says_who_enforces_it || failed=1
service "$HOME/sandbox-test" limits::the_memory_limit_holds_and_doctor_says_who_enforces_it || failed=1
exit $failed
