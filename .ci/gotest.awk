# Reads the events of go test -json, one a line, and reports as .ci/gotest says. Output is kept until its test has
# ended, so that tests running side by side do not mix.

# field is the string value of a field of the event; no quote inside another value can look like its name.
function field(name,    at) {
	if (!match($0, "\"" name "\":\"([^\"\\\\]|\\\\.)*\"")) return ""
	at = length(name) + 4
	return substr($0, RSTART + at, RLENGTH - at - 1)
}

# plain undoes the escapes of a JSON string that occur in test output.
function plain(s) {
	gsub(/\\\\/, "\001", s)
	gsub(/\\n/, "\n", s)
	gsub(/\\t/, "\t", s)
	gsub(/\\r/, "", s)
	gsub(/\\"/, "\"", s)
	gsub(/\\u003c/, "<", s)
	gsub(/\\u003e/, ">", s)
	gsub(/\\u0026/, "\\&", s)
	gsub(/\\u001b/, "\033", s)
	gsub(/\001/, "\\", s)
	return s
}

!/^\{/ { print; next }

{
	action = field("Action")
	package = field("Package")
	test = field("Test")
	id = package " " test
}

action == "build-output" { printf "%s", plain(field("Output")) }

action == "output" {
	text = plain(field("Output"))
	if (test == "" && text ~ /^(ok  |FAIL|\?   )/) { printf "%s", text; fflush() }
	else if (text !~ /^=== /) output[id] = output[id] text
}

# What takes long is said at the end: make test is to stay short.
(action == "pass" || action == "fail") && test != "" && test !~ /\// && match($0, /"Elapsed":[0-9]+/) {
	seconds = substr($0, RSTART + 10, RLENGTH - 10) + 0
	if (seconds >= 20) slow[id] = seconds
}

action == "pass" && test != "" {
	passed++
	if (show_passed) { printf "%s", output[id]; fflush() }
	delete output[id]
}

action == "skip" && test != "" { skipped++; printf "%s", output[id]; delete output[id] }

action == "fail" {
	if (test != "") failed++
	printf "%s", output[id]
	delete output[id]
	fails++
	if (test == "") { # the tests that ran when it ended, of which nothing more is said
		for (open in output) if (index(open, package " ") == 1 && output[open] != "") {
			printf "%s was running:\n%s", open, output[open]
			delete output[open]
		}
	}
}

(action == "pass" || action == "fail") && test == "" { packages++ }

END {
	sorted = "sort -rn | head -n 10"
	for (id in slow) printf "%6d s  %s\n", slow[id], id | sorted
	close(sorted)
	printf "%d tests passed, %d failed, %d skipped, in %d packages\n", passed, failed, skipped, packages
	print passed + 0, skipped + 0, packages + 0 >> tally
	if (fails) exit 1
	if (!passed) { print "no test ran" > "/dev/stderr"; exit 1 }
	if (skipped && !may_skip) { print "a test was skipped that must run" > "/dev/stderr"; exit 1 }
}
