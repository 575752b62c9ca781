package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// endGrace is how long the kernel may take to end a killed process on a busy machine.
const endGrace = 10 * time.Second

// process is one life of an agent.
type process struct {
	cmd *exec.Cmd
	// over is closed when the process has ended and its state is known.
	over chan struct{}
}

// launch starts cmd with its output added to the file at logPath.
func launch(cmd *exec.Cmd, logPath string) (*process, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, attached()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, over: make(chan struct{})}
	go func() {
		defer close(p.over)
		_ = cmd.Wait() // says no more than the process state does
	}()
	return p, nil
}

// running reports whether the process has not ended.
func (p *process) running() bool {
	select {
	case <-p.over:
		return false
	default:
		return true
	}
}

// signal sends a signal to a process that is expected to live.
func (p *process) signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("send %v: %w", s, err)
	}
	return nil
}

// end waits for the end of the process and returns how it ended.
func (p *process) end(within time.Duration) (syscall.WaitStatus, error) {
	select {
	case <-p.over:
		return p.cmd.ProcessState.Sys().(syscall.WaitStatus), nil
	case <-time.After(within):
		return 0, fmt.Errorf("the process has not ended within %s", within)
	}
}

// kill ends the process by SIGKILL. It is an error if the process ended by anything else.
func (p *process) kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	status, err := p.end(endGrace)
	if err == nil && status.Signal() != syscall.SIGKILL {
		err = fmt.Errorf("the process ended by itself before the SIGKILL: %s", p.cmd.ProcessState)
	}
	return err
}
