// Command pictures draws the pictures of docs/protocol.md, and the one of docs/limits.md. Where a picture shows how owners, replicas and the driver of a
// move talk, they are the production's own, taken through a script: the picture shows what they really said, and drawing
// fails if that is not what the text beside it says.
//
//	go run ./cluster-tests/pictures --into docs/protocol
//
// The same files come out of every run. Start with scenes, and scene.go for how a scene is written.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
)

// A picture is a file and what draws it.
type picture struct {
	file string
	draw func() (svg string, err error)
}

// pictures are all of them, in the order of the document.
func pictures() []picture {
	return []picture{
		{"line.svg", theLine},
		{"cold-key.svg", coldKey},
		{"rivals.svg", rivals},
		{"wrong-yes.svg", wrong("Wrong: “it is reserved that far already, so yes”", yesToAll, 3)},
		{"wrong-larger.svg", wrong("Wrong: “keep the larger of the two, and say yes”", larger, 5)},
		{"killed.svg", killed},
		{"frozen.svg", frozen},
		{"partition.svg", cutOff},
		{"move.svg", moved},
		{"lost-disk.svg", lostDisk},
		{"floor.svg", floored},
		{"layers.svg", layers},
		{"algorithms.svg", algorithms},
	}
}

func main() {
	log.SetFlags(0)
	into := flag.String("into", "docs/protocol", "the `folder` to write to")
	flag.Parse()
	if err := drawAll(*into); err != nil {
		log.Fatal(err)
	}
}

// drawAll writes every picture into a folder.
func drawAll(folder string) error {
	var problems []error
	for _, p := range pictures() {
		svg, err := p.draw()
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, p.file), []byte(svg), 0o644) //nolint:gosec // for everybody to see
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", p.file, err))
		}
	}
	return errors.Join(problems...)
}
