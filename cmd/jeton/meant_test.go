package main

import (
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
)

// Who mistypes something is told what was probably meant, or where to look.
func TestSlipsOfTheCommandLine(t *testing.T) {
	for args, want := range map[string]string{
		"limits apply limits.yaml":      `"limits.yaml": to name a file, say -f limits.yaml`,
		"limits diff limits.yaml":       `"limits.yaml": to name a file, say -f limits.yaml`,
		"limits apply -f a b":           `"b" is one argument too many: use jeton limits apply -f FILE`,
		"keys list keys.jsonl":          `say --file keys.jsonl`,
		"keys revoke ci keys.jsonl":     `"keys.jsonl": to name a file, say --file keys.jsonl`,
		"gateway gateway.yaml":          `unknown command "gateway.yaml" of jeton gateway: to name a file, say --config gateway.yaml`,
		"version 2":                     `"2" is one argument too many: use jeton version`,
		"check login":                   `KEY is missing: use jeton check LIMIT[,LIMIT…] KEY [LIMIT[,LIMIT…] KEY]… [flags], as in jeton check login user:42`,
		"bucket":                        `LIMIT is missing: use jeton bucket LIMIT KEY`,
		"cluster recover node-1":        `"node-1" is one argument too many: use jeton cluster recover --lost NODE[,NODE…]`,
		"limit get":                     `unknown command "limit" of jeton: did you mean jeton limits?`,
		"limit get --output json":       `did you mean jeton limits?`,
		"limits gte":                    `unknown command "gte" of jeton limits: did you mean jeton limits get?`,
		"limits show":                   `did you mean jeton limits get?`,
		"cluster stauts":                `did you mean jeton cluster status?`,
		"status":                        `did you mean jeton cluster status?`,
		"get":                           `did you mean jeton limits get?`,
		"apply -f limits.yaml":          `did you mean jeton limits apply?`,
		"keys create":                   `did you mean jeton keys make?`,
		"expl 17":                       `did you mean jeton explain?`,
		"keys nonsense":                 `unknown command "nonsense" of jeton keys: use list, make or revoke: see jeton keys --help`,
		"nonsense":                      `limits, man, serve, settle, simulate, top or version: see jeton --help`,
		"check login k -s here":         `unknown option -s: did you mean --server? see jeton check --help`,
		"check login k -server here":    `unknown option -server: did you mean --server?`,
		"check login k --sever here":    `unknown option --sever: did you mean --server?`,
		"cluster token --cluster-key k": `unknown option --cluster-key: did you mean --cluster-key-file?`,
		"limits get -f limits.yaml":     `unknown option -f: see jeton limits get --help`,
		"settle h --used 5":             `unknown option --used: did you mean --cost? see jeton settle --help`,
		"settle h --tokens 5":           `unknown option --tokens: did you mean --cost?`,
		"check login k --nonsense":      `unknown option --nonsense: see jeton check --help`,
		"check login k -t 5":            `unknown option -t: see jeton check --help`,
		"completion tcsh":               `unknown command "tcsh" of jeton completion: did you mean jeton completion bash?`,
		"completion nonsense":           `unknown command "nonsense" of jeton completion: use bash, fish, powershell or zsh: see jeton completion --help`,
		"completion bahs":               `unknown command "bahs" of jeton completion: did you mean jeton completion bash?`,
		"completion bash extra":         `"extra" is one argument too many: use jeton completion bash`,
		"doctor -- --foo":               `options of jeton serve, after --: unknown option --foo: see jeton serve --help`,
		"doctor -- --expct 3":           `options of jeton serve, after --: unknown option --expct: did you mean --expect? see jeton serve --help`,
		"doctor -- jeton.yaml":          `options of jeton serve, after --: "jeton.yaml": to name a file, say --config jeton.yaml: see jeton serve --help`,
	} {
		stdout, stderr, code := jeton(t, nil, strings.Fields(args)...)
		if code != cli.ExitError || stdout != "" || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("jeton %s: exit code %d, %q, %q; want %q in one line", args, code, stdout, stderr, want)
		}
	}
}

// A group alone shows its help, as the program does.
func TestGroupsShowTheirHelp(t *testing.T) {
	for _, group := range []string{"", "limits", "keys", "cluster", "completion"} {
		stdout, stderr, code := jeton(t, nil, strings.Fields(group)...)
		if code != cli.ExitOK || stderr != "" || !strings.Contains(stdout, "Available Commands:") {
			t.Errorf("jeton %s: exit code %d, %q, %q", group, code, stdout, stderr)
		}
	}
}

// Help for a verb that there is none of is an error, and names the one that was meant.
func TestHelpForNothing(t *testing.T) {
	for args, want := range map[string]string{
		"help chekc":        "unknown command \"chekc\" of jeton: did you mean jeton check?",
		"help limits aply":  "unknown command \"aply\" of jeton limits: did you mean jeton limits apply?",
		"help check nosuch": "unknown command \"nosuch\" of jeton check",
	} {
		if stdout, stderr, code := jeton(t, nil, strings.Fields(args)...); code != cli.ExitError || !strings.Contains(stderr, want) || stdout != "" {
			t.Errorf("jeton %s: exit code %d: %s%s", args, code, stdout, stderr)
		}
	}
	for _, args := range []string{"help", "help limits apply"} {
		if stdout, stderr, code := jeton(t, nil, strings.Fields(args)...); code != cli.ExitOK || !strings.Contains(stdout, "Usage:") {
			t.Errorf("jeton %s: exit code %d: %s%s", args, code, stdout, stderr)
		}
	}
}
