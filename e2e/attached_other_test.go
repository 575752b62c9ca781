//go:build !linux

package e2e_test

import "syscall"

// attached makes a process that the terminal's signals do not reach. It ends with its test; only Linux can do more.
func attached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
