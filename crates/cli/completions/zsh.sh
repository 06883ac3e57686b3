
# Words that only acquit knows (tasks, agents, workflows) come before those of the command line.
_acquit() {
    local -a found
    found=(${(f)"$(acquit complete -- "${(@)words[2,CURRENT]}" 2>/dev/null | sed 's/:/\\:/g; s/\t/:/')"})
    if (( $#found )); then
        _describe 'acquit' found
    else
        _acquit_static "$@"
    fi
}
if [ "$funcstack[1]" = "_acquit" ]; then
    _acquit "$@"
else
    compdef _acquit acquit
fi
