package road

func seldom() {
	note(1)
}
