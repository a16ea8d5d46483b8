package storage

// What a Store takes of memory, in bytes, if there is enough of it. With Pebble's own cache every look for a key that was
// never seen reads from the disk once there are a million registers.
const (
	maxCache, minCache     = 128 << 20, 4 << 20
	maxJournal, minJournal = 16 << 20, 1 << 20
)

// journalInMemory is how many bytes of memory a byte of the journal may cost. A register of some 70 bytes takes some 250 in
// memory, and 100 more while it is settled; and there are up to four generations: one or two that are written, one that
// is stale, and one that is being settled.
const journalInMemory = 16

// share shares the memory out among what takes it.
func (c *Config) share() {
	if c.cacheSize == 0 {
		c.cacheSize = maxCache
		if c.Memory > 0 {
			c.cacheSize = min(max(c.Memory/3, minCache), maxCache)
		}
	}
	if c.journalSize == 0 {
		c.journalSize = maxJournal
		if c.Memory > 0 {
			c.journalSize = min(max((c.Memory-c.cacheSize)/journalInMemory, minJournal), maxJournal)
		}
	}
}

// OffHeap is about how many bytes of Memory Go's runtime may not see: those of Pebble's cache and its tables in memory.
func OffHeap(memory int64) int64 {
	c := Config{Memory: memory}
	c.setDefaults()
	return c.cacheSize + 4*int64(c.memTableSize)
}

// Full says that the registers take more than Config.Memory, which they can with Durability Memory only. Registers that
// there are go on to be written. It is for those who could do without further ones, and may be called at any time.
func (s *Store) Full() bool {
	t, ok := s.table.(*memoryTable)
	return ok && s.cfg.Memory > 0 && t.bytes.Load() > s.cfg.Memory
}
