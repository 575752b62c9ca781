package demo

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/mattn/go-isatty"
)

// display says how the demo gets on: on a terminal with one line that changes, elsewhere with a line now and then.
type display struct {
	terminal bool

	mu  sync.Mutex
	out io.Writer
	// live says that the changing line is on the screen.
	live bool
}

func newDisplay(out io.Writer) *display {
	file, isFile := out.(*os.File)
	return &display{out: out, terminal: isFile && isatty.IsTerminal(file.Fd())}
}

// clearLine takes the changing line off a terminal.
const clearLine = "\r\x1b[K"

// say writes a line that stays. A display that cannot be written to is no reason to end a demo.
func (d *display) say(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.live {
		_, _ = io.WriteString(d.out, clearLine)
		d.live = false
	}
	_, _ = fmt.Fprintf(d.out, format+"\n", args...)
}

// show exchanges the changing line, or writes one more where there is no terminal.
func (d *display) show(line string) {
	if !d.terminal {
		d.say("%s", line)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, _ = io.WriteString(d.out, clearLine+line)
	d.live = true
}

// follow shows how far t is until stop is called, which waits for the last line.
func (d *display) follow(t *tally, messages int, relay *Relay) (stop func()) {
	every := 5 * time.Second
	if d.terminal {
		every = 100 * time.Millisecond
	}
	ended, gone := make(chan struct{}), make(chan struct{})
	show := func() {
		stored, delivered := t.now()
		d.show(fmt.Sprintf("delivered %d of %d, stored %d, packets dropped %d", delivered, messages, stored, relay.Dropped()))
	}
	go func() {
		defer close(gone)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				show()
			case <-ended:
				show()
				return
			}
		}
	}()
	return func() {
		close(ended)
		<-gone
		d.end()
	}
}

// end leaves the changing line where it is and begins a new one.
func (d *display) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.live {
		_, _ = io.WriteString(d.out, "\n")
		d.live = false
	}
}
