//go:build unix

package nnpolicy

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup makes the process that will be started the leader of a group of processes, so
// that an interrupt on the terminal does not reach it before its answer has been given up.
func ownGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills a process that has not been waited for, with its group.
func killGroup(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL) // all may have ended
}
