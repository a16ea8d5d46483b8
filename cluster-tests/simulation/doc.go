// Package simulation runs the protocol under all kinds of failures, hours of simulated time in a second, and checks every
// event against the promise. A run is deterministic: the same seed gives the same run, to the last event.
//
// It runs the production steps themselves, not copies of them:
//
//	actor/owner       Check, Settle, Reset, Return, Answer, Wake, Enter, Idle: one owner for each key that is awake at a node
//	storage/register  Reserve, Found, Seal, Install, Enter, Drop, Join, Swept: the registers of each node
//	ring/move         Step: the moves of each partition, by one driver or by two that both believe that they lead
//	ring              Assign: where partitions are to be
//	actor/lease       Check, Answered, Again, Undo, Surplus: what edges decide by leases
//
// Around them stands what production has there too, made small: a committer that answers after the fsync (store.go), boots
// and marks by which old copies of disks are found out (node.go), clocks that are compared (clocks.go), copies and installs
// (copying.go), request ids that are remembered (actor.go), callers that go from replica to replica (call.go) and may define their limits
// themselves, for whose registers nodes have a bound (defined.go), edges that may be killed, and whose clocks jump (edge.go), and something linearizable in the place
// of raft (agreement.go, raft.go).
//
// # A world
//
// A [World] has a queue of events, ordered by time; it uses no goroutine and no wall clock. Its machines have disks that lose
// what is not synced, clocks that are wrong, and processes that crash, freeze and restart with new identities. The network
// delays, loses, repeats and reorders messages, and reports some as lost that have arrived.
//
// The package is larger than others (9,300 lines) because a world is one state machine: faults, steps and checks all read
// and write the same nodes, clocks and queue, so packages for them would share nearly all of its fields.
//
// # A scenario
//
// All requests to a world and all its failures are drawn from the seed before it starts, as a list (draw*.go, loader.go): each kind of
// failure not at all, a little, or very often. Random values during the run, such as delays, are drawn for each message
// separately (chance.go). So any item can be removed from the list, and the rest of the run changes little. That is how a
// failing run is shrunk to the few items that it needs, and printed as a story (shrink.go, story.go):
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
//   - In every window the net cost admitted is at most C + r·w + 2·r·ε, in exact integers (meter.go). A check that waits counts at
//     the time at which it may begin, and not at all if its caller leaves before (waiting.go). What a clock admits that no
//     replica accepts, the ledger has seen reserved before.
//   - What an edge admits by a lease counts in the same windows, at the time at which its clock was read. Leases are no more, and last no longer, than
//     they may; what is spent of one lies in it, once, and not behind what was given back; and what comes back to the owner does once (spending.go).
//     No check waits at an edge for ever.
//   - Of limits that count entries, no window admits more than the algorithm's bound, and no more permits are held than there are: the
//     checkers of package history judge what owners decide, by the true time (tally.go). Of what a smaller plan was given, or came before a limit
//     was made larger, no more than that allows.
//   - In the end, checks that another limit denies, or whose callers leave, have taken nothing of these: what is stored is what was admitted
//     (vain.go).
//   - Of holds, each ledger that a majority has stored lists those that were answered, and settlements that were answered stand; its entries
//     are what its holds have taken, to the token; a claim is told the latest one; and what is charged is what a settlement said (held.go,
//     settled.go). With what owners take and charge, the checkers of package history judge that at no time more is charged and held than
//     the limit and its debt.
//   - When the time of all holds is over, no owner and no register holds anything, and a line that had time to fill gives all that it has.
//   - Names and numbers are used once (ledger.go).
//   - Where nothing fails, each decision is that of a token bucket in one place (reference.go).
//   - No line is burned without need, but for a little: no owner passes over what a majority would have accepted (burned.go).
//   - Nothing is left of a flood of invented keys when their buckets have long been full again (flood.go).
//   - When all faults end, moves do too, every bucket is served, and a saturated one admits what is due (healing.go).
//
// What is assumed, and so never happens here: that two clocks are wrong at once, that a second disk is lost before the
// registers of the first are kept elsewhere again, but for the majorities that are lost permanently (recovery.go), where all
// clocks are right, and that a disk is restored from a copy that no node can detect: one younger than two minutes, or of a
// time of which the other nodes have not heard.
//
// That worlds are hostile enough is tested too: each of the variants (variant.go) is wrong in one way, and must be found.
package simulation
