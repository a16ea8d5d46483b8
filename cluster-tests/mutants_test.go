package clustertests

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/cluster-tests/process"
)

// A mutant is the code made wrong on purpose by a build tag. A test that no mutant fails is decoration.

func TestMutantsAnswerFirst(t *testing.T) {
	t.Parallel()
	s := newSiege(t, process.Build(t, "mutant_answerfirst"), siegeLimits)
	for life := range lives {
		s.live(life)
		if err := s.check(); err != nil {
			if !strings.Contains(err.Error(), "overlap") {
				t.Errorf("caught after %d lives, but not by overlapping spans: %v", life+1, err)
			}
			t.Logf("caught after %d lives: %v", life+1, err)
			return
		}
	}
	t.Errorf("a node that answers before it reserves was not caught in %d lives", lives)
}

func TestMutantsNoFsync(t *testing.T) {
	t.Parallel()
	crashTestsCatch(t, "mutant_nofsync")
}

func TestMutantsNoSealFsync(t *testing.T) {
	t.Parallel()
	crashTestsCatch(t, "mutant_nosealfsync")
}

// crashTestsCatch says whether the crash tests of storage fail with a build tag that leaves an fsync out.
func crashTestsCatch(t *testing.T, tag string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-tags", tag, "-run", "TestCrash",
		"github.com/jeton-dev/jeton/storage").CombinedOutput()
	if err == nil {
		t.Fatalf("a store that answers before its fsync passes the crash tests:\n%s", out)
	}
	if !strings.Contains(string(out), "--- FAIL: TestCrash") {
		t.Fatalf("the crash tests failed, but not because of the mutant:\n%s", out)
	}
}
