package edge

// Jump has the clock count a jump.
func (e *Edge) Jump() { e.clock.jumps.Add(1) }
