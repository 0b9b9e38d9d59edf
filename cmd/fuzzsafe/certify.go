package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"fuzzsafe/algorithms"
	"fuzzsafe/engine"
	"fuzzsafe/jani"
	"fuzzsafe/jani/certificate"
	"fuzzsafe/nnpolicy"
)

func certificateFlag() cli.Flag {
	return &cli.StringFlag{Name: "certificate", Usage: "write the evidence for what is found to `FILE`, for “fuzzsafe verify”"}
}

// certificateFile returns the file for a certificate, "" if none is asked for. The evidence
// may be about the policy.
func (s *session) certificateFile(withPolicy bool) (string, error) {
	name, policy := s.flags.String("certificate"), s.flags.String("policy")
	switch {
	case name == "-":
		return "", usage("--certificate -: it is written to a file")
	case name != "" && withPolicy && strings.HasPrefix(policy, "cmd:"):
		return "", usage("--certificate: it would be about the decisions of the policy, and those of a process cannot be checked (--policy %s)", policy)
	}
	return name, nil
}

// checked is a verdict on the state with an index among those that were asked about.
type checked struct {
	index int
	algorithms.Claim
}

// certify writes a certificate for claims and faults and returns a sentence about it. The
// file appears when it is complete. A limit or a file that cannot be written are errors of
// their own; whatever else prevents a certificate is an internal error.
func (s *session) certify(file string, sp *engine.Space, r algorithms.Radius, claims []checked, faults []algorithms.Fault) (string, error) {
	var all []algorithms.Claim
	for _, c := range claims {
		all = append(all, c.Claim)
	}
	for _, f := range faults {
		all = append(all, algorithms.Claim{State: f.State, Verdict: algorithms.Safe})
		for _, t := range f.Unsafe {
			all = append(all, algorithms.Claim{State: t, Verdict: algorithms.Unsafe})
		}
	}
	failed := func(err error) error {
		var internal *algorithms.InternalError
		if errors.As(err, &internal) {
			err = internal.Err
		}
		err = fmt.Errorf("the certificate %s cannot be made: %w", file, err)
		if limitOf(err) == nil {
			return &algorithms.InternalError{Err: err}
		}
		if !s.flags.Bool("quiet") {
			s.bar.line("warning: %v", err)
		}
		return err
	}
	s.bar.status("proving %d verdicts", len(all))
	proof, err := algorithms.Prove(s.ctx, sp, r, all)
	s.bar.clear()
	if err != nil {
		return "", failed(err)
	}
	h, err := s.header(r, r != algorithms.Infinite || len(faults) > 0)
	if err != nil {
		return "", err
	}
	n := len(claims)
	for _, f := range faults {
		chosen, err := sp.Decision(f.State)
		if err != nil {
			return "", failed(err)
		}
		if chosen != f.Action {
			return "", failed(fmt.Errorf("a fault is not the policy's decision in the state %s", sp.Describe(f.State)))
		}
		n += len(f.Unsafe)
	}
	err = writeFile(file, func(out io.Writer) error {
		w, err := certificate.NewWriter(out, h, s.model.Vars)
		if err != nil {
			return err
		}
		for _, c := range claims {
			w.ClaimVerdict(c.index, sp.Values(c.State), c.Verdict == algorithms.Safe)
		}
		label := func(s engine.StateID, i int) string {
			if i < 0 {
				return ""
			}
			return sp.Model().Actions[sp.Action(s, i)]
		}
		for _, f := range faults {
			for _, t := range f.Unsafe {
				w.ClaimFault(sp.Values(f.State), label(f.State, f.Action), sp.Values(t))
			}
		}
		for _, e := range proof.Safe {
			w.Safe(sp.Values(e.State), label(e.State, e.Action), e.Bound)
		}
		for _, e := range proof.Unsafe {
			w.Unsafe(sp.Values(e.State), e.Value, e.Rank)
		}
		return w.End()
	})
	if err != nil {
		return "", &badFile{fmt.Errorf("the certificate cannot be written: %w", err)}
	}
	return fmt.Sprintf("The certificate %s holds %d claims, %d safe and %d unsafe entries.\n", file, n, len(proof.Safe), len(proof.Unsafe)), nil
}

