# iperf3 between two nodes; the client prints what it found as JSON.
case $1 in
    server) exec iperf3 --server ;;
    client)
        sleep 1
        iperf3 --client "$2" --time "$IPERF_SECONDS" --json --connect-timeout 5000
        ;;
esac
