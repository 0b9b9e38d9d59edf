package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fuzzsafe/jani"
	"fuzzsafe/jani/certificate"
)

// verifyReport is the JSON of “verify”.
type verifyReport struct {
	Schema      string `json:"schema"`
	Certificate string `json:"certificate"`
	Valid       bool   `json:"valid"`
	Error       string `json:"error"` // the first violation, "" if valid
	certificate.Summary
	Seconds float64 `json:"seconds"`
}

func (env *environment) verifyCommand() *cli.Command {
	var flags []cli.Flag
	for _, f := range commonFlags() {
		switch f.Names()[0] {
		case "start", "seed", "workers", "memory-limit", "exit-zero":
		default:
			flags = append(flags, f)
		}
	}
	return &cli.Command{
		Name: "verify", Usage: "check a certificate without the engine that made it", ArgsUsage: "MODEL CERTIFICATE",
		Description: "Checks the certificate with a slow and simple interpreter of its own. What the certificate is about stands in it;\n" +
			"flags may repeat that. Its files are looked for in the current folder, then beside the certificate;\n" +
			"--property and --policy say where else they are. They must be the same, byte for byte.",
		Flags:  flags,
		Action: env.verify,
	}
}

func (env *environment) verify(c *cli.Context) error {
	if c.NArg() != 2 {
		return usage("verify needs MODEL and CERTIFICATE, found %d arguments", c.NArg())
	}
	model, file := c.Args().Get(0), c.Args().Get(1)
	start := time.Now()
	f, err := os.Open(file)
	if err != nil {
		return &badFile{err}
	}
	defer f.Close()
	report := verifyReport{Schema: "fuzzsafe.verify/1", Certificate: file}
	reader, err := certificate.Open(file, f, jani.Limits{MaxDepth: c.Int("max-depth"), MaxBytes: c.Int("max-file-size")})
	var s *session
	if err == nil {
		if err := adopt(c, &reader.Header, file); err != nil {
			return err
		}
		if s, err = env.openModel(c, model, true); err != nil {
			return err
		}
		defer s.cancel()
		var in certificate.Input
		if in, err = s.verifyInput(&reader.Header); err != nil {
			return err
		}
		report.Summary, err = reader.Verify(s.ctx, in)
	}
	report.Valid, report.Seconds = err == nil, time.Since(start).Seconds()
	var violation *jani.Error
	switch {
	case errors.As(err, &violation):
		report.Error = violation.Error()
	case limitOf(err) != nil:
		return err
	case err != nil:
		return &badFile{fmt.Errorf("%s: %w", file, err)}
	}
	if c.Bool("json") {
		if printed := (&session{env: env}).printJSON(report); printed != nil {
			return printed
		}
		return err
	}
	if err != nil {
		return err
	}
	sum := report.Summary
	fmt.Fprintf(env.stdout, "valid: %d claims (%d safe, %d unsafe, %d faults), %d safe and %d unsafe entries, %d states, %.2f s.\n",
		sum.Claims, sum.Safe, sum.Unsafe, sum.Faults, sum.SafeEntries, sum.UnsafeEntries, sum.States, report.Seconds)
	return nil
}

// adopt sets the flags to what the header says. A flag that is given may only say the same,
// or where a file is.
func adopt(c *cli.Context, h *certificate.Header, file string) error {
	contradiction := func(flag, has string) error {
		return usage("--%s: the certificate is about another one: %q", flag, has)
	}
	if slices.ContainsFunc(c.StringSlice("const"), func(x string) bool { return !slices.Contains(h.Constants, x) }) {
		return contradiction("const", strings.Join(h.Constants, ", "))
	}
	if c.IsSet("unfiltered") && c.Bool("unfiltered") != h.Unfiltered {
		return usage("--unfiltered: the certificate says %t", h.Unfiltered)
	}
	for _, x := range [...][2]string{{"unsafe", h.Unsafe}, {"goal", h.Goal}, {"choice", h.Choice}} {
		if c.IsSet(x[0]) && c.String(x[0]) != x[1] {
			return contradiction(x[0], x[1])
		}
	}
	prop, err := property(c, h, file)
	if err != nil {
		return err
	}
	for _, x := range h.Constants {
		if slices.Contains(c.StringSlice("const"), x) {
			continue
		}
		if err := c.Set("const", x); err != nil {
			return err
		}
	}
	for _, x := range []struct{ flag, value string }{
		{"property", prop}, {"unsafe", located(h.Unsafe, file)}, {"goal", located(h.Goal, file)},
		{"choice", h.Choice}, {"unfiltered", fmt.Sprint(h.Unfiltered)}, {"policy", policy(c, h, file)},
	} {
		if x.value == "" {
			continue
		}
		if err := c.Set(x.flag, x.value); err != nil {
			return err
		}
	}
	asked, inModel := c.String("property"), !slices.ContainsFunc(h.Files, func(f certificate.File) bool { return f.Role == certificate.RoleProperty })
	switch {
	case inModel && asked != h.Property:
		return contradiction("property", h.Property)
	case strings.HasPrefix(c.String("policy"), "cmd:"):
		return usage("--policy: the certificate is about a policy in files, not about a process")
	case c.String("policy") != "" && !hasPolicy(h):
		return usage("--policy: the certificate does not depend on a policy")
	}
	return nil
}

