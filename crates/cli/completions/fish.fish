
# Words that only acquit knows: tasks, agents, workflows, states.
function __acquit_words
    acquit complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null
end
complete -c acquit -f -a '(__acquit_words)'
# fish asks only the lines of an option for its value, and the others would offer files.
complete -c acquit -n 'contains -- (commandline -opc)[-1] -w --workflow' -s w -l workflow -x -a '(__acquit_words)'
complete -c acquit -n 'contains -- (commandline -opc)[-1] --agent' -l agent -x -a '(__acquit_words)'
complete -c acquit -n 'contains -- (commandline -opc)[-1] --state' -l state -x -a '(__acquit_words)'
