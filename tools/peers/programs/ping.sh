# ping: round trips in virtual time, from stamps that the kernel gives to what it receives.
case $1 in
    server) exec sleep 60 ;;
    client)
        # A stamp in host time would add what host time has run ahead: seconds at a factor of 2.
        said=$(ping -n -c 5 -i 0.5 "$2" || true)
        is() { [ "$1" = "$2" ] && echo yes || echo no; }
        # rtt min/avg/max/mdev = 0.023/0.042/0.052/0.010 ms
        longest=$(echo "$said" | awk '/^rtt/ { split($4, times, "/"); print int(times[3]) }')
        echo "fact five answers come: $(is "$(echo "$said" | grep -c ' bytes from ')" 5)"
        echo "fact the longest round trip is no artefact: $(is "$((${longest:-9999} < 450))" 1)"
        ;;
esac
