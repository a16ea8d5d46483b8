package nemesis

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// launch starts the process, unless it runs, and watches it.
func (h *host) launch() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.launchLocked()
}

func (h *host) launchLocked() error {
	if h.wanted || h.retired {
		return nil
	}
	if err := h.program.Begin(); err != nil {
		return err
	}
	h.stage.t.Cleanup(h.release) // before the process is killed
	h.wanted = true
	h.life++
	exited, life := h.program.Exited(), h.life
	h.stage.watches.Go(func() {
		<-exited
		h.ended(life)
	})
	return nil
}

// release says that the process may end now: the test does.
func (h *host) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wanted, h.retired = false, true
}

// ended looks whether a process was meant to end. One that was not is a finding; it is started again, so that the run
// can go on.
func (h *host) ended(life int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.wanted || h.life != life {
		return
	}
	h.wanted = false
	if h.excused {
		h.stage.say("%s has ended by itself, as it has to: %s", h.name, lastLine(h.program.Log()))
		return
	}
	h.stage.problem("%s has ended by itself in its life %d: %s", h.name, life, lastLine(h.program.Log()))
	if h.crashes++; h.crashes < mostCrashes {
		if err := h.launchLocked(); err != nil {
			h.stage.problem("%v", err)
		}
	}
}

// mostCrashes bounds how often a process that ends by itself is started again.
const mostCrashes = 20

// lastLine is the last line of a log that says something.
func lastLine(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	return lines[len(lines)-1]
}

// kill kills the process, if it runs, and returns when it is gone.
func (h *host) kill() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.wanted {
		h.partLocked()
		h.program.Kill()
	}
	return nil
}

// partLocked says that the process is not to run any more.
func (h *host) partLocked() {
	h.wanted = false
	if h.parting != nil {
		h.parting()
	}
}

// stop stops the process in good order, if it runs.
func (h *host) stop(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.wanted {
		return nil
	}
	h.partLocked()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	code, err := h.program.Terminate(ctx)
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d: %s", code, lastLine(h.program.Log()))
	}
	if err != nil {
		h.program.Kill()
		return fmt.Errorf("%s was stopped in good order: %w", h.name, err)
	}
	return nil
}

// freeze stops the process as SIGSTOP does, if it runs.
func (h *host) freeze() error { return h.signal(syscall.SIGSTOP) }

// thaw lets it go on.
func (h *host) thaw() error { return h.signal(syscall.SIGCONT) }

func (h *host) signal(s syscall.Signal) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.wanted {
		return nil
	}
	if err := h.program.Send(s); err != nil {
		return fmt.Errorf("%s: signal %v: %w", h.name, s, err)
	}
	return nil
}

// excuse says whether the process may end by itself.
func (h *host) excuse(may bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.excused = may
}

// retire says that the node will not run again.
func (h *host) retire() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.retired = true
}

// ceased says whether the process has ended by itself, and may, or has so often that it is not started again.
func (h *host) ceased() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.wanted && (h.excused || h.crashes >= mostCrashes)
}

// is are the states of the host at this moment.
func (h *host) is() (wanted, retired bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.wanted, h.retired
}

// log is what the process of this life has said.
func (h *host) log() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.program.Log()
}

// serving waits until the process says that it serves. A process that ends meanwhile was seen by its watch; one that may
// end, and did, is not waited for, nor is a node that another fault takes out of the cluster.
func (h *host) serving(ctx context.Context) error {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !h.program.Serves(ctx) {
		if _, retired := h.is(); retired {
			return nil
		}
		if h.ceased() {
			return fmt.Errorf("%s has ended before it served: %s", h.name, lastLine(h.log()))
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("%s does not serve %.1f s after it was to: %s", h.name, time.Since(began).Seconds(), lastLine(h.log()))
		}
	}
	return nil
}

// wipe empties the disk. The process must not run.
func (h *host) wipe() error { return os.RemoveAll(h.member.Data) }

// copyTo copies the disk. The process must not run, or be frozen.
func (h *host) copyTo(folder string) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	return os.CopyFS(folder, os.DirFS(h.member.Data))
}

// copyFrom puts a copy in the place of the disk. The process must not run.
func (h *host) copyFrom(folder string) error {
	if err := h.wipe(); err != nil {
		return err
	}
	return os.CopyFS(h.member.Data, os.DirFS(folder))
}

// copies is the folder with the copies of the host's disk.
func (h *host) copies(which string) string {
	return filepath.Join(h.stage.folder, "copies", h.name+"-"+which)
}

// running are those of some hosts that are to run, by name.
func running(hosts []*host) (names []string) {
	for _, h := range hosts {
		if wanted, _ := h.is(); wanted {
			names = append(names, h.name)
		}
	}
	slices.Sort(names)
	return names
}

// setClock makes the clock wrong: by so much, and by so many microseconds more in each second.
func (h *host) setClock(offset time.Duration, drift int) error {
	text := fmt.Sprintf(`{"offset_ns": %d, "drift_ppm": %d}`, offset.Nanoseconds(), drift)
	if err := os.WriteFile(h.clock+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(h.clock+".new", h.clock)
}

// rightClock makes it right.
func (h *host) rightClock() error { return os.Remove(h.clock) }
