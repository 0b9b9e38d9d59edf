package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"github.com/urfave/cli/v2"

	"fuzzsafe/algorithms"
)

// A verdict that the proof contradicts ends in an internal error, and there is no file.
func TestCertifyWrong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.cert")
	for _, wrong := range []bool{false, true} {
		var stderr strings.Builder
		env := &environment{stdin: strings.NewReader(""), stdout: io.Discard, stderr: &stderr}
		app := newApp(env)
		command := app.Command("check")
		command.Action = func(c *cli.Context) error {
			s, err := env.open(c, true)
			if err != nil {
				return err
			}
			defer s.cancel()
			sp, err := s.space()
			if err != nil {
				return err
			}
			list, err := s.states()
			if err != nil {
				return err
			}
			id, err := sp.Intern(list[0].Values)
			if err != nil {
				return err
			}
			d, err := algorithms.NewDecider("tarjan", sp, algorithms.Infinite)
			if err != nil {
				return err
			}
			a, err := d.Decide(s.ctx, id)
			if err != nil {
				return err
			}
			if wrong {
				a.Verdict = algorithms.Safe + algorithms.Unsafe - a.Verdict
			}
			_, err = s.certify(file, sp, algorithms.Infinite, []checked{{0, algorithms.Claim{State: id, Verdict: a.Verdict}}}, nil)
			return err
		}
		code := env.report(app.RunContext(t.Context(), []string{"fuzzsafe", "check", "--draw", "1", "--quiet", "bench:one-way-line-nondet"}))
		_, err := os.Stat(file)
		if want := map[bool]int{true: exitInternal, false: exitOK}[wrong]; code != want || (err == nil) == wrong {
			t.Errorf("wrong: %t: exit code %d, want %d; file: %v", wrong, code, want, err)
		}
		if text := stderr.String(); wrong && !strings.HasPrefix(text, "fuzzsafe: internal error: the certificate "+file+" cannot be made: proof: state 0 was found ") ||
			!wrong && text != "" {
			t.Errorf("wrong: %t: stderr %q", wrong, text)
		}
		os.Remove(file)
	}
}

// Every published verdict on an initial state, in edge mode, has a certificate that the
// interpreter accepts.
func TestPublishedCertificates(t *testing.T) {
	var records []struct {
		File      string
		Constants map[string]json.RawMessage
		Property  string
		Avoidable bool
	}
	readRecords(t, "avoidable.json", &records)
	file := filepath.Join(t.TempDir(), "x.cert")
	for _, r := range records {
		args := constantFlags([]string{"check", sharedData + "/qvbs/" + r.File, "--choice", "edge", "--property", r.Property, "--certificate", file}, r.Constants)
		if out, code := runJSON(t, args...); code != map[bool]int{true: exitOK, false: exitUnsafe}[r.Avoidable] {
			t.Errorf("%v: exit code %d: %s", args, code, out)
			continue
		}
		out, code := runJSON(t, "verify", sharedData+"/qvbs/"+r.File, file)
		claimed := gjson.GetManyBytes(out, "valid", "claims", "safe")
		if code != exitOK || !claimed[0].Bool() || claimed[1].Int() == 0 || (claimed[2].Int() > 0) != r.Avoidable {
			t.Errorf("%v: exit code %d: %s", args, code, out)
		}
	}
}
