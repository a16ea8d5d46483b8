package nemesis

import "time"

// Kinds are all kinds of faults. A new one is a file and a line here.
func Kinds() []Kind {
	return append([]Kind{
		kindKilled, kindLeaderKilled, kindTwoKilled, kindAllKilled,
		kindFrozen, kindStuttering, kindAllFrozen,
		kindRestarted, kindRolled,
		kindWiped, kindCopied, kindRestored, kindRestoredLastLife, kindFull, kindFloored, kindRecovered,
		kindAhead, kindBehind, kindDrifting,
		kindResized, kindLimits, kindResets, kindFlood, kindLate,
	}, append(networkKinds(), gatewayKinds()...)...)
}

// Quick are the names of the kinds that are over within seconds.
func Quick() (names []string) {
	for _, k := range Kinds() {
		if k.Recovery < 10*time.Second {
			names = append(names, k.Name)
		}
	}
	return names
}
