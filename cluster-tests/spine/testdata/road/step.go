package road

func step(i int, f func() bool) bool {
	note(i)
	return f()
}
