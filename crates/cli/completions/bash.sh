
# Words that only acquit knows (tasks, agents, workflows) come before those of the command line.
_acquit_words() {
    local found
    found=$(acquit complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1)
    if [ -n "$found" ]; then
        COMPREPLY=($(compgen -W "$found" -- "${COMP_WORDS[COMP_CWORD]}"))
    else
        _acquit "$@"
    fi
}
complete -F _acquit_words -o nosort -o bashdefault -o default acquit