func hasPolicy(h *certificate.Header) bool {
	return slices.ContainsFunc(h.Files, func(f certificate.File) bool {
		return f.Role == certificate.RoleInterface || f.Role == certificate.RoleNetwork
	})
}

// property returns the value for --property: the header's, but with the file at its place.
func property(c *cli.Context, h *certificate.Header, file string) (string, error) {
	asked := c.String("property")
	i := slices.IndexFunc(h.Files, func(f certificate.File) bool { return f.Role == certificate.RoleProperty })
	switch {
	case i < 0 && asked == "":
		return h.Property, nil
	case i < 0:
		return asked, nil
	case h.Property == "" && asked == "":
		return "", nil // of an embedded instance
	}
	name, _ := strings.CutPrefix(h.Property, h.Files[i].Name) // of the property, behind a colon
	place := strings.TrimSuffix(asked, name)
	if asked == "" {
		place = find(h.Files[i].Name, file)
	}
	// It is a place, and no other property of the file is asked for in passing.
	if _, err := os.Stat(place); err != nil {
		return "", &badFile{fmt.Errorf("the property file %s of the certificate: %w (--property says where it is)", h.Files[i].Name, err)}
	}
	if _, err := os.Stat(place + name); err == nil && name != "" {
		return "", &badFile{fmt.Errorf("--property %s: there is a file of that name, too", place+name)}
	}
	return place + name, nil
}

// policy returns the value for --policy.
func policy(c *cli.Context, h *certificate.Header, file string) string {
	asked := c.String("policy")
	for _, f := range h.Files {
		if asked == "" && (f.Role == certificate.RoleInterface || f.Role == certificate.RoleNetwork) {
			if strings.HasPrefix(f.Name, "bench:") {
				return "" // of an embedded instance
			}
			return find(f.Name, file)
		}
	}
	return asked
}

// located returns a condition as the flags take it; a file is at its place.
func located(condition, file string) string {
	if name, ok := strings.CutPrefix(condition, "@"); ok {
		return "@" + find(name, file)
	}
	return condition
}

// find returns the place of a file that a certificate names: in the current folder, else
// beside the certificate.
func find(name, certificate string) string {
	if _, err := os.Stat(name); err == nil || filepath.IsAbs(name) {
		return name
	}
	beside := filepath.Join(filepath.Dir(certificate), name)
	if _, err := os.Stat(beside); err == nil {
		return beside
	}
	return name
}

// verifyInput returns what the certificate refers to, as it has been read.
func (s *session) verifyInput(h *certificate.Header) (certificate.Input, error) {
	in := certificate.Input{Document: s.doc, Files: s.files, Unsafe: s.plan.Unsafe, Goal: s.plan.Goal}
	if !hasPolicy(h) || s.policy == nil {
		return in, nil
	}
	files, err := s.policyFiles()
	in.Files = append(in.Files, files...)
	in.Policy = &certificate.Policy{Evaluate: s.policy.Evaluate}
	for _, x := range s.policy.Inputs() {
		in.Policy.Inputs = append(in.Policy.Inputs, int(x))
	}
	for _, a := range s.policy.Outputs() {
		in.Policy.Outputs = append(in.Policy.Outputs, s.model.Actions[a])
	}
	return in, err
}