// exportPolicy writes a policy that is sure to be safe in all states that are claimed to be,
// within the radius, as a decision table, and returns a sentence about it. It decides in the
// states that its own runs reach.
func (s *session) exportPolicy(file string, sp *engine.Space, r algorithms.Radius, claims []checked) (string, error) {
	var safe []algorithms.Claim
	for _, c := range claims {
		if c.Verdict == algorithms.Safe {
			safe = append(safe, c.Claim)
		}
	}
	if len(safe) == 0 {
		return "No state was found to be safe, so there is no safe policy to write.\n", nil
	}
	proof, err := algorithms.Prove(s.ctx, sp, r, safe)
	if err != nil {
		return "", fmt.Errorf("the safe policy cannot be made: %w", err)
	}
	m := sp.Model()
	var inputs []jani.VarID
	for x := range m.Vars {
		inputs = append(inputs, jani.VarID(x))
	}
	var outputs []jani.ActionID
	for a := range m.Actions {
		outputs = append(outputs, jani.ActionID(a))
	}
	n := 0
	err = writeFile(file, func(out io.Writer) error {
		var ambiguous error
		err := nnpolicy.WriteTable(out, m, inputs, outputs, func(yield func([]jani.Value, jani.ActionID) bool) {
			values := make([]jani.Value, len(m.Vars))
			for _, e := range proof.Safe {
				if e.Action < 0 {
					continue // a run ends there
				}
				label := sp.Action(e.State, e.Action)
				for i := range e.Action {
					if sp.Action(e.State, i) == label {
						ambiguous = &jani.Error{Kind: jani.Unsupported, Msg: fmt.Sprintf("a table names action labels, but in the state %s "+
							"a safe policy takes the edge %s, which is not the first with its label", sp.Describe(e.State), sp.ActionName(e.State, e.Action))}
						return
					}
				}
				sp.ReadValues(e.State, values)
				if n++; !yield(values, label) {
					return
				}
			}
		})
		if ambiguous != nil {
			return ambiguous
		}
		return err
	})
	var unsupported *jani.Error
	switch {
	case errors.As(err, &unsupported):
		return "", err
	case err != nil:
		return "", &badFile{fmt.Errorf("the safe policy cannot be written: %w", err)}
	}
	return fmt.Sprintf("The safe policy %s decides in %d states; run it with --policy %s.\n", file, n, file), nil
}

// writeFile writes a file that appears under its name only when it is complete.
func writeFile(name string, write func(w io.Writer) error) error {
	part := name + ".part"
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	err = write(f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(part, name)
	}
	if err != nil {
		os.Remove(part) // the first error is the one to tell
	}
	return err
}

// header describes this session's input and options.
func (s *session) header(r algorithms.Radius, withPolicy bool) (certificate.Header, error) {
	h := certificate.Header{
		Version: version(), Files: s.files, Constants: s.flags.StringSlice("const"),
		Property: s.flags.String("property"), Unsafe: s.flags.String("unsafe"), Goal: s.flags.String("goal"),
		Choice: s.options.Choice.String(), MaximalProgress: !s.options.NoMaximalProgress, Radius: r.String(),
	}
	if !withPolicy {
		return h, nil
	}
	h.Unfiltered = s.options.Unfiltered
	files, err := s.policyFiles()
	h.Files = append(h.Files[:len(h.Files):len(h.Files)], files...)
	return h, err
}

// policyFiles returns the files of the policy, the one that was asked for first.
func (s *session) policyFiles() (list []certificate.File, err error) {
	add := func(role, name string) {
		var text []byte
		if err != nil || name == "" {
			return
		}
		if s.flags.String("policy") != "" {
			text, err = os.ReadFile(name)
		} else {
			text, err = fs.ReadFile(s.bench.FS(), name)
			name = "bench:" + s.bench.Name + "/" + name
		}
		if err != nil {
			err = &badFile{err}
		}
		list = append(list, certificate.File{Role: role, Name: name, SHA256: digest(text)})
	}
	if strings.HasSuffix(s.flags.String("policy"), filepath.Ext(s.policy.NetworkFile)) {
		add(certificate.RoleNetwork, s.policy.NetworkFile)
		add(certificate.RoleInterface, s.policy.InterfaceFile)
	} else {
		add(certificate.RoleInterface, s.policy.InterfaceFile)
		add(certificate.RoleNetwork, s.policy.NetworkFile)
	}
	return list, err
}
