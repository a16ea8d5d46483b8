package mutants

import "slices"

// All are the mutants, in the order of the packages from the arithmetic to the doors.
func All() []Mutant {
	return slices.Concat(ofLimit(), ofOwner(), ofLeases(), ofActor(), ofTogether(), ofConversations(), ofRegister(), ofStorage(), ofMove(), ofCluster(), ofLevel(), ofReleases(), ofBounds(), ofGateway(), ofMetering(),
		ofModels(), ofAccess(), ofRedis(), ofEnvoy(), ofRatelimit(), ofQuotas(), ofGubernator(), ofKuadrant())
}
