//go:build unix && !linux

package demo

import "syscall"

// attached makes a process that a Ctrl-C at the terminal does not reach: the demo ends its agents itself. If the demo is
// killed, they live on: only Linux can tie one process's life to another's.
func attached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// detached makes a process that lives on after this one and its terminal.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
