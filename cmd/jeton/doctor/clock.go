package doctor

import (
	"fmt"
	"slices"

	"github.com/jeton-dev/jeton/cmd/jeton/doctor/facts"
	"github.com/jeton-dev/jeton/internal/plain"
	"github.com/jeton-dev/jeton/rpc/activity"
)

// slowSources are clocks that are read over a bus: each reading takes a microsecond or more, and a check reads several.
func slowSources() []string { return []string{"hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"} }

// clock is this machine's clock.
func clock(j *judge, m *facts.Machine) {
	c := &m.Clock
	if c.Unknown != "" {
		j.unknown("clock", "whether a time service sets it: %s", c.Unknown)
		return
	}
	if c.Synchronized {
		j.sees("clock", "a time service sets it, and takes it for right within %s; source %s", plain.Duration(c.Error), c.Source)
	} else {
		j.sees("clock", "no time service sets it; source %s", c.Source)
		j.warning(clockFree, finding{
			what: "the kernel does not know of a time service that sets the clock",
			do:   "Run one, such as chrony or systemd-timesyncd. In a container or a virtual machine, see to the host's clock too. A node whose clock differs by more than 250 ms from those of a majority decides nothing.",
		})
	}
	if c.Synchronized && c.Error >= activity.ClockWarns {
		j.warning(clockOff, finding{
			what: fmt.Sprintf("the time service takes the clock to be off by up to %s", plain.Duration(c.Error)),
			do:   "See which servers it asks: chronyc sources, timedatectl timesync-status.",
		})
	}
	if slices.Contains(slowSources(), c.Source) {
		j.notice(clockSlow, finding{
			what: "the kernel reads the clock from " + c.Source + ", which is slow: each check reads it several times",
			do:   "See in the kernel's log why it has given up tsc, or choose another: /sys/devices/system/clocksource/clocksource0/available_clocksource.",
		})
	}
}
