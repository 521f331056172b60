# Runs tests one after another and tells how each has ended. Arguments: a file with a line
# `NAME COMMAND` for each, and how many seconds each may take.
while read -r name command; do
    printf '\nbegun %s\n' "$name"
    # `timeout` gives the test a process group of its own, as some send signals to all of theirs.
    timeout --kill-after 10 "$2" sh -c "$command" < /dev/null
    printf '\nended %s: %d\n' "$name" "$?"
done < "$1"
