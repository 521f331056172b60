# PostgreSQL and its own benchmark: its books balance, and waits and timeouts take their time.
initdb=$(find /usr/lib/postgresql -path '*/bin/initdb' | sort | tail -1)
bin=${initdb%/initdb}
case $1 in
    server)
        folder=$(mktemp -d)
        chmod 777 "$folder"
        # It refuses root's rights.
        set --
        [ "$(id -u)" -ne 0 ] || set -- setpriv --reuid=postgres --regid=postgres --clear-groups
        "$@" "$bin/initdb" --pgdata "$folder/data" --auth trust --username tester > /dev/null
        echo 'host all all all trust' >> "$folder/data/pg_hba.conf"
        exec "$@" "$bin/postgres" -D "$folder/data" -k "$folder" -h 0.0.0.0 -p 5544 -c fsync=off
        ;;
    client)
        ask() { psql --no-psqlrc --tuples-only --no-align --host "$address" --port 5544 --username tester postgres --command "$1" 2>&1; }
        is() { [ "$1" = "$2" ] && echo yes || echo no; }
        address=$2
        until ask 'select 1' > /dev/null; do sleep 0.1; done
        bench() { pgbench --host "$address" --port 5544 --username tester "$@" postgres; }
        bench --initialize --quiet --scale 1 > /dev/null 2>&1
        bench --client 4 --jobs 2 --transactions 50 --random-seed 7 > /dev/null 2>&1
        echo "fact the benchmark ends well: $(is $? 0)"
        books='(select sum(abalance) from pgbench_accounts)'
        for table in 'sum(tbalance) from pgbench_tellers' 'sum(bbalance) from pgbench_branches' 'sum(delta) from pgbench_history'; do
            echo "fact the books balance, ${table%%(*} ${table##* }: $(is "$(ask "select $books = (select $table)")" t)"
        done
        echo "fact all transactions are there: $(is "$(ask 'select count(*) from pgbench_history')" 200)"
        took="select extract(epoch from clock_timestamp() - now()) between 5 and 15 from (select pg_sleep(5)) slept"
        echo "fact a sleep takes its time: $(is "$(ask "$took")" t)"
        late=$(ask "set statement_timeout = '1s'; select pg_sleep(60)" | grep -c 'statement timeout')
        echo "fact a statement that takes too long is canceled: $(is "$late" 1)"
        ;;
esac
