
# Words that only acquit knows: tasks, agents, workflows.
complete -c acquit -f -a '(acquit complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
