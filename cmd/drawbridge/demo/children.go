package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// nursery starts processes, all from one thread that lives as long as the nursery. On Linux a child is told to die with the
// thread that started it: that must not be a thread which the runtime ends when it likes.
type nursery struct {
	starts chan func()
	gone   chan struct{}
}

func newNursery() *nursery {
	n := &nursery{starts: make(chan func()), gone: make(chan struct{})}
	go func() {
		defer close(n.gone)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for start := range n.starts {
			start()
		}
	}()
	return n
}

// start starts cmd; its process ends with this one.
func (n *nursery) start(cmd *exec.Cmd) (err error) {
	done := make(chan struct{})
	n.starts <- func() {
		defer close(done)
		err = cmd.Start()
	}
	<-done
	return err
}

// close ends the thread. The children must have ended before.
func (n *nursery) close() {
	close(n.starts)
	<-n.gone
}

// child is an agent's process, one life after the other.
type child struct {
	// name is what a reader calls it: A or B.
	name string
	// command makes the next life's command, without output.
	command func() *exec.Cmd
	logPath string
	nursery *nursery
	// lost is told when a life ends that nobody ended.
	lost func(error)

	mu sync.Mutex
	// life is the present life; nil before the first.
	life *life
}

// life is one run of the process.
type life struct {
	cmd *exec.Cmd
	// over is closed when the process has ended and its state is known.
	over chan struct{}
	// ended is set by whoever is about to end it, so that its end is no surprise.
	ended atomic.Bool
}

// startGrace is how long an agent may take from its start to its first answer; a spool of a demo opens in milliseconds.
const startGrace = 20 * time.Second

// stopGrace is how long an agent may take to drain before it is killed.
const stopGrace = 5 * time.Second

// endGrace is how long the kernel may take to end a killed process.
const endGrace = 10 * time.Second

// tailBytes is how much of a log is shown when its agent ended by itself.
const tailBytes = 2 << 10

// start begins the next life and returns when answers says that the agent answers.
func (c *child) start(ctx context.Context, answers func(context.Context) error) error {
	l, err := c.launch(attached(), c.nursery.start)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.life = l
	c.mu.Unlock()
	go c.attend(l)
	return c.await(ctx, l, answers)
}

// release begins a life that this process neither watches nor ends, and returns its process id once the agent answers.
func (c *child) release(ctx context.Context, answers func(context.Context) error) (pid int, err error) {
	l, err := c.launch(detached(), (*exec.Cmd).Start)
	if err != nil {
		return 0, err
	}
	l.ended.Store(true)
	go c.attend(l)
	return l.cmd.Process.Pid, c.await(ctx, l, answers)
}

// launch starts the process; what it says is added to the log.
func (c *child) launch(attributes *syscall.SysProcAttr, start func(*exec.Cmd) error) (*life, error) {
	log, err := os.OpenFile(c.logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of agent %s: %w", c.name, err)
	}
	defer func() { _ = log.Close() }()
	cmd := c.command()
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, attributes
	if err := start(cmd); err != nil {
		return nil, fmt.Errorf("start agent %s: %w", c.name, err)
	}
	return &life{cmd: cmd, over: make(chan struct{})}, nil
}

// attend waits for the end of a life. It needs no waiting for: whoever ends the process waits for over.
func (c *child) attend(l *life) {
	_ = l.cmd.Wait() // says no more than the process state does
	close(l.over)
	if !l.ended.Load() {
		c.lost(c.obituary(l))
	}
}

// await polls until the agent answers, its life is over or the grace is.
func (c *child) await(ctx context.Context, l *life, answers func(context.Context) error) error {
	waiting, end := context.WithTimeout(ctx, startGrace)
	defer end()
	var last error
	err := poll(waiting, 10*time.Millisecond, func() (bool, error) {
		select {
		case <-l.over:
			return false, c.obituary(l)
		default:
		}
		last = answers(waiting)
		return last == nil, nil
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("agent %s did not answer within %s of its start: %w%s", c.name, startGrace, last, c.tail())
	}
	return err
}

// freeze stops the process where it is.
func (c *child) freeze() error {
	if err := c.claim().cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return fmt.Errorf("freeze agent %s: %w", c.name, err)
	}
	return nil
}

// kill ends the process by SIGKILL and returns nil if it died of that.
func (c *child) kill() error {
	l := c.claim()
	if err := c.end(l); err != nil {
		return err
	}
	if status, ok := l.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL {
		return fmt.Errorf("agent %s ended by itself (%s) before the SIGKILL", c.name, l.cmd.ProcessState)
	}
	return nil
}

// stop lets the agent drain and end, and kills it if it takes too long. A child that never started, or has ended, is stopped.
func (c *child) stop() error {
	l := c.claim()
	if l == nil {
		return nil
	}
	if err := l.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop agent %s: %w", c.name, err)
	}
	select {
	case <-l.over:
		return nil
	case <-time.After(stopGrace):
	}
	if err := c.end(l); err != nil {
		return err
	}
	return fmt.Errorf("agent %s did not stop within %s and was killed", c.name, stopGrace)
}

// end kills the process and waits for its end. A process that waits for a disk does not end before the disk has answered.
func (c *child) end(l *life) error {
	if err := l.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill agent %s: %w", c.name, err)
	}
	select {
	case <-l.over:
		return nil
	case <-time.After(endGrace):
		return fmt.Errorf("agent %s has not ended %s after its SIGKILL: is its disk stuck?", c.name, endGrace)
	}
}

// claim says that the end of the present life is near and no surprise.
func (c *child) claim() *life {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.life != nil {
		c.life.ended.Store(true)
	}
	return c.life
}

// errOrphaned is wrapped when an agent's process ended and nobody had ended it.
var errOrphaned = errors.New("ended by itself")

func (c *child) obituary(l *life) error {
	return fmt.Errorf("agent %s %w (%s)%s", c.name, errOrphaned, l.cmd.ProcessState, c.tail())
}

// tail quotes the end of the log.
func (c *child) tail() string {
	text, err := os.ReadFile(c.logPath)
	if err != nil || len(bytes.TrimSpace(text)) == 0 {
		return "; its log is empty"
	}
	text = bytes.TrimSpace(text)
	if len(text) > tailBytes {
		text = text[len(text)-tailBytes:]
		if _, whole, found := bytes.Cut(text, []byte("\n")); found {
			text = whole
		}
	}
	return fmt.Sprintf("; the end of its log:\n%s", text)
}
