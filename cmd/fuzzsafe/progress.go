package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/urfave/cli/v2"
)

// progress writes warnings and a status to stderr: a line that is rewritten on
// terminals, now and then a line of its own elsewhere.
type progress struct {
	out   io.Writer
	live  bool // rewrite one line
	plain bool // write lines
	every time.Duration
	last  time.Time
	width int // of the line on the terminal
}

func newProgress(c *cli.Context, stderr io.Writer) (*progress, error) {
	p := &progress{out: stderr, last: time.Now(), every: 10 * time.Second}
	mode := c.String("progress")
	if c.Bool("quiet") {
		mode = "off"
	}
	switch mode {
	case "auto":
		if f, ok := stderr.(*os.File); ok {
			if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
				p.live, p.every = true, 200*time.Millisecond
			}
		}
	case "plain":
		p.plain, p.every = true, 2*time.Second
	case "off":
	default:
		return nil, usage("--progress %s: it is auto, plain or off", mode)
	}
	return p, nil
}

// status shows how far the work is, if it is time to.
func (p *progress) status(format string, args ...any) {
	if !p.live && !p.plain || time.Since(p.last) < p.every {
		return
	}
	p.last = time.Now()
	text := fmt.Sprintf(format, args...)
	if p.plain {
		fmt.Fprintln(p.out, text)
		return
	}
	fmt.Fprintf(p.out, "\r%-*s", p.width, text)
	p.width = len(text)
}

// clear removes the line from the terminal.
func (p *progress) clear() {
	if p.width > 0 {
		fmt.Fprintf(p.out, "\r%*s\r", p.width, "")
		p.width = 0
	}
}

// line writes a line that stays.
func (p *progress) line(format string, args ...any) {
	p.clear()
	fmt.Fprintf(p.out, format+"\n", args...)
}
