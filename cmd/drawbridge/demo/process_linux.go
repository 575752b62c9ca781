package demo

import "syscall"

// attached makes a process that dies with this one, however this one ends, and that a Ctrl-C at the terminal does not reach:
// the demo ends its agents itself.
func attached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// detached makes a process that lives on after this one and its terminal.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
