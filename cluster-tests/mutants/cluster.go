package mutants

// ofCluster are mutants of what the nodes agree on.
func ofCluster() []Mutant { //nolint:funlen // a list
	return []Mutant{
		{
			Name: "an old copy goes unnoticed",
			Why:  "a disk whose mark is lower than what a voter has seen is an old copy and joins as new. Otherwise it serves what it has forgotten",
			Edits: []Edit{{
				File: "ring/cluster/joining/proof.go",
				Old:  "a.Known && a.Mark.Compare(before) > 0:",
				New:  "a.Known && a.Mark.Compare(before) > 1:",
			}},
			Caught: []Hunt{{Package: "./ring/cluster", Run: "^TestOldCopyOfADisk$", Says: `somebody else has noticed the old copy`}},
		},
		{
			Name: "proved by no other node",
			Why:  "a node serves once a majority of the voters has answered for its disk; a minority may not know the newest mark",
			Edits: []Edit{{
				File: "ring/cluster/joining/proof.go",
				Old:  "if answered >= ring.Majority(voters) {",
				New:  "if answered >= 1 {",
			}},
			Caught: []Hunt{{Package: "./ring/cluster/joining", Run: "^TestProofCountsVoters$", Says: `of 3 voters`}},
		},
		{
			Name: "one mark for two",
			Why:  "a mark is raised, never repeated, by another process. Otherwise two run on copies of one disk, each without what the other accepts",
			Edits: []Edit{{
				File: "ring/agreed/registry.go",
				Old:  "case same && node.Mark.Minute < c.Mark.Minute, node.Mark.Boot < c.Mark.Boot:",
				New:  "case node.Mark.Minute <= c.Mark.Minute, node.Mark.Boot < c.Mark.Boot:",
			}},
			Caught: []Hunt{{Package: "./ring/agreed", Run: "^TestMarksRise$", Says: `<nil>, want the node has already raised a higher mark`}},
		},
		{
			Name: "promised to every node",
			Why:  "an empty node promises its founding to one founder; promised to two, it is counted for two clusters that share its keys",
			Edits: []Edit{{
				File: "ring/cluster/joining/record.go",
				Old:  "held != nil && (held.Founder != p.Founder || held.Attempt > p.Attempt) {",
				New:  "held != nil && held.Founder == p.Founder && held.Attempt > p.Attempt {",
			}},
			Caught: []Hunt{{Package: "./ring/cluster/joining", Run: "^TestPromisesAreExclusive$", Says: `another founder's: <nil>`}},
		},
		{
			Name: "a vote in another's place",
			Why:  "raft takes the node at an address for the one it means; a node with an empty disk there, voting for the one it replaced, elects a leader without what was agreed",
			Edits: []Edit{{
				File: "ring/cluster/consensus/stream.go",
				Old:  "if meant != s.id {",
				New:  "if false {",
			}},
			Caught: []Hunt{{Package: "./ring/cluster/consensus", Run: "^TestVotesInAnothersPlace$", Says: `elected by a server that is not the one that was asked`}},
		},
		{
			Name: "a recovery counts who is left",
			Why:  "the nodes that are lost with raft's majority may have agreed on an epoch and served in it; if old replicas are counted, that epoch begins a second time",
			Edits: []Edit{{
				File: "ring/agreed/recovery.go",
				Old:  "case raftLost || left < ring.Enough(len(place.Replicas)):",
				New:  "case left < ring.Enough(len(place.Replicas)):",
			}},
			Caught: []Hunt{
				{Package: "./ring/agreed", Run: "^TestPlanRecovery$", Says: `raft lost true`},
				{Package: "./ring/cluster", Run: "^TestRecoveryOfAMoveThatNobodyLeftHasHeardOf$", Says: `those who are lost have served in epoch 2`},
			},
		},
		{
			Name: "a recovery that ends no registers",
			Why:  "a floor lies after all that was accepted only if the survivors accept nothing from before it was set",
			Edits: []Edit{{
				File: "ring/cluster/recovery/reset.go",
				Old:  "\tif err := r.endRegisters(ctx); err != nil {\n\t\treturn message.Nothing{}, err",
				New:  "\tif err := ctx.Err(); err != nil {\n\t\treturn message.Nothing{}, err",
			}},
			Caught: []Hunt{{Package: "./ring/cluster", Run: "^TestWhoIsLeftEndsBeforeARecovery$", Says: `ended: map`}},
		},
		{
			Name: "a recovery passes over who is silent",
			Why:  "a node that only gossip knows may know what the lost ones agreed on; for a moment gossip takes it for dead",
			Edits: []Edit{{
				File: "ring/cluster/recovery/survey.go",
				Old:  "if p.Cluster == s.Cluster.String() && !member",
				New:  "if p.Alive && p.Cluster == s.Cluster.String() && !member",
			}},
			Caught: []Hunt{{Package: "./ring/cluster", Run: "^TestRecoveryWaitsForWhoIsSilent$", Says: `is not waited for`}},
		},
		{
			Name: "a recovery takes a new disk for the lost one",
			Why:  "nodes come up with new disks under the names of the lost; taken for them, they answer, and the cluster cannot be recovered while they wait",
			Edits: []Edit{{
				File: "ring/cluster/recovery/recovery.go",
				Old:  "err == nil && said.ID == n.ID && said.Cluster == agreed.Unique{}",
				New:  "err == nil && said.ID != n.ID && said.Cluster == agreed.Unique{}",
			}},
			Caught: []Hunt{{Package: "./ring/cluster", Run: "^TestRecoveryBesideSuccessors$", Says: `are taken for the lost ones`}},
		},
		{
			Name: "a recovery by a removal that nobody agreed on",
			Why:  "a leader that was cut off may have written into its log that a node is removed, which lives and has agreed on more with others since; taken for removed, it is not asked, and there are two clusters",
			Edits: []Edit{{
				File: "ring/cluster/recovery/survey.go",
				Old:  "_, sure := s.Removed[id]; return sure })",
				New:  "return s != nil })",
			}},
			Caught: []Hunt{{Package: "./ring/cluster", Run: "^TestRecoveryBesideARemovalThatNobodyAgreedOn$", Says: `it is done`}},
		},
		{
			Name: "a recovery removes whom nobody let in",
			Why:  "a node that is no member by what is agreed cannot be removed by it; a recovery that names it would agree on nothing",
			Edits: []Edit{
				{File: "ring/agreed/recovery.go", Old: "\tslices.SortFunc(what.Lost, ring.NodeID.Compare)", New: "\twhat.Lost = slices.SortedFunc(maps.Keys(gone), ring.NodeID.Compare)"},
				{File: "ring/agreed/recovery.go", Old: "\t\"slices\"\n", New: "\t\"maps\"\n\t\"slices\"\n"},
			},
			Caught: []Hunt{{Package: "./ring/agreed", Run: "^TestPlanRecovery$", Says: `removed`}},
		},
		{
			Name: "a recovery in two steps",
			Why:  "a node that leads alone has the recovery agreed; cut off between the two, it goes on with the moves of the lost nodes",
			Edits: []Edit{
				{File: "ring/cluster/consensus/recover.go", Old: "\tvar s *agreed.State\n", New: "\ts := r.current\n"},
				{File: "ring/cluster/consensus/recover.go", Old: "if s, r.refused = r.what.Apply(r.current)", New: "if _, r.refused = r.what.Apply(r.current)"},
			},
			Caught: []Hunt{{Package: "./ring/cluster/consensus", Run: "^TestRecoverFromOneOfThree$", Says: `the recovery is not agreed`}},
		},
		{
			Name: "the longer log by its length",
			Why:  "the log that ends in the later term holds all that was agreed; a longer one may hold what never was instead",
			Edits: []Edit{{
				File: "ring/cluster/consensus/logend.go",
				Old:  "return e.Term > other.Term || e.Term == other.Term && e.Index > other.Index",
				New:  "return e.Index > other.Index",
			}},
			Caught: []Hunt{{Package: "./ring/cluster/consensus", Run: "^TestLogEnds$", Says: `entry 4 of term 3 after`}},
		},
		{
			Name: "calls of a node that was removed",
			Why:  "what a lost leader has sent may arrive long after a recovery; taken, it brings the old servers and the old state back",
			Edits: []Edit{{
				File: "ring/cluster/consensus/inbox.go",
				Old:  "return has && b.removed(raft.ServerID(m.GetRPCHeader().ID))",
				New:  "return has && b.removed(raft.ServerID(m.GetRPCHeader().ID[:0]))",
			}},
			Caught: []Hunt{
				{Package: "./ring/cluster/consensus", Run: "^TestLateCallsOfALostLeader$", Says: `the recovered node takes it`},
				{Package: "./ring/cluster/consensus", Run: "^TestLateCallsAtAResetNode$", Says: `the reset node takes it`},
			},
		},
		{
			Name: "a reset that forgets who is lost",
			Why:  "what a lost leader has sent may arrive at a node that was reset and is not let in again; taken, it brings the old state back, which the recovered leader takes for its own",
			Edits: []Edit{{
				File: "ring/cluster/consensus/recover.go",
				Old:  "keep.Lost = slices.Concat(a.disk.lost, lost)",
				New:  "keep.Lost = lost",
			}},
			Caught: []Hunt{{Package: "./ring/cluster/consensus", Run: "^TestLateCallsAtAResetNode$", Says: `the reset node takes it`}},
		},
		{
			Name: "calls that wait for the next raft",
			Why:  "what a lost leader has sent before it was lost may arrive while raft is stopped for a recovery; read by the raft that runs afterwards, it undoes the recovery",
			Edits: []Edit{{
				File: "ring/cluster/consensus/agreement.go",
				Old:  "\ta.transport.inbox.close()\n\terr := r.Shutdown().Error()",
				New:  "\terr := r.Shutdown().Error()",
			}},
			Caught: []Hunt{{Package: "./ring/cluster/consensus", Run: "^TestLateCallsOfALostLeader$", Says: `by a node whose raft does not run`}},
		},
		{
			Name: "a recovery that does not wait for gossip",
			Why:  "a node that was let in while the one that recovers was down makes itself known within seconds of its start; passed over, it makes a second cluster",
			Edits: []Edit{{
				File: "ring/cluster/gossip/seek.go",
				Old:  "left := g.config.Rarely + 3*dialTime - time.Since(g.started)",
				New:  "left := g.config.Rarely - 3*dialTime - time.Since(g.started)",
			}},
			Caught: []Hunt{{Package: "./ring/cluster", Run: "^TestRecoveryRightAfterAStart$", Flags: []string{"-count=5"}, Says: `is passed over`}},
		},
		{
			Name: "a recovery of what its log was before",
			Why:  "what arrives after the survey was in no plan: a node that it lets in would be a member that nobody has asked",
			Edits: []Edit{{
				File: "ring/cluster/consensus/recover.go",
				Old:  "if err == nil && own.End != from {",
				New:  "if err == nil && own.End != from && false {",
			}},
			Caught: []Hunt{{Package: "./ring/cluster/consensus", Run: "^TestRecoverFromOneOfThree$", Says: `of what the log was before`}},
		},
		{
			Name: "the floor of an earlier recovery",
			Why:  "a recovered epoch is entered with a floor that is set then; one that came with an install knows nothing of what was accepted since",
			Edits: []Edit{
				{
					File: "cmd/node/placement.go",
					Old:  "case place.Floored && here.Installed <= place.Epoch && m.compared:",
					New:  "case place.Floored && m.compared && !(here.Floored && here.Installed == place.Epoch):",
				},
				{File: "cmd/node/placement.go", Old: "case here.Installed == place.Epoch && !place.Floored:", New: "case here.Installed == place.Epoch:"},
			},
			Caught: []Hunt{{Package: "./cmd/node", Run: "^TestRecoveredEpochHasAFloor$", Says: `without the floor of this recovery`}},
		},
		{
			Name: "a SIGHUP asked for once the node serves",
			Why:  "a SIGHUP that is not asked for ends the process: a service manager may reload a node that it has just started",
			Edits: []Edit{
				{File: "cmd/jeton/main.go", Old: "if len(os.Args) > 1 && (", New: "if len(os.Args) > 1 && false && ("},
				{File: "cmd/jeton/serve.go", Old: "\tsignal.Notify(hangup, syscall.SIGHUP)\n", New: ""},
				{File: "cmd/jeton/serve.go", Old: "\tjoined, reload := ", New: "\tsignal.Notify(hangup, syscall.SIGHUP)\n\tjoined, reload := "},
			},
			Caught: []Hunt{{Package: "./cluster-tests", Run: "^TestHangupWhileANodeStarts$", Says: `the process ended before it logged msg=serving`}},
		},
		{
			Name: "a SIGHUP from before the start is discarded",
			Why:  "a node has read its files before it serves: who has changed them since and sends SIGHUP would wait for the change for ever",
			Edits: []Edit{{
				File: "cmd/jeton/serve.go",
				Old:  "\t\t\tjoined, reload = nil, hangup\n",
				New:  "\t\t\tif joined, reload = nil, hangup; len(hangup) > 0 {\n\t\t\t\t<-hangup\n\t\t\t}\n",
			}},
			Caught: []Hunt{{Package: "./cmd/jeton", Run: "^TestHangupFromBefore$", Says: `the limits were not reloaded`}},
		},
		{
			Name: "a SIGHUP before there is a cluster",
			Why:  "a node that waits for others has no limits to reload: the SIGHUP fails and is lost",
			Edits: []Edit{{
				File: "cmd/jeton/serve.go",
				Old:  "n.Joined(), (<-chan os.Signal)(nil)",
				New:  "n.Joined(), hangup",
			}},
			Caught: []Hunt{{Package: "./cluster-tests", Run: "^TestHangupOfAMemberThatWaits$", Says: `SIGTERM after SIGHUP|before there was a cluster`}},
		},
	}
}

