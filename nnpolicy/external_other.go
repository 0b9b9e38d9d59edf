//go:build !unix

package nnpolicy

import (
	"os"
	"os/exec"
)

func ownGroup(*exec.Cmd) {} // there are no groups

func killGroup(p *os.Process) {
	_ = p.Kill() // it may have ended
}
