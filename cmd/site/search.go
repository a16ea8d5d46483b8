package main

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// A section is what the search finds: a page from a heading to the next one.
type section struct {
	address        string             // within the site
	title, heading string             // of the page, and the section's
	begins         string             // its first words
	often          map[string]float64 // its words, the headings' too
	more           map[string]float64 // what those of its heading count besides
	counts         float64            // how much it counts beside others
	length         float64
}

// An index is what the search in the browser loads. Words and sections are numbered by their places.
type index struct {
	// Sections are [address, title of the page, heading, first words].
	Sections [][4]string `json:"sections"`
	// Words are sorted.
	Words []string `json:"words"`
	// Found has for each word the sections with it: pairs of the distance from the section before, and what the word weighs there.
	Found [][]int `json:"found"`
}

// How much more a word counts that the title of a page has, or a heading, and how much of it all that the pages beside README.md have, such
// as the changes, in which every word stands.
const (
	inTitle      = 3.0
	inHeading    = 1.5
	aboutProject = 0.5
)

var (
	// wordOf finds words: numbers with a sign, such as -9; else letters and digits, also with marks between them: retry-after, rpc/access.
	wordOf = regexp.MustCompile(`-\d+|[\p{L}\p{N}]+(?:[-_./:'][\p{L}\p{N}]+)*`)
	partOf = regexp.MustCompile(`[\p{L}\p{N}]+`)
)

// words are those of a text: each as it stands and, where it has marks, its parts. search.js does the same.
func words(text string) (found []string) {
	for _, w := range wordOf.FindAllString(strings.ToLower(text), -1) {
		found = append(found, w)
		if parts := partOf.FindAllString(w, -1); len(parts) > 1 {
			found = append(found, parts...)
		}
	}
	return found
}

// sections are those of a page.
func (p *page) sections() (all []*section) {
	at, counts := 0, 1.0
	if p.source != start && !strings.Contains(p.source, "/") {
		counts = aboutProject
	}
	for n := p.doc.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() == ast.KindHeading {
			h := p.headings[at]
			at++
			s := &section{address: addressOf(p.source) + "#" + h.id, title: p.title, heading: h.text, often: map[string]float64{}, more: map[string]float64{}, counts: counts}
			s.count(p.title)
			s.count(h.text)
			weight := inHeading
			if h.level == 1 {
				s.address, s.heading, weight = addressOf(p.source), "", inTitle
			}
			for _, w := range words(h.text) {
				s.more[w] = weight
			}
			all = append(all, s)
			continue
		}
		if len(all) == 0 {
			continue // a page begins with a heading
		}
		s, text := all[len(all)-1], plainText(n, p.text)
		s.count(text)
		if s.begins == "" {
			s.begins = shortened(text, 140)
		}
	}
	return all
}

// count takes in a text.
func (s *section) count(text string) {
	for _, w := range words(text) {
		s.often[w]++
		s.length++
	}
}

// indexOf makes the index of some pages. Words that stand in half of all sections, such as "the", lead nowhere, and are left out. What a word weighs in a section is BM25, with more for headings, in tenths.
func indexOf(order []*entry) index {
	var all []*section
	for _, e := range order {
		all = append(all, e.sections()...)
	}
	with, mean := map[string]int{}, 0.0
	for _, s := range all {
		mean += s.length / float64(len(all))
		for w := range s.often {
			with[w]++
		}
	}
	x := index{Sections: [][4]string{}, Words: []string{}, Found: [][]int{}}
	for w, sections := range with {
		if sections <= len(all)/2 {
			x.Words = append(x.Words, w)
		}
	}
	slices.Sort(x.Words)
	at := map[string]int{}
	for i, w := range x.Words {
		at[w] = i
	}
	x.Found = make([][]int, len(x.Words))
	last := make([]int, len(x.Words))
	for i, s := range all {
		x.Sections = append(x.Sections, [4]string{s.address, s.title, s.heading, s.begins})
		for w, often := range s.often {
			rare := math.Log(1 + (float64(len(all)-with[w])+0.5)/(float64(with[w])+0.5))
			weight := rare * (often*3/(often+2*(0.6+0.4*max(s.length/mean, 0.5))) + s.more[w]) * s.counts
			n, indexed := at[w]
			if !indexed {
				continue
			}
			x.Found[n] = append(x.Found[n], i-last[n], max(1, int(math.Round(10*weight))))
			last[n] = i
		}
	}
	return x
}

// script is the index as a file that a page loads without a server: from a disk, a page may load scripts and no data.
func (x index) script() []byte {
	text, err := json.Marshal(x)
	if err != nil {
		panic(err) // it has only texts and numbers
	}
	return slices.Concat([]byte("jetonSearch("), text, []byte(");\n"))
}