// ofBounds are mutants of what strangers can make a node hold.
func ofBounds() []Mutant {
	return []Mutant{
		{
			Name: "a budget without a bound",
			Why:  "the client that fills the budget of a listener loses its connection. Otherwise strangers fill the memory of a node",
			Edits: []Edit{{
				File: "internal/bound/conn.go",
				Old:  "	for over {",
				New:  "	for over && false {",
			}},
			Caught: []Hunt{{Package: "./internal/bound", Run: "^TestWhoHoldsMostIsCutOff$", Says: `it holds more than the budget`}},
		},
		{
			Name: "half a hello for ever",
			Why:  "a connection to raft has little time to authenticate. Otherwise silent ones use up the descriptors",
			Edits: []Edit{{
				File: "ring/cluster/consensus/stream.go",
				Old:  "if err := a.SetDeadline(time.Now().Add(greetWithin)); err != nil {",
				New:  "if err := a.SetDeadline(time.Time{}); err != nil {",
			}},
			Caught: []Hunt{{Package: "./ring/cluster/consensus", Run: "^TestSilentConnectionsToRaftEnd$", Says: `want the one that said whom it wants`}},
		},
		{
			Name: "packets of strangers pass",
			Why:  "gossip is opened with the key before anything else sees it",
			Edits: []Edit{{
				File: "ring/cluster/gossip/sockets.go",
				Old:  "	return checkSealed(s.key, packet, nil)",
				New:  "	return nil",
			}},
			Caught: []Hunt{{Package: "./ring/cluster/gossip", Run: "^TestPacketsOfStrangersAreNotLogged$", Says: `packets were refused, in`}},
		},
		{
			Name: "any label",
			Why:  "a label that is no UTF-8 is a panic, wherever it is used",
			Edits: []Edit{{
				File: "internal/bound/label.go",
				Old:  `return strings.ToValidUTF8(text, "\ufffd")`,
				New:  `return strings.Clone(text)`,
			}},
			Caught: []Hunt{{Package: "./internal/bound", Run: "^FuzzLabel$", Says: `is not valid UTF-8`}},
		},
	}
}
