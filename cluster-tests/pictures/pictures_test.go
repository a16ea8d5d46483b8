package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/storage/register"
)

// folder is where the committed pictures are.
const folder = "../../docs/protocol"

// What is committed is what the program draws, and every scene shows what is claimed of it.
func TestPicturesAreCurrent(t *testing.T) {
	drawn := map[string]bool{}
	for _, p := range pictures() {
		drawn[p.file] = true
		svg, err := p.draw()
		if err != nil {
			t.Errorf("%s: %v", p.file, err)
			continue
		}
		committed, err := os.ReadFile(filepath.Join(folder, p.file))
		if err != nil {
			t.Errorf("%v: run go run ./cluster-tests/pictures --into docs/protocol", err)
			continue
		}
		if string(committed) != svg {
			t.Errorf("%s is not what is drawn now: run go run ./cluster-tests/pictures --into docs/protocol, and look at it", p.file)
		}
	}
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no pictures in %s: %v", folder, err)
	}
	for _, file := range files {
		if !drawn[filepath.Base(file)] {
			t.Errorf("nothing draws %s", file)
		}
	}
}

func TestPicturesAreTheSameEveryTime(t *testing.T) {
	for _, p := range pictures() {
		first, _ := p.draw()
		if again, _ := p.draw(); again != first {
			t.Errorf("%s comes out in another way the second time", p.file)
		}
	}
}

// A scene whose claim is not so cannot be drawn: with the right replica, nothing is spent twice.
func TestClaimThatIsNotSo(t *testing.T) {
	_, err := wrong("right", register.Partition.Reserve, 3)()
	if err == nil || !strings.Contains(err.Error(), "spent twice") {
		t.Fatalf("drawn as if the right replica were wrong: %v", err)
	}
	s := wrongScene(yesToAll, 3)
	if s.sound(); s.err() == nil {
		t.Error("a scene with a wrong replica passes for a sound one")
	}
	s = usual("A")
	if s.hears(s.last("A"), "node 1"); s.err() == nil {
		t.Error("an answer is heard that nobody gave")
	}
}

// Every text lies within its picture, and the file is XML.
func TestTextsFit(t *testing.T) {
	for _, p := range pictures() {
		svg, _ := p.draw()
		texts := textsOf(t, svg)
		if len(texts) < 5 {
			t.Errorf("%s has %d texts only", p.file, len(texts))
		}
		for _, text := range texts {
			size := 11.0
			if strings.Contains(text.class, "title") {
				size = 14
			}
			left, w := text.x, textWidth(text.text, size)
			switch {
			case strings.Contains(text.class, "middle"):
				left -= w / 2
			case strings.Contains(text.class, "end"):
				left -= w
			}
			if left < 0 || left+w > width {
				t.Errorf("%s: %q reaches from %.0f to %.0f", p.file, text.text, left, left+w)
			}
		}
	}
}

// A placed text is one in a picture.
type placed struct {
	class, text string
	x           float64
}

func textsOf(t *testing.T, svg string) (all []placed) {
	t.Helper()
	in := xml.NewDecoder(strings.NewReader(svg))
	var open *placed
	for {
		token, err := in.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if token.Name.Local != "text" {
				continue
			}
			open = &placed{}
			for _, a := range token.Attr {
				switch a.Name.Local {
				case "class":
					open.class = a.Value
				case "x":
					if open.x, err = strconv.ParseFloat(a.Value, 64); err != nil {
						t.Fatal(err)
					}
				}
			}
		case xml.CharData:
			if open != nil {
				open.text += string(token)
			}
		case xml.EndElement:
			if token.Name.Local == "text" {
				all, open = append(all, *open), nil
			}
		}
	}
}

// Every class that is used has a style.
func TestClassesHaveStyles(t *testing.T) {
	for _, p := range pictures() {
		svg, _ := p.draw()
		in := xml.NewDecoder(strings.NewReader(svg))
		for {
			token, err := in.Token()
			if err != nil {
				break
			}
			start, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			for _, a := range start.Attr {
				if a.Name.Local != "class" {
					continue
				}
				for class := range strings.FieldsSeq(a.Value) {
					if class != "start" && !strings.Contains(style, "."+class+"{") && !strings.Contains(style, "."+class+",") {
						t.Errorf("%s: class %q has no style", p.file, class)
					}
				}
			}
		}
	}
}

func TestDrawAll(t *testing.T) {
	into := t.TempDir()
	if err := drawAll(into); err != nil {
		t.Fatal(err)
	}
	for _, p := range pictures() {
		if info, err := os.Stat(filepath.Join(into, p.file)); err != nil || info.Size() == 0 {
			t.Errorf("%s was not written: %v", p.file, err)
		}
	}
	if err := drawAll(filepath.Join(into, "missing")); err == nil {
		t.Error("no error where there is no folder")
	}
}
