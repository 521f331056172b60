# Mosquitto and its clients (MQTT): every message arrives once and in order, and a will is sent when a client is
# silent for one and a half times as long as it has said.
case $1 in
    server)
        folder=$(mktemp -d)
        printf 'listener 1884 0.0.0.0\nallow_anonymous true\nmax_queued_messages 0\nuser root\n' > "$folder/conf"
        exec mosquitto -c "$folder/conf"
        ;;
    client)
        folder=$(mktemp -d)
        publish() { mosquitto_pub -h "$address" -p 1884 "$@"; }
        subscribe() { mosquitto_sub -h "$address" -p 1884 "$@"; }
        is() { [ "$1" = "$2" ] && echo yes || echo no; }
        address=$2
        until publish -t hello -m there 2> /dev/null; do sleep 0.1; done
        subscribe -t numbers -q 2 -i reader -c -C 500 -W 60 > "$folder/numbers" & reader=$!
        sleep 1
        seq 500 | publish -t numbers -q 2 -l
        wait "$reader"
        echo "fact 500 messages arrive once and in order: $(is "$(seq 500 | cksum)" "$(cksum < "$folder/numbers")")"
        subscribe -t will -q 1 -C 1 -W 60 > "$folder/will" & heir=$!
        mosquitto_sub -h "$address" -p 1884 -t nothing -k 5 -i testator --will-topic will --will-payload gone --will-qos 1 & testator=$!
        sleep 1
        kill -STOP "$testator"
        begin=$(date +%s%N)
        wait "$heir"
        took_ms=$((($(date +%s%N) - begin) / 1000000))
        kill -KILL "$testator"
        echo "fact a will is sent: $(is "$(cat "$folder/will")" gone)"
        echo "fact it is sent after one and a half times the keep-alive: $([ "$took_ms" -ge 5000 ] && [ "$took_ms" -lt 20000 ] && echo yes || echo no)"
        until publish -t kept -r -m value 2> /dev/null; do sleep 0.1; done
        echo "fact a retained message is kept: $(is "$(subscribe -t kept -C 1 -W 60)" value)"
        ;;
esac
