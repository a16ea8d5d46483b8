package journal

// Trim removes the spare files if one of them is much larger than a new file, and the present file if it is and nothing
// was written to it; StartFile must follow. Bursts make large files, and once less is written, reusing those files would
// only hold on to their disk space.
func (j *Journal) Trim() error {
	for _, number := range j.spare {
		large, err := j.large(number)
		if err != nil {
			return err
		}
		if large {
			if err := j.Release(0, 0); err != nil {
				return err
			}
			break
		}
	}
	if !j.Fresh() {
		return nil
	}
	if large, err := j.large(j.number); err != nil || !large {
		return err
	}
	if err := j.Close(); err != nil {
		return err
	}
	j.older = j.older[:len(j.older)-1] // it holds no record
	return j.fs.Remove(j.path(j.number))
}

// large reports whether a file has grown to more than 5/4 of the size of a new one.
func (j *Journal) large(number uint64) (bool, error) {
	info, err := j.fs.Stat(j.path(number))
	return err == nil && info.Size() > j.fileSize+j.fileSize/4, err
}
