# A Redis server and its own benchmark: nothing is lost, and a key expires when its time is over.
case $1 in
    server) exec redis-server --port 6379 --bind 0.0.0.0 --protected-mode no --save '' ;;
    client)
        ask() { redis-cli -h "$address" "$@"; }
        is() { [ "$1" = "$2" ] && echo yes || echo no; }
        address=$2
        until ask ping > /dev/null 2>&1; do sleep 0.1; done
        redis-benchmark -h "$address" -n 2000 -c 20 -t set,incr,lpush --csv > /dev/null
        echo "fact the benchmark ends well: $(is $? 0)"
        echo "fact all increments count: $(is "$(ask get counter:__rand_int__)" 2000)"
        echo "fact all elements are there: $(is "$(ask llen mylist)" 2000)"
        ask set key value px 5000 > /dev/null
        sleep 1
        echo "fact a key is there before its time is over: $(is "$(ask exists key)" 1)"
        sleep 4.5
        echo "fact a key is gone after its time is over: $(is "$(ask exists key)" 0)"
        ;;
esac
