# A service of Java and its client: their times are those of the domain, and no answer is another one's.
exec java -Xshare:auto -XX:TieredStopAtLevel=1 "$(dirname "$0")/Service.java" "$@"
