package road

func note(i int) int { return i + 1 }
