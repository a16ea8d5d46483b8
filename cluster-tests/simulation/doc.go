// Package simulation runs the protocol under everything that can go wrong, hours of it in a second, and holds all that
// happens against what is promised. A run is deterministic: the same seed gives the same run, to the last event.
//
// What runs are production's own steps, and no copies of them:
//
//	actor/owner       Check, Reset, Return, Answer, Wake, Enter, Idle: one owner for each key that is awake at a node
//	storage/register  Reserve, Found, Seal, Install, Enter, Drop, Join, Swept: the registers of each node
//	ring/move         Step: the moves of each partition, by one driver or by two that both believe that they lead
//	ring              Assign: where partitions are to be
//
// Around them stands what production has there too, made small: a committer that answers after the fsync (store.go), boots
// and marks by which old copies of disks are found out (node.go), clocks that are compared (clocks.go), copies and installs
// (copying.go), request ids that are remembered (actor.go), callers who go from replica to replica (call.go), and something
// linearizable in the place of raft (agreement.go, raft.go).
//
// # A world
//
// A [World] has a queue of events, ordered by time, and nothing else that moves: no goroutine, no wall clock. Its machines
// have disks that lose what is not synced, clocks that are off, and processes that crash, freeze and start again under new
// names. The network delays, loses, repeats and reorders, and tells senders that messages are lost which have arrived.
//
// # A scenario
//
// All that is asked of a world and all that goes wrong in it is drawn from the seed before it begins, as a list (draw*.go):
// each kind of failure not at all, a little, or very much. What happens by chance on the way, such as delays, is drawn for
// each message by itself (chance.go). So anything can be taken off the list, and the rest goes on much as before. That is
// how a run that fails is shrunk to the few things that it takes, and told as a story (shrink.go, story.go):
//
//	8.661 node-2 asks for (8.661s, 68.661s] of key-5/api: number 1, in epoch 1
//	8.661 node-1 accepts (8.661s, 68.661s], number 1 of its owner
//
// # What is asserted
//
//   - Of one generation no line is spent twice, by whichever owner in whichever life. Of two generations, only up to the
//     reset between them (spending.go).
//   - What is spent, a majority had accepted as this owner's own, by a clock that was near enough, and not in a generation
//     that was over by then.
//   - A receipt proves its cost, within what the clock and the limit allow, and reuses what was returned, once.
//   - In every window the net cost admitted is at most C + r·w + 2·r·ε, in exact integers (meter.go). What a clock admits
//     that no replica accepts, the ledger has seen reserved before.
//   - Names and numbers are used once (ledger.go).
//   - Where nothing fails, each decision is that of a token bucket in one place (reference.go).
//   - No line is burned without need, but for a little: no owner passes over what a majority would have accepted (burned.go).
//   - Nothing is left of a flood of invented keys when their buckets have long been full again (flood.go).
//   - When all faults end, moves do too, every bucket is served, and a saturated one admits what is due (healing.go).
//
// What is assumed, and so never happens here: that two clocks are wrong at once, that a second disk is lost before the
// registers of the first are kept elsewhere again, but for the majorities that are lost for ever (recovery.go), where all
// clocks are right, and that a disk is put back from a copy that nobody can tell, which is one younger than two minutes or of
// a time of which the others have not heard.
//
// That worlds are hostile enough is tested too: each of the variants (variant.go) is wrong in one way, and must be found.
package simulation
