package e2e_test

import "syscall"

// attached makes a process that dies with the tests, however they end: a test that runs into its timeout cleans nothing up. On
// Linux it dies with the thread that started it; the runtime ends a thread only with a goroutine that has locked it, and here
// none does.
func attached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
