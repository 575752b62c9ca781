// Package spooltest is the specification of an engine of package spool, as named cases. An engine that passes them all may
// hold the queues of an agent. What is only about one engine (its files, its speed, its crashes) is tested beside it.
//
// The cases run in bubbles of package synctest, so a day passes in no time; an engine must therefore use the time package
// and have ended every goroutine when Close returns.
package spooltest
