package clustertests

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/cluster-tests/process"
)

// redisClientsPage shows what clients of Redis in other languages ask, and what they are answered.
const redisClientsPage = "../docs/redis-clients.md"

var writeTranscripts = flag.Bool("transcripts", false, "write what clients of Redis say into "+redisClientsPage)

const (
	redisClientsLimits = "limits: {login: {capacity: 5, refill: 1/h}}"
	// redisRateSHA is the script Allow of redis_rate.
	redisRateSHA = "f52a5b566060d79fd321d695df55bc918339c4aa"
	// killLine is what a story says before it waits for the node to be killed and started again.
	killLine = "> kill -9 of the node, and a start"
)

// A redisClient is a client in another language, which plays its story.
type redisClient struct {
	name    string
	command []string // the address is added
	version []string // a command that prints it
}

// redisClients are those that are tried. Their programs stand in the folder redisclients.
func redisClients() []redisClient {
	python := "python3"
	if exec.Command("/usr/bin/python3", "-c", "import redis").Run() == nil { //nolint:noctx // it is short
		python = "/usr/bin/python3" // for which the package of the distribution is
	}
	return []redisClient{
		{"redis-cli", []string{"sh", "rediscli.sh"}, []string{"redis-cli", "--version"}},
		{"redis-py", []string{python, "redispy.py"}, []string{python, "-c", "import redis; print(redis.__version__)"}},
		{"ioredis", []string{"node", "ioredis.mjs"}, nodeVersion("ioredis")},
		{"node-redis", []string{"node", "noderedis.mjs"}, nodeVersion("redis")},
	}
}

// nodeVersion prints the version of a package, and fails where the package cannot be loaded.
func nodeVersion(name string) []string {
	return []string{"node", "--input-type=module", "-e", `import "` + name + `"; import { readFileSync } from "node:fs"; console.log(JSON.parse(readFileSync("node_modules/` + name + `/package.json")).version)`}
}

// Clients of Redis in other languages ask a cluster as they are: they connect in their own way, are answered, in pipelines and to scripts too,
// get errors as those of Redis, and go on when their node was killed and is back. The page shows it. A client that is not there is skipped:
// make doors-clients installs all of them.
func TestRedisClients(t *testing.T) {
	t.Parallel()
	c := process.NewCluster(t, process.Build(t), 3, redisClientsLimits)
	for _, m := range c.Members {
		m.Args("--listen-redis", m.Redis)
		m.Launch()
	}
	for _, m := range c.Members {
		m.Ready()
	}
	page, err := os.ReadFile(redisClientsPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, client := range redisClients() {
		t.Run(client.name, func(t *testing.T) {
			version := client.versionHere(t)
			got := client.play(t, c.Members[0])
			fmt.Fprintf(t.Output(), "%s %s\n%s", client.name, version, got)
			heading := regexp.MustCompile(`(?m)^## ` + client.name + ` .*\n\n` + "```text\n((?s:.*?))```\n")
			found := heading.FindSubmatchIndex(page)
			if found == nil {
				t.Fatalf("%s has no transcript of %s", redisClientsPage, client.name)
			}
			if *writeTranscripts {
				page = []byte(string(page[:found[0]]) + "## " + client.name + " " + version + "\n\n```text\n" + got + "```\n" + string(page[found[1]:]))
				return
			}
			if want := string(page[found[2]:found[3]]); roughly(got) != roughly(want) {
				t.Errorf("it is not what %s shows:\n%s", redisClientsPage, want)
			}
		})
	}
	if *writeTranscripts {
		if err := os.WriteFile(redisClientsPage, page, 0o644); err != nil { //nolint:gosec // it is to be read
			t.Fatal(err)
		}
	}
}

// versionHere is the version of the client that is installed, without which the test is skipped.
func (r redisClient) versionHere(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), r.version[0], r.version[1:]...)
	cmd.Dir = "redisclients"
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("%s is not installed, or not the version that is tried: make doors-clients installs it", r.name)
	}
	return strings.TrimPrefix(strings.TrimSpace(string(out)), "redis-cli ")
}

// play has the client play its story with a node, which is killed where the story says so, and returns what it said.
func (r redisClient) play(t *testing.T, m *process.Member) (said string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), process.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.command[0], append(r.command[1:len(r.command):len(r.command)], m.Redis)...)
	cmd.Dir, cmd.Env, cmd.Stderr = "redisclients", append(os.Environ(), "SHA="+redisRateSHA), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said += strings.TrimRight(lines.Text(), " ") + "\n"
		if lines.Text() != killLine {
			continue
		}
		m.Kill()
		m.Launch()
		m.Ready()
		killed = true
		if _, err := io.WriteString(in, "\n"); err != nil {
			t.Error(err)
		}
	}
	if err := cmd.Wait(); err != nil || !killed {
		t.Fatalf("%s: %v, killed: %v; it said:\n%s", filepath.Join(cmd.Args...), err, killed, said)
	}
	return said
}

// roughly is a transcript with two digits of each number: some say how long it is until a time.
func roughly(transcript string) string {
	return regexp.MustCompile(`\b\d+(\.\d+)?\b`).ReplaceAllStringFunc(transcript, func(number string) string {
		n, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return number
		}
		return fmt.Sprintf("%.2g", n)
	})
}
