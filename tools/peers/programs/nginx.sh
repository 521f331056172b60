# nginx and curl: every page arrives whole, and a page limited to 100 kB/s takes its time.
case $1 in
    server)
        folder=$(mktemp -d)
        chmod 755 "$folder"
        head -c 200000 /dev/zero > "$folder/page"
        cat > "$folder/nginx.conf" << END
user root;
daemon off;
pid $folder/pid;
error_log stderr;
events {}
http {
    access_log off;
    server {
        listen 8080;
        root $folder;
        location /slow/ { alias $folder/; limit_rate 100k; }
    }
}
END
        exec nginx -p "$folder" -c "$folder/nginx.conf"
        ;;
    client)
        whole=0
        get() { curl --silent --show-error --output /dev/null --max-time 30 "$@"; }
        until get "http://$2:8080/page" 2> /dev/null; do sleep 0.1; done
        for n in $(seq 20); do
            size=$(get --fail --write-out '%{size_download}' "http://$2:8080/page?$n")
            [ "$size" -ne 200000 ] || whole=$((whole + 1))
        done
        echo "fact 20 pages arrive whole: $([ "$whole" -eq 20 ] && echo yes || echo no)"
        # 200,000 octets at 102,400 a second, the first second's at once: about 1 s.
        echo "fact a limited page takes its time: $(get --fail --write-out '%{size_download} %{time_total}' \
            "http://$2:8080/slow/page" | awk '{print $1 == 200000 && 0.9 < $2 && $2 < 10 ? "yes" : "no"}')"
        ;;
esac
