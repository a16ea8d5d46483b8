package storage

// trim removes the spare files if one has more than that many bytes, and the file that is written if it has and nothing
// was written in this use of it; begin must follow. A burst makes large files while settling lags behind, and once there
// is less to write, the next generation would only hold on to their room.
func (j *journal) trim(most int64) error {
	for _, number := range j.spare {
		large, err := j.large(number, most)
		if err != nil {
			return err
		}
		if large {
			if err := j.drop(0, 0); err != nil {
				return err
			}
			break
		}
	}
	if j.file == nil || j.size > 0 {
		return nil
	}
	if large, err := j.large(j.number, most); err != nil || !large {
		return err
	}
	if err := j.end(); err != nil {
		return err
	}
	j.older = j.older[:len(j.older)-1] // it says nothing
	return j.fs.Remove(j.path(j.number))
}

func (j *journal) large(number uint64, most int64) (bool, error) {
	info, err := j.fs.Stat(j.path(number))
	return err == nil && info.Size() > most, err
}
