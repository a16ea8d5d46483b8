package main

// A layer is one kind of test: what is real in it, what is made up, and what it is good at.
type layer struct{ name, real, made, finds string }

// layers draws the layers of the tests, the smallest at the bottom.
func layers() (string, error) {
	all := []layer{
		{"L4 · processes", "binaries, sockets, kernel, disk", "the faults", "kill -9, SIGSTOP, wiped disks, cut networks"},
		{"L3 · nodes in one process", "nodes, storage, raft, gossip", "disk (it can crash), network", "a missing fsync, power cuts at any write"},
		{"L2 · simulation", "the pure steps", "clock, network, disk, from a seed", "long histories of many faults; replays"},
		{"L1 · model check", "the pure steps", "all around them, and small", "every order of a few messages and faults"},
		{"L0 · properties", "arithmetic, codecs, rules", "the input", "rounding, overflow, hostile input"},
	}
	var d drawing
	const left, height, gap = 20.0, 54.0, 8.0
	y := 50.0
	for i, l := range all {
		inset := 26 * float64(len(all)-1-i)
		x, w := left+110-inset, width-2*left-220+2*inset
		d.rect("box", x, y, w, height)
		d.text("bold middle", width/2, y+17, l.name)
		d.text("small middle", width/2, y+33, "real: "+l.real+" · made up: "+l.made)
		d.text("small middle dim", width/2, y+47, "finds "+l.finds)
		y += height + gap
	}
	d.text("small dim middle", width/2, y+10, "On every history: checkers that know nothing of jeton. Against every checker: mutants, wrong versions that must be caught.")
	return page("The layers of the tests: the same steps run in L1, in L2 and in production", y+28, d.String()), nil
}
