#!/bin/sh
# redis-cli asks jeton: lines of what is asked and answered, for TestRedisClients.
set -eu
host=${1%:*} port=${1#*:}

# ask runs redis-cli with some options and one command, and puts the answer on one line.
ask() {
	printf '> redis-cli %s\n  ' "$*"
	redis-cli -h "$host" -p "$port" "$@" 2>&1 | tr '\n' ' '
	echo
}

ask PING
ask CL.THROTTLE cli 2 1 3600
ask -3 CL.THROTTLE cli 2 1 3600 2
ask --json CL.THROTTLE cli 2 1 3600
ask JETON.CHECK cli login
ask JETON.CHECK cli login 9
printf '> five lines of CL.THROTTLE cli-pipeline 2 1 3600 into redis-cli --pipe\n  '
for _ in 1 2 3 4 5; do printf 'CL.THROTTLE cli-pipeline 2 1 3600\r\n'; done | redis-cli -h "$host" -p "$port" --pipe 2>&1 | tr '\n' ' '
echo
ask EVALSHA "$SHA" 1 cli 10 1 3600 4
ask JETON.CHECK cli logn
ask CL.THROTTLE cli 2 0 3600
ask GET cli
echo '> kill -9 of the node, and a start'
read -r _
until redis-cli -h "$host" -p "$port" PING >/dev/null 2>&1; do sleep 0.05; done
ask CL.THROTTLE cli 2 1 3600
