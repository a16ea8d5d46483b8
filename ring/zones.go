package ring

import "slices"

// numberZones numbers the zones of members. A member without a zone is a zone of its own.
func numberZones(members []Member) (zones []int, sizes []int) {
	numbers := map[string]int{}
	for _, m := range members {
		number, known := numbers[m.Zone]
		if !known || m.Zone == "" {
			number = len(sizes)
			numbers[m.Zone] = number
			sizes = append(sizes, 0)
		}
		sizes[number]++
		zones = append(zones, number)
	}
	return zones, sizes
}

// zoneLimit is the maximum number of replicas of one partition in one zone: one if there are as many zones as replicas;
// otherwise the largest zone's share of all nodes, rounded up, which keeps even shares possible.
func zoneLimit(sizes []int, nodes, replicas int) int {
	if len(sizes) >= replicas {
		return 1
	}
	return (slices.Max(sizes)*replicas + nodes - 1) / nodes
}

// fairShares is the number of replicas that each node should have, as even as the zones allow. If there are enough zones, a
// large zone has at most one replica of each partition: its nodes get fewer, and the others share the rest.
func fairShares(zones, sizes []int, partitions, replicas int) []float64 {
	order := make([]int, len(sizes)) // zones, the largest first
	for z := range order {
		order[z] = z
	}
	slices.SortStableFunc(order, func(a, b int) int { return sizes[b] - sizes[a] })

	nodes, rest := len(zones), replicas // nodes that share what is left, replicas per partition that are left
	full := make([]bool, len(sizes))
	for _, z := range order {
		if len(sizes) < replicas || sizes[z]*rest <= nodes {
			break
		}
		full[z] = true
		nodes, rest = nodes-sizes[z], rest-1
	}
	fair := make([]float64, len(zones))
	for n, z := range zones {
		if full[z] {
			fair[n] = float64(partitions) / float64(sizes[z])
		} else {
			fair[n] = float64(partitions*rest) / float64(nodes)
		}
	}
	return fair
}
